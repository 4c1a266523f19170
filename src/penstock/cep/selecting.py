"""`select` and `flat_select` as pattern process functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.cep.functions import PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.runtime.callables import checked_results, method_or_callable
from penstock.runtime.operators.cep.conditions import required_arguments
from penstock.vocabulary.functions import RuntimeContext
from penstock.vocabulary.output_tag import OutputTag


class Selected(PatternProcessFunction[Any, Any]):
    """Calls `select(match)`, or `flat_select(match)` where `is_flat`.

    With `gives_ids` a function that takes one argument more is given the id of the pattern behind the match.
    """

    def __init__(self, function: Any, *, is_flat: bool, gives_ids: bool = False) -> None:
        self._function = function
        self._is_flat = is_flat
        self._gives_ids = gives_ids

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        _open(self._function, runtime_context)
        call = method_or_callable(self._function, "flat_select" if self._is_flat else "select")
        self._call, self._takes_id, self._takes_collector = self._shape(call, 1)

    def _shape(self, call: Any, least: int) -> tuple[Any, bool, bool]:
        """A function of at least so many arguments; whether it takes an id, and whether a collector."""
        takes_id = self._gives_ids and required_arguments(call) > least
        return call, takes_id, self._is_flat and required_arguments(call) > least + takes_id

    def close(self) -> None:
        """Close the function."""
        _close(self._function)

    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterable[Any] | None:
        """Call the function."""
        given = (match, ctx.pattern_id()) if self._takes_id else (match,)
        if not self._is_flat:
            return [self._call(*given)]
        return _collected(self._call, given, self._takes_collector, "flat_select")


class SelectedOrTimedOut(Selected, TimedOutPartialMatchHandler):
    """The same with a function for partial matches that have run out of time."""

    def __init__(
        self, function: Any, tag: OutputTag, timeout_function: Any, *, is_flat: bool, gives_ids: bool = False
    ) -> None:
        super().__init__(function, is_flat=is_flat, gives_ids=gives_ids)
        self._tag = tag
        self._timeout_function = timeout_function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open both functions."""
        super().open(runtime_context)
        _open(self._timeout_function, runtime_context)
        call = method_or_callable(self._timeout_function, "timeout")
        self._timeout, self._timeout_takes_id, self._timeout_collects = self._shape(call, 2)

    def close(self) -> None:
        """Close both functions."""
        super().close()
        _close(self._timeout_function)

    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: Any) -> None:
        """Call the function for timeouts."""
        given = (match, ctx.timestamp(), *((ctx.pattern_id(),) if self._timeout_takes_id else ()))
        if self._is_flat:
            for result in _collected(self._timeout, given, self._timeout_collects, "timeout") or ():
                ctx.output(self._tag, result)
        else:
            ctx.output(self._tag, self._timeout(*given))


class _Collected:
    """The collector of one call."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def collect(self, value: Any) -> None:
        """Emit one element."""
        self.values.append(value)


def _collected(call: Any, given: tuple[Any, ...], takes_collector: bool, what: str) -> Iterable[Any] | None:
    if takes_collector:
        collector = _Collected()
        call(*given, collector)
        return collector.values
    results = call(*given)
    return None if results is None else checked_results(results, what)


def _open(function: Any, runtime_context: RuntimeContext) -> None:
    if hasattr(function, "open"):
        function.open(runtime_context)


def _close(function: Any) -> None:
    if hasattr(function, "close"):
        function.close()
