"""What Penstock's own pages ask for, again and again: jobs at a glance, and what is new of one of them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

import penstock
from penstock.server.access import Access
from penstock.server.answers import Json
from penstock.server.documents import Documents
from penstock.server.guard import role_of
from penstock.server.health import health, summary
from penstock.server.job_views import Document

# These do not change while a job runs, or only what `live` asks for in parts; the document has all of it.
_LEFT_OUT = ("explanation", "settings", "metrics", "exceptions", "checkpoints")


def page_routes(documents: Documents, access: Access) -> APIRouter:
    """All of them."""
    router = APIRouter(default_response_class=Json)

    @router.get("/penstock/session", tags=["penstock"])
    def session(request: Request) -> Json:
        """What who asks may do, and which version answers."""
        role = role_of(request)
        return Json({"role": role.name.lower(), "is_open": access.is_open, "version": penstock.__version__})

    @router.get("/penstock/overview", tags=["penstock"])
    def job_list() -> Response:
        """All jobs with how they are doing, and why some are not shown."""
        return documents.answer(
            "/penstock/overview",
            lambda found: {"jobs": [summary(each) for each in found], "left_out": documents.left_out()},
        )

    @router.get("/penstock/jobs/{job_id}/live", tags=["penstock"])
    def live(job_id: str, after: int = -1, failure: int = -1) -> Json:
        """What changes of a job: checkpoints after a version, and failures if there is one later than a time."""
        return Json(live_part(documents.of(job_id), after, failure))

    return router


def live_part(document: Document, after: int, failure: int) -> dict[str, Any]:
    """The part of a document that pages ask for every second; `exceptions` is None if there is nothing new."""
    told = document["checkpoints"]
    history = [
        {name: value for name, value in each.items() if name != "written"}
        for each in told["history"]
        if each["version"] > after
    ]
    failures = document["exceptions"]
    is_new = bool(failures) and failures[0]["at_ms"] > failure
    return {
        **{name: value for name, value in document.items() if name not in _LEFT_OUT},
        "health": vars(health(document)),
        "checkpoints": {**told, "history": history},
        "exceptions": failures if is_new else None,
    }
