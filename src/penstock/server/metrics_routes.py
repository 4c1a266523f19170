"""The figures of all jobs for Prometheus, at /metrics."""

from __future__ import annotations

import logging

from fastapi import APIRouter
from starlette.responses import Response

from penstock.metrics.prometheus import exposition
from penstock.server.documents import Documents
from penstock.server.job_views import Document

_SHOWN_AFTER_END_MS = 300_000
"""Jobs that have ended are shown a little longer, so that their last figures are read."""

_log = logging.getLogger(__name__)


def metrics_routes(documents: Documents) -> APIRouter:
    """The route; Prometheus sends the token as it is told to by `authorization` in its configuration."""
    router = APIRouter(tags=["metrics"])

    @router.get("/metrics", response_class=Response)
    def metrics() -> Response:
        """Figures of all jobs that run, or have ended in the last minutes, as Prometheus reads them."""
        return documents.answer("/metrics", _figures)

    return router


def _figures(documents: list[Document]) -> Response:
    shown = [each for each in documents if _is_shown(each)]
    try:
        body, kind = exposition(shown)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        body, kind = exposition([each for each in shown if _is_whole(each)])
    return Response(body, media_type=kind)


def _is_whole(document: Document) -> bool:
    """Whether figures can be made of a document; those of the others must not be missed because of one."""
    try:
        exposition([document])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        _log.warning("the figures of job %s cannot be shown: %r", document["id"], error)
        return False
    return True


def _is_shown(document: dict[str, object]) -> bool:
    ended, now = document.get("ended_ms"), document.get("now_ms")
    return not isinstance(ended, int) or (isinstance(now, int) and now - ended < _SHOWN_AFTER_END_MS)
