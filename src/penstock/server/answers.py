"""How the server answers: JSON that every client can read, and errors in the words of `penstock.errors`."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from penstock.errors import ConfigurationError, JobNotFoundError, PenstockError
from penstock.server.guard import refused

_log = logging.getLogger(__name__)


class Json(Response):
    """JSON; figures that are no numbers become null, for JSON has no word for them."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of an answer."""
        try:
            text = json.dumps(content, allow_nan=False, separators=(",", ":"), default=str)
        except ValueError:
            text = json.dumps(_finite(content), allow_nan=False, separators=(",", ":"), default=str)
        return text.encode()


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


class Refusal(PenstockError):
    """A request that cannot be answered, with the status for it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def tell_errors(app: FastAPI) -> None:
    """Have errors told as Flink tells them: `{"errors": [...]}` and a status."""

    @app.exception_handler(PenstockError)
    def tell(request: Request, error: PenstockError) -> Response:
        return refused(_status(error), str(error))

    @app.exception_handler(TimeoutError)
    def tell_timeout(request: Request, error: TimeoutError) -> Response:
        return refused(504, "the job does not answer")

    @app.exception_handler(RequestValidationError)
    def tell_invalid(request: Request, error: RequestValidationError) -> Response:
        wrong = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
        return refused(400, f"the request is not valid: {'; '.join(wrong)}")

    @app.exception_handler(HTTPException)
    def tell_http(request: Request, error: HTTPException) -> Response:
        return refused(error.status_code, str(error.detail))

    @app.exception_handler(ClientDisconnect)
    def tell_nobody(request: Request, error: ClientDisconnect) -> Response:
        return refused(400, "the request has no end")

    @app.exception_handler(Exception)
    def tell_bug(request: Request, error: Exception) -> Response:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return refused(500, f"the server failed: {type(error).__name__}; its log says more")


def _status(error: PenstockError) -> int:
    if isinstance(error, Refusal):
        return error.status
    return 404 if isinstance(error, JobNotFoundError) else 400 if isinstance(error, ConfigurationError) else 409
