"""Jobs whose drivers report from other machines: what they said last, and what they are asked to do."""

from __future__ import annotations

import json
import threading
import time
import uuid
import zlib
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from penstock.errors import JobNotFoundError, PenstockError
from penstock.server.answers import Json, Refusal
from penstock.server.checked_documents import flaw
from penstock.server.dispatcher.registry import Registry
from penstock.server.job_views import ENDED, Document

SILENT_MS = 30_000
"""A driver that has not been heard of for so long does not count as running."""

_LOOK_SECONDS = 0.2


class Decoded:
    """Documents of the registry that are read again only when they have changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[int, Document]] = {}

    def of(self, name: tuple[str, str], stamp: int, read: Callable[[], Document]) -> Document:
        """The document of a name as it was at a stamp."""
        known = self._known.get(name)
        if known is None or known[0] != stamp:
            known = stamp, read()
            self._known[name] = known
        return known[1]

    def is_known(self, name: tuple[str, str], stamp: int) -> bool:
        """Whether a document as it was at a stamp need not be read."""
        return name in self._known and self._known[name][0] == stamp

    def keep_only(self, names: set[tuple[str, str]]) -> None:
        """Forget the others."""
        for name in self._known.keys() - names:
            self._known.pop(name, None)


class RemoteView:
    """A job on another machine; requests wait in the registry until its driver calls the next time."""

    def __init__(
        self, job_id: str, registry: Registry, seen_ms: int, read: Decoded, content: bytes | None = None
    ) -> None:
        """Take what the driver has said, if it is at hand."""
        self._job_id = job_id
        self._registry = registry
        self._content = content
        self._seen_ms = seen_ms
        self._read = read

    @property
    def job_id(self) -> str:
        """The id that the driver told."""
        return self._job_id

    def document(self) -> Document:
        """What the driver said last."""
        return self._read.of(("report", self._job_id), self._seen_ms, self._reported)

    def _reported(self) -> Document:
        content = self._content or self._registry.report(self._job_id, SILENT_MS)
        if content is None:
            raise JobNotFoundError(f"the driver of job {self._job_id} has not been heard of for a while")
        return dict(json.loads(zlib.decompress(content)))

    def threads(self) -> list[dict[str, str]]:
        """Ask the driver and wait."""
        return list(self._asked({"do": "threads"}))

    def savepoint(self, directory: str | None) -> str:
        """Ask the driver and wait."""
        return str(self._asked({"do": "savepoint", "directory": directory}))

    def stop(self, directory: str | None, *, drain: bool) -> str:
        """Ask the driver and wait."""
        return str(self._asked({"do": "stop", "directory": directory, "drain": drain}))

    def cancel(self) -> None:
        """Ask the driver and wait."""
        self._asked({"do": "cancel"})

    def _asked(self, content: dict[str, Any]) -> Any:
        request_id = uuid.uuid4().hex
        self._registry.add_request(request_id, self._job_id, json.dumps(content))
        silent_since = time.monotonic()
        while True:
            outcome = self._registry.take_outcome(request_id)
            if outcome is not None:
                return _result(json.loads(outcome))
            if self._registry.report(self._job_id, SILENT_MS) is not None:
                silent_since = time.monotonic()
            elif (time.monotonic() - silent_since) * 1000 > SILENT_MS:
                raise JobNotFoundError(f"the driver of job {self._job_id} went away before it answered")
            threading.Event().wait(_LOOK_SECONDS)


def _result(outcome: dict[str, Any]) -> Any:
    if "error" in outcome:
        raise PenstockError(str(outcome["error"]))
    return outcome.get("result")


class ReportBody(BaseModel):
    """What a driver tells."""

    document: dict[str, Any]
    outcomes: list[dict[str, Any]] = []


def driver_routes(registry: Registry, history: int) -> APIRouter:
    """The path that drivers call."""
    router = APIRouter(default_response_class=Json)

    @router.post("/penstock/drivers", tags=["penstock"])
    def report(body: ReportBody) -> Json:
        """Take what a driver tells, and tell it what is asked of it."""
        document = body.document
        found = flaw(document)
        if found is not None:
            raise Refusal(400, f"this is not the document of a job of this version of Penstock: {found}")
        # A path of another machine must not be read on this one.
        document["process"] = {**document["process"], "log": None, "submission": None}
        for outcome in body.outcomes:
            registry.set_outcome(str(outcome.get("id")), json.dumps(outcome))
        job_id = str(document["id"])
        if document["status"] in ENDED:
            registry.add_history(document, history)
            registry.forget_report(job_id)
            return Json({"requests": []})
        registry.set_report(job_id, zlib.compress(json.dumps(document).encode()))
        asked = registry.requests(job_id)
        return Json({"requests": [{"id": each, "content": json.loads(content)} for each, content in asked]})

    return router
