"""Log lines as JSON: one object a line, with the job, for systems that collect logs."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import TextIO

_LOGGER = "penstock"


class JsonLines(logging.Formatter):
    """Formats a log record as a JSON object: time, level, logger, message, job, and the traceback if there is one."""

    def __init__(self, job_id: str, job_name: str) -> None:
        """Name the job that lines belong to."""
        super().__init__()
        self._job = {"job": job_name, "job_id": job_id}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **self._job,
            "thread": record.threadName,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_as_json(job_id: str, job_name: str, stream: TextIO | None = None) -> logging.Handler:
    """Write what Penstock logs as JSON lines to standard error, and nowhere else; returns the handler."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(job_id, job_name))
    logger = logging.getLogger(_LOGGER)
    for held in [each for each in logger.handlers if isinstance(each.formatter, JsonLines)]:
        logger.removeHandler(held)
    logger.addHandler(handler)
    logger.propagate = False
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    return handler
