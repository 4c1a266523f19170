"""`JobID`, the identity of a job."""

from __future__ import annotations

import re
import uuid

__all__ = ["JobID"]


class JobID:
    """32 hexadecimal digits; a new one is drawn if none is given."""

    __slots__ = ("_text",)

    def __init__(self, text: str | None = None) -> None:
        if text is not None and not re.fullmatch(r"[0-9a-f]{32}", str(text)):
            raise ValueError(f"a job id is 32 hexadecimal digits in lower case, got {text!r}")
        self._text = uuid.uuid4().hex if text is None else text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"JobID({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, JobID) else NotImplemented

    def __hash__(self) -> int:
        return hash((JobID, self._text))
