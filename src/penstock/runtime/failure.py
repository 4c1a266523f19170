"""Failures of user code: the user's traceback first, then the operator and the record."""

from __future__ import annotations

import operator
import reprlib
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any

_PACKAGE = __file__.rpartition("runtime")[0]  # ends with a separator
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 8
_SHORT.maxlevel = 3


class OperatorFailure(Exception):
    """User code raised. The text is complete by itself and survives pickling (no live objects inside)."""

    def __init__(self, text: str, operator_name: str, uid: str) -> None:
        super().__init__(text, operator_name, uid)
        self.text = text
        self.operator_name = operator_name
        self.uid = uid

    def __str__(self) -> str:
        return self.text


def describe_failure(
    error: BaseException, *, operator_name: str, uid: str, subtask: int, during: str, record: Any = None
) -> OperatorFailure:
    """Turn an exception of user code into an `OperatorFailure`; `during` says what was being done."""
    if isinstance(error, OperatorFailure):
        return error
    lines = [format_user_traceback(error), f"in operator {operator_name!r} (uid {uid!r}, subtask {subtask}), {during}"]
    if record is not None:
        lines.append(f"record: {short_repr(record)}")
    return OperatorFailure("\n".join(lines), operator_name, uid)


def format_user_traceback(error: BaseException) -> str:
    """The traceback from the first frame that is not Penstock's own."""
    frames = error.__traceback__
    while frames is not None and _is_ours(frames):
        frames = frames.tb_next
    shown = error.with_traceback(frames or error.__traceback__)
    return "".join(traceback.format_exception(type(shown), shown, shown.__traceback__)).rstrip()


def _is_ours(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename.startswith(_PACKAGE)


def short_repr(record: Any) -> str:
    """A repr that is never long and never raises."""
    try:
        return _SHORT.repr(record)
    except Exception as error:
        return f"<{type(record).__name__} whose repr raised {type(error).__name__}>"


def current_record(values: list[Any], consumed: Iterator[Any]) -> Any:
    """The record being worked on when a loop over `consumed = iter(values)` was left by an exception.

    A list iterator knows how much is left, so the loop itself needs no counter.
    """
    index = len(values) - operator.length_hint(consumed) - 1
    return values[index] if 0 <= index < len(values) else None
