"""Say what to write instead of a name that a stream does not have: Java's spelling, Spark's and pandas' methods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.errors import GraphError

_COLLECT = "execute_and_collect(), which runs the job and returns the records"
_PRINT = "print() and env.execute()"
_INSTEAD = {
    **dict.fromkeys(("collect", "to_list", "take", "head", "to_pandas"), _COLLECT),
    **dict.fromkeys(("show", "display"), _PRINT),
    **dict.fromkeys(("foreach", "for_each", "subscribe"), "map(...) or add_sink(...)"),
    **dict.fromkeys(("group_by", "groupby", "partition_by"), "key_by(...)"),
    **dict.fromkeys(("where", "query"), "filter(...)"),
    **dict.fromkeys(("write_stream", "start"), "sink_to(...) and env.execute()"),
}

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


def _hint_of_key(method: str) -> NotKeyedError | None:
    """The error for a method that only keyed streams have; None if they do not have it either."""
    if method not in _OF_A_KEY:
        return None
    instead = f", or {_WHOLE_STREAM[method]}" if method in _WHOLE_STREAM else ""
    return NotKeyedError(
        f"{method}: this stream has no key. Call key_by(...) first, as in stream.key_by(lambda element: element[0])"
        f".{method}(...){instead}."
    )


def refuse_name(owner: Any, name: str) -> NoReturn:
    """Raise the error for an attribute that an object of the DataStream API does not have."""
    needs_key = None if getattr(type(owner), "is_keyed", True) else _hint_of_key(name)
    if needs_key is not None:
        raise needs_key
    kind = type(owner).__name__
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    hint = ""
    if snake != name and hasattr(type(owner), snake):
        hint = f"; in Python it is {snake}()"
    elif snake in _INSTEAD:
        hint = f"; use {_INSTEAD[snake]}"
    raise AttributeError(f"{kind!r} object has no attribute {name!r}{hint}", name=name, obj=owner)


class NotIterableError(GraphError, TypeError):
    """A stream was used as if it were a list of its records."""


def refuse_iteration(owner: Any) -> NoReturn:
    """Refuse `for record in stream`: a program describes a job, which runs later."""
    raise NotIterableError(
        f"A {type(owner).__name__} has no records yet, so a loop cannot read it: use `for record in "
        "stream.execute_and_collect()`, or stream.map(...) to do something with each record."
    )


class HintsAtNames:
    """Base of the classes of the DataStream API: a name that is not there says what to write instead."""

    if not TYPE_CHECKING:
        __getattr__ = refuse_name
