"""Failures of user code: the user's traceback first, then the operator and the record."""

from __future__ import annotations

import dis
import inspect
import operator
import reprlib
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any

_PACKAGE = __file__.rpartition("runtime")[0]  # ends with a separator
_RAISE = dis.opmap["RAISE_VARARGS"]
_NO_TIMESTAMPS = (
    "hint: ctx.timestamp() is None, because this stream has no timestamps: give its source a WatermarkStrategy, or "
    "call assign_timestamps_and_watermarks(...) before this operator"
)
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
    error: BaseException,
    *,
    operator_name: str,
    uid: str,
    subtask: int,
    during: str,
    record: Any = None,
    function: Any = None,
) -> OperatorFailure:
    """Turn an exception of user code into an `OperatorFailure`; `during` says what was being done.

    `function` is the user's, whose place is shown where the traceback does not pass through it.
    """
    if isinstance(error, OperatorFailure):
        return error
    place = f"in operator {operator_name!r} (uid {uid!r}, subtask {subtask}), {during}"
    lines = [format_user_traceback(error, function), place]
    if record is not None:
        lines.append(f"record: {short_repr(record)}")
    if _misses_timestamp(error):
        lines.append(_NO_TIMESTAMPS)
    return OperatorFailure("\n".join(lines), operator_name, uid)


def format_user_traceback(error: BaseException, function: Any = None) -> str:
    """Return the traceback from the first frame that is not Penstock's own.

    An error that Penstock raises on purpose says all in its text: then none of Penstock's frames is shown.
    """
    shown = traceback.TracebackException.from_exception(error)
    frames = list(shown.stack)
    users = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    if _is_on_purpose(error):
        shown.stack = traceback.StackSummary.from_list(users or _definition_of(function, str(error)))
        shown.__context__ = None
    elif users:
        shown.stack = traceback.StackSummary.from_list(frames[frames.index(users[0]) :])
    return "".join(shown.format()).rstrip()


def _is_on_purpose(error: BaseException) -> bool:
    """Return whether a `raise` of Penstock's own is where an exception comes from."""
    last = _last_frame(error)
    if last is None or isinstance(error, AssertionError):
        return False
    code = last.tb_frame.f_code
    return code.co_filename.startswith(_PACKAGE) and code.co_code[last.tb_lasti] == _RAISE


def _definition_of(function: Any, text: str) -> list[traceback.FrameSummary]:
    """Return the place of a function, or of the method that a text begins with."""
    found = function if inspect.isroutine(function) else getattr(type(function), text.partition(" ")[0], None)
    code = getattr(found, "__code__", None)
    if code is None or code.co_filename.startswith(_PACKAGE):
        return []
    return [traceback.FrameSummary(code.co_filename, code.co_firstlineno, code.co_name)]


def _misses_timestamp(error: BaseException) -> bool:
    """Return whether user code most likely failed because `ctx.timestamp()` is None."""
    last = _last_frame(error)
    is_of_none = isinstance(error, TypeError | AttributeError) and "NoneType" in str(error)
    return is_of_none and last is not None and "timestamp" in last.tb_frame.f_code.co_names


def _last_frame(error: BaseException) -> TracebackType | None:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last


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
