"""The error for methods of keyed streams that are called on a stream without a key."""

from __future__ import annotations

from penstock.errors import GraphError

__all__ = ["NotKeyedError", "hint_for"]

_WHOLE_STREAM = {
    "window": "window_all(...): for windows over all elements, in one subtask",
    "count_window": "count_window_all(...): for windows over all elements, in one subtask",
}
_OF_A_KEY = (
    *_WHOLE_STREAM,
    "aggregate_fields",
    "filter_with_state",
    "flat_map_with_state",
    "interval_join",
    "map_with_state",
    "max",
    "max_by",
    "min",
    "min_by",
    "reduce",
    "salted",
    "sum",
)


class NotKeyedError(GraphError, AttributeError):
    """A method of keyed streams was called on a stream without a key."""


def hint_for(method: str) -> NotKeyedError | None:
    """The error for a method that only keyed streams have; None if they do not have it either."""
    if method not in _OF_A_KEY:
        return None
    instead = f", or {_WHOLE_STREAM[method]}" if method in _WHOLE_STREAM else ""
    return NotKeyedError(
        f"{method}: this stream has no key. Call key_by(...) first, as in stream.key_by(lambda element: element[0])"
        f".{method}(...){instead}."
    )
