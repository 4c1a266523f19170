"""The application that serves jobs: Flink's paths with and without /v1, the login, and pages if there are any."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from fastapi import APIRouter, FastAPI
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

import penstock
from penstock.queryable.replicas import Replicas
from penstock.queryable.router import queryable_router
from penstock.server.access import Access
from penstock.server.answers import Json, tell_errors
from penstock.server.cluster_routes import ServerFacts, cluster_routes
from penstock.server.documents import Documents
from penstock.server.gateway.routes import VERSIONS
from penstock.server.guard import CONTENT_SECURITY_POLICY, OTHER_PAGES_POLICY, Guard
from penstock.server.job_routes import job_routes
from penstock.server.job_views import JobSource
from penstock.server.login import login_routes
from penstock.server.metrics_routes import metrics_routes
from penstock.server.page_routes import page_routes
from penstock.server.triggers import Triggers

PAGES = Path(__file__).parent / "pages"
"""Penstock's own pages: static files that load nothing from elsewhere."""


def create_app(
    source: JobSource,
    access: Access,
    facts: ServerFacts | None = None,
    *,
    routes: Sequence[APIRouter] = (),
    gateway: APIRouter | None = None,
    pages: Path | None = None,
    host_names: Sequence[str] = (),
    has_tls: bool = False,
) -> FastAPI:
    """Serve the jobs of a source to who has a token.

    `routes` are further ones, below /v1 like the rest; `gateway` are those of SQL, whose API has more versions;
    `pages` is a folder of static files that is served at /;
    `host_names` are the names besides loopback by which the server is addressed.
    """
    app = FastAPI(
        title="Penstock",
        version=penstock.__version__,
        description="Jobs of Penstock, with the paths and fields of Flink's REST API; also without /v1 in front.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        openapi_url="/openapi.json",
        default_response_class=Json,
    )
    documents, triggers = Documents(source), Triggers()
    own = [
        page_routes(documents, access),
        job_routes(source, documents, triggers),
        cluster_routes(source, documents, facts or ServerFacts()),
        metrics_routes(documents),
        queryable_router(Replicas(lambda: _checkpoints(documents))),
    ]
    for router in [*own, *routes]:
        app.include_router(router, prefix="/v1")
        app.include_router(router, include_in_schema=False)
    if gateway is not None:
        for version in ("", *(f"/{each}" for each in VERSIONS)):
            app.include_router(gateway, prefix=version, include_in_schema=version == f"/{VERSIONS[-1]}")
    app.include_router(login_routes(access, has_tls=has_tls))
    _add_reference(app)
    tell_errors(app)
    if pages is not None:
        app.mount("/", StaticFiles(directory=pages, html=True), name="pages")
    policy = CONTENT_SECURITY_POLICY if pages in (None, PAGES) else OTHER_PAGES_POLICY
    app.add_middleware(
        Guard,
        access=access,
        host_names=frozenset(host_names),
        has_tls=has_tls,
        policy=policy,
        on_change=documents.forget_lists,
    )
    return app


def _checkpoints(documents: Documents) -> list[str]:
    """The checkpoint directories of the jobs, for queries of their state."""
    found = (document.get("checkpoint") for document in documents.all())
    return [place for place in dict.fromkeys(found) if place]


def _add_reference(app: FastAPI) -> None:
    @app.get("/docs", include_in_schema=False)
    def reference() -> HTMLResponse:
        """Every path with what it does; made here, so that nothing is loaded from elsewhere."""
        rows = [
            f"<tr><td>{escape(method.upper())}</td><td><code>{escape(path)}</code></td>"
            f"<td>{escape(told.get('description', ''))}</td></tr>"
            for path, methods in app.openapi()["paths"].items()
            for method, told in methods.items()
        ]
        return HTMLResponse(
            "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='color-scheme' content='light dark'>"
            "<title>Penstock: REST API</title><link rel='icon' href='data:,'>"
            "<h1>REST API</h1><p><a href='/openapi.json'>openapi.json</a></p>"
            f"<table><thead><tr><th>Method<th>Path<th>What it does</thead><tbody>{''.join(rows)}</tbody></table></html>"
        )
