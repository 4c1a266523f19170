"""Converts all accepted kinds of user functions to plain callables.

A function may be an object of the right class or anything callable; it may return or yield its results, or take a
collector as last argument (`out.collect(value)`), as Java users are used to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import GeneratorType
from typing import Any

from penstock.common.own_copies import ATOMS, own_copy
from penstock.common.types import Row
from penstock.runtime.failure import short_repr
from penstock.runtime.output import Output
from penstock.vocabulary.output_tag import OutputTag

Results = Iterable[Any] | None

# Asking an abstract class costs as much as all the rest that is done for a record, so these are told by their type.
_PLAIN_RESULTS = frozenset({GeneratorType, list, tuple})

# What is iterable and yet one record: nobody who returns it means its letters, bytes, keys or fields.
_RECORDS: dict[Any, str] = {str: "text", (bytes, bytearray, memoryview): "bytes", Mapping: "dict", Row: "Row"}


class Collector:
    """Gathers what user code emits while a block or a timer is worked on; `timestamp` goes with each result.

    User code may go on to change what it has emitted: `own` makes copies of what can be changed, at once.
    """

    __slots__ = ("_output", "_own", "_sides", "_timestamps", "_values", "timestamp")

    def __init__(self, output: Output, own: Callable[[Any], Any] = own_copy) -> None:
        self.timestamp: int | None = None
        self._own = own
        self._output = output
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []
        self._sides: dict[str, tuple[list[Any], list[int | None]]] = {}

    def collect(self, value: Any) -> None:
        """Emit one record to the main output."""
        self._values.append(value if value.__class__ in ATOMS else self._own(value))
        self._timestamps.append(self.timestamp)

    def side(self, tag: OutputTag, value: Any) -> None:
        """Emit one record to a side output."""
        values, timestamps = self._sides.setdefault(tag.tag_id, ([], []))
        values.append(value if value.__class__ in ATOMS else self._own(value))
        timestamps.append(self.timestamp)

    def take(self, results: Iterable[Any]) -> None:
        """Emit everything a function returned or yields; `(OutputTag, value)` goes to that side output."""
        add, stamp, own, timestamp = self._values.append, self._timestamps.append, self._own, self.timestamp
        for result in results:
            kind = result.__class__
            if kind is tuple:
                for item in result:
                    if item.__class__ not in ATOMS:
                        self._take_tuple(result)
                        break
                else:
                    add(result)
                    stamp(timestamp)
            else:
                add(result if kind in ATOMS else own(result))
                stamp(timestamp)

    def take_joined(self, results: Any, left: Any, right: Any, method: str) -> None:
        """Emit what a function gave for two objects that cannot change, or for None: then nothing is known of them.

        Results are mostly tuples of these two or of their fields: such a tuple cannot change either.
        """
        if results is None:
            return
        add, stamp, timestamp = self._values.append, self._timestamps.append, self.timestamp
        for result in results if type(results) in _PLAIN_RESULTS else checked_results(results, method):
            if result.__class__ is tuple:
                for item in result:
                    if item.__class__ not in ATOMS and item is not left and item is not right:
                        self._take_tuple(result)
                        break
                else:
                    add(result)
                    stamp(timestamp)
            else:
                self.collect(result)

    def take_each(
        self,
        process: Callable[[Any, Any], Results],
        records: Iterator[tuple[Any, int | None, Any]],
        ctx: Any,
        method: str,
    ) -> None:
        """Call a process function for each value, timestamp and key, and emit what it gives.

        The same as `take` for each of them: the hottest loop of all is spared a few calls.
        """
        add, stamp, own = self._values.append, self._timestamps.append, self._own
        for value, timestamp, _ in records:
            self.timestamp = timestamp
            results = process(value, ctx)
            if results is None:
                continue
            for result in results if type(results) in _PLAIN_RESULTS else checked_results(results, method):
                kind = result.__class__
                if kind is tuple:
                    for item in result:
                        if item.__class__ not in ATOMS:
                            self._take_tuple(result)
                            break
                    else:
                        add(result)
                        stamp(timestamp)
                else:
                    add(result if kind in ATOMS else own(result))
                    stamp(timestamp)

    def _take_tuple(self, result: tuple[Any, ...]) -> None:
        """Emit a tuple that is for a side output, or holds what can be changed."""
        if len(result) == 2 and isinstance(result[0], OutputTag):
            self.side(*result)
        else:
            self._values.append(self._own(result))
            self._timestamps.append(self.timestamp)

    def flush(self) -> None:
        """Hand everything to the output."""
        if self._values:
            values, timestamps = self._values, self._timestamps
            self._values, self._timestamps = [], []
            self._output.emit(values, timestamps)
        if self._sides:
            sides, self._sides = self._sides, {}
            for tag, (values, timestamps) in sides.items():
                self._output.emit_side(tag, values, timestamps)

    def discard(self) -> None:
        """Forget everything: the block failed."""
        self._values, self._timestamps, self._sides = [], [], {}


def method_or_callable(function: Any, method: str) -> Callable[..., Any]:
    """`function.method` of a function object, or the function itself if it is just callable."""
    bound = getattr(function, method, None)
    if callable(bound):
        return bound  # type: ignore[no-any-return]
    if callable(function):
        return function  # type: ignore[no-any-return]
    raise TypeError(f"{function!r} is neither callable nor has a method {method}()")


def with_collector(function: Callable[..., Any], arguments: int, collector: Collector) -> Callable[..., Results]:
    """Bind the collector if the function takes one more positional argument than the `arguments` it must take."""
    if _positional_count(function) <= arguments:
        return function
    if arguments == 1:
        return lambda first: function(first, collector)
    if arguments == 2:
        return lambda first, second: function(first, second, collector)
    return lambda *given: function(*given, collector)


def _positional_count(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-ins have no signature
        return 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for parameter in parameters if parameter.kind in kinds and parameter.default is parameter.empty)


def checked_results(results: Any, what: str) -> Iterable[Any]:
    """Refuse a result that is no iterable of results, with a sentence that says what to do instead."""
    if type(results) in _PLAIN_RESULTS:
        return results  # type: ignore[no-any-return]
    record = next((name for kind, name in _RECORDS.items() if isinstance(results, kind)), None)
    if record is not None:
        shown = f"{record} {short_repr(results)}"
        raise TypeError(
            f"{what} returned the {shown}, which would be taken apart; yield it, or return a list of results"
        )
    if isinstance(results, Iterable):
        return results
    raise TypeError(f"{what} returned a {type(results).__name__}; yield the results or return a list of them")
