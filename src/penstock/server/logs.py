"""Parts of log files, so that a long one is neither read whole nor sent whole."""

from __future__ import annotations

import os
from typing import TypedDict

from penstock.server.answers import Refusal

MOST_BYTES = 4 * 1024 * 1024


class LogPart(TypedDict):
    """Text of a log, where it stands and how long the log is; the next part begins at `next`."""

    text: str
    offset: int
    next: int
    size: int


def log_part(path: str, offset: int | None, limit: int) -> LogPart:
    """What stands at an offset, or the end of the log."""
    limit = max(0, min(limit, MOST_BYTES))
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            start = max(0, size - limit) if offset is None else max(0, min(offset, size))
            stream.seek(start)
            content = stream.read(limit)
    except OSError as error:
        raise Refusal(404, f"the log {path} cannot be read: {error.strerror}") from None
    return {"text": content.decode(errors="replace"), "offset": start, "next": start + len(content), "size": size}
