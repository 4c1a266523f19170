"""The figures of all jobs for Prometheus, at /metrics."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from penstock.metrics.prometheus import exposition
from penstock.server.documents import Documents

_SHOWN_AFTER_END_MS = 300_000
"""Jobs that have ended are shown a little longer, so that their last figures are read."""


def metrics_routes(documents: Documents) -> APIRouter:
    """The route; Prometheus sends the token as it is told to by `authorization` in its configuration."""
    router = APIRouter(tags=["metrics"])

    @router.get("/metrics", response_class=Response)
    def metrics() -> Response:
        """Figures of all jobs that run, or have ended in the last minutes, as Prometheus reads them."""
        body, kind = exposition([each for each in documents.all() if _is_shown(each)])
        return Response(body, media_type=kind)

    return router


def _is_shown(document: dict[str, object]) -> bool:
    ended, now = document.get("ended_ms"), document.get("now_ms")
    return not isinstance(ended, int) or (isinstance(now, int) and now - ended < _SHOWN_AFTER_END_MS)
