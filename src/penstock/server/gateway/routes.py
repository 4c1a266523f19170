"""The paths of Flink's SQL gateway, versions 1 to 4 of its REST API."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from penstock.common.masking import shown
from penstock.server.answers import Json, Refusal
from penstock.server.flink.jobs import FLINK_VERSION
from penstock.server.flink.sql_results import ROW_FORMATS
from penstock.server.gateway.sessions import Sessions

VERSIONS = ("v1", "v2", "v3", "v4")
"""Flink's versions of this API; from v2 on the format of rows can be chosen."""

_SESSION = "/sessions/{session}"
_OPERATION = _SESSION + "/operations/{operation}"


class OpenBody(BaseModel):
    """A session to be opened."""

    model_config = ConfigDict(extra="ignore")

    name: str | None = Field(default=None, validation_alias="sessionName", max_length=500)
    properties: dict[str, str] | None = None


class StatementBody(BaseModel):
    """A statement to be run."""

    model_config = ConfigDict(extra="ignore")

    statement: str
    timeout: int | None = Field(default=None, validation_alias="executionTimeout")
    settings: dict[str, str] | None = Field(default=None, validation_alias="executionConfig")


class PlaceBody(BaseModel):
    """A place in a statement."""

    statement: str
    position: int = 0


def gateway_routes(sessions: Sessions) -> APIRouter:
    """All of them."""
    router = APIRouter(default_response_class=Json, tags=["sql"])
    _add_facts(router)
    _add_sessions(router, sessions)
    _add_statements(router, sessions)
    _add_operations(router, sessions)
    return router


def _add_facts(router: APIRouter) -> None:
    @router.get("/info")
    def info() -> Json:
        """What the gateway is; the version is that of the Flink whose API it has."""
        return Json({"productName": "Apache Flink", "version": FLINK_VERSION})

    @router.get("/api_versions")
    def versions() -> Json:
        """The versions of the API."""
        return Json({"versions": [version.upper() for version in VERSIONS]})


def _add_sessions(router: APIRouter, sessions: Sessions) -> None:
    @router.post("/sessions")
    def open_session(body: OpenBody | None = None) -> Json:
        """Open a session; its `properties` are settings."""
        return Json({"sessionHandle": sessions.open((body or OpenBody()).properties or {})})

    @router.get(_SESSION)
    def config(session: str) -> Json:
        """The settings of a session; secrets are hidden."""
        found = sessions.get(session).call("config")
        return Json({"properties": {key: shown(key, value) for key, value in sorted(found.items())}})

    @router.delete(_SESSION)
    def close_session(session: str) -> Json:
        """Close a session; its queries are cancelled, jobs of its INSERTs go on."""
        sessions.close(session)
        return Json({"status": "CLOSED"})

    @router.post(_SESSION + "/heartbeat")
    def heartbeat(session: str) -> Json:
        """Keep a session from timing out."""
        sessions.get(session).touch()
        return Json({})

    @router.post(_SESSION + "/configure-session")
    def configure(session: str, body: StatementBody) -> Json:
        """Run a statement that changes the session, such as SET, CREATE or USE, and wait for it."""
        sessions.get(session).call("configure", statement=body.statement)
        return Json({})

    @router.get(_SESSION + "/complete-statement")
    def complete(session: str, body: Annotated[PlaceBody, Body()]) -> Json:
        """What can stand at a place in a statement."""
        found = sessions.get(session).call("complete", statement=body.statement, position=body.position)
        return Json({"candidates": found})


def _add_statements(router: APIRouter, sessions: Sessions) -> None:
    @router.post(_SESSION + "/statements")
    def execute(session: str, body: StatementBody) -> Json:
        """Run a statement; the answer is the handle of an operation."""
        found = sessions.get(session).call("execute", statement=body.statement, settings=body.settings)
        return Json({"operationHandle": found})

    @router.get(_OPERATION + "/result/{token}")
    def fetch(request: Request, session: str, operation: str, token: int, rowFormat: str = "JSON") -> Response:
        """A page of rows, and where the next one is; asking for a page twice gives the same rows."""
        row_format = rowFormat.upper()
        if row_format not in ROW_FORMATS:
            raise Refusal(400, f"rowFormat must be {' or '.join(ROW_FORMATS)}, not {rowFormat[:40]!r}")
        page = sessions.get(session).call("fetch", operation=operation, token=token, row_format=row_format)
        before, _, _ = request.url.path.rpartition("/")
        following = "" if page["next"] is None else f"{before}/{page['next']}"
        if following and not before.startswith("/v1/"):
            following += f"?rowFormat={row_format}"
        return Response(_page_text(page, row_format, following), media_type="application/json")


def _page_text(page: dict[str, Any], row_format: str, following: str) -> str:
    """The answer; the rows are JSON already, with all the digits of their numbers."""
    told: dict[str, Any] = {"resultType": page["type"]}
    if page["type"] == "NOT_READY":
        return json.dumps({**told, "nextResultUri": following})
    told |= {"isQueryResult": page["is_query"], "resultKind": page["kind"]}
    if page["job"] is not None:
        told["jobID"] = page["job"]
    if following:
        told["nextResultUri"] = following
    head = json.dumps(told)[:-1]
    columns = json.dumps(page["columns"])
    return f'{head}, "results": {{"columns": {columns}, "rowFormat": "{row_format}", "data": {page["data"]}}}}}'


def _add_operations(router: APIRouter, sessions: Sessions) -> None:
    @router.get(_OPERATION + "/status")
    def status(session: str, operation: str) -> Json:
        """The status of an operation."""
        return Json({"status": sessions.get(session).call("status", operation=operation)})

    @router.post(_OPERATION + "/cancel")
    def cancel(session: str, operation: str) -> Json:
        """Cancel an operation, and the query that it runs."""
        return Json({"status": sessions.get(session).call("cancel", operation=operation)})

    @router.delete(_OPERATION + "/close")
    def close(session: str, operation: str) -> Json:
        """Close an operation; a query that it runs is cancelled."""
        return Json({"status": sessions.get(session).call("close", operation=operation)})
