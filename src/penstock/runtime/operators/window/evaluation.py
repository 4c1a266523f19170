"""How a fired window becomes output: the result itself or a call of the window function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.runtime.callables import Collector, checked_results, method_or_callable, with_collector
from penstock.runtime.operators.window.contexts import FunctionContext
from penstock.runtime.operators.window.spec import Evaluation
from penstock.state.keyed import KeyedStateBackend
from penstock.vocabulary.functions import ProcessAllWindowFunction, ProcessWindowFunction

_KEYED = {Evaluation.APPLY, Evaluation.PROCESS}
_METHODS = {
    Evaluation.APPLY: "apply",
    Evaluation.APPLY_ALL: "apply",
    Evaluation.PROCESS: "process",
    Evaluation.PROCESS_ALL: "process",
}
_CLEARED_BY_NOTHING = {ProcessWindowFunction.clear, ProcessAllWindowFunction.clear}


def clears_windows(function: Any) -> bool:
    """Whether a window function wants to know when a window goes."""
    clear = getattr(type(function), "clear", None)
    return clear is not None and clear not in _CLEARED_BY_NOTHING


class Evaluator:
    """Evaluates windows of the current key, into a collector; results have the window's last timestamp.

    Those of a window without an end (global windows, count windows) have the time of what fires it, `fired_at`: the
    timestamp of the element, None if it has none, or that of the timer. The end of time would be of no use downstream.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        function: Any,
        collector: Collector,
        context: FunctionContext,
        backend: KeyedStateBackend,
    ) -> None:
        self._collector = collector
        self._context = context
        self._function = function
        self._backend = backend
        self.fired_at: int | None = None
        self.clears = evaluation in (Evaluation.PROCESS, Evaluation.PROCESS_ALL) and clears_windows(function)
        self.evaluate: Callable[[Any, list[Any]], None] = self._emit
        if evaluation is not Evaluation.RESULT:
            self._method = _METHODS[evaluation]
            arguments = 3 if evaluation in _KEYED else 2
            self._call = with_collector(method_or_callable(function, self._method), arguments, collector)
            self._wants_context = self._method == "process"
            self.evaluate = self._call_with_key if evaluation in _KEYED else self._call_without_key

    def clear(self, window: Any) -> None:
        """Tell the function that a window goes."""
        self._collector.timestamp = self._time_of(window)
        self._context.current = window
        self._function.clear(self._context)

    def _emit(self, window: Any, elements: list[Any]) -> None:
        collector = self._collector
        collector.timestamp = self._time_of(window)
        for element in elements:
            collector.collect(element)

    def _time_of(self, window: Any) -> int | None:
        last: int = window.max_timestamp()
        return self.fired_at if last == MAX_WATERMARK else last

    def _call_with_key(self, window: Any, elements: list[Any]) -> None:
        key = self._backend.current_key()
        self._take(window, self._call(key, self._subject(window), elements))

    def _call_without_key(self, window: Any, elements: list[Any]) -> None:
        self._take(window, self._call(self._subject(window), elements))

    def _subject(self, window: Any) -> Any:
        self._collector.timestamp = self._time_of(window)
        if not self._wants_context:
            return window
        self._context.current = window
        return self._context

    def _take(self, window: Any, results: Any) -> None:
        if results is not None:
            self._collector.take(checked_results(results, self._method))
