"""Process functions on plain and keyed streams: contexts, timers, side outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from types import CodeType
from typing import Any, ClassVar

from penstock.errors import StateError
from penstock.runtime.callables import Collector, checked_results, method_or_callable, with_collector
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.timed import TimedOperator
from penstock.runtime.rows import Timestamps
from penstock.state.timers import EVENT, PROCESSING, InternalTimers, Timer
from penstock.vocabulary.functions import CoProcessFunction, KeyedCoProcessFunction, KeyedProcessFunction
from penstock.vocabulary.output_tag import OutputTag
from penstock.vocabulary.time_domain import TimeDomain
from penstock.vocabulary.timerservice import TimerService

_EVENT_TIMER, _PROCESSING_TIMER = "register_event_time_timer", "register_processing_time_timer"
_DOMAINS = {EVENT: TimeDomain.EVENT_TIME, PROCESSING: TimeDomain.PROCESSING_TIME}


class OperatorTimerService(TimerService):
    """Time and timers as a process function sees them; timers need a keyed stream, as in Flink."""

    def __init__(self, operator: StreamOperator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` when the clock has reached the timestamp."""
        self._timers().register(PROCESSING, timestamp if type(timestamp) is int else _whole(timestamp))

    def register_event_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` when the watermark has reached the timestamp."""
        self._timers().register(EVENT, timestamp if type(timestamp) is int else _whole(timestamp))

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget a timer; one that does not exist is no error."""
        self._timers().delete(PROCESSING, timestamp if type(timestamp) is int else _whole(timestamp))

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget a timer; one that does not exist is no error."""
        self._timers().delete(EVENT, timestamp if type(timestamp) is int else _whole(timestamp))

    def _timers(self) -> InternalTimers:
        timers = self._operator.context.timers
        if timers is None:
            raise StateError("timers need a keyed stream: call key_by(...) before process(...)")
        return timers


def _whole(timestamp: Any) -> int:
    if isinstance(timestamp, int):
        return timestamp
    if isinstance(timestamp, float) and timestamp.is_integer():
        return int(timestamp)
    raise TypeError(f"a timer's timestamp must be a whole number of milliseconds, not {timestamp!r}")


class ProcessContext(CoProcessFunction.Context):
    """The `ctx` of process_element on streams without keys; one object serves all calls of an operator."""

    def __init__(self, operator: StreamOperator, collector: Collector) -> None:
        self._collector = collector
        self._backend = operator.context.backend
        self._timer_service = OperatorTimerService(operator)
        self._domain = TimeDomain.EVENT_TIME
        self._fired_at: int | None = None

    def timestamp(self) -> int | None:
        """Timestamp of the element or timer; None if it has none."""
        return self._collector.timestamp if self._fired_at is None else self._fired_at

    def timer_service(self) -> TimerService:
        """Time and timers."""
        return self._timer_service

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emit to a side output; yielding `(tag, value)` does the same."""
        self._collector.side(tag, value)

    def get_current_key(self) -> Any:
        """Key of the element or timer."""
        if self._backend is None:
            raise StateError("there is no current key: the stream is not keyed")
        return self._backend.current_key()

    def time_domain(self) -> TimeDomain:
        """Which kind of timer fired (in on_timer only)."""
        return self._domain

    def set_timer(self, domain: int, timestamp: int | None) -> None:
        """Say which timer is firing; None when none is any more."""
        self._domain = _DOMAINS[domain]
        self._fired_at = timestamp


class KeyedProcessContext(
    ProcessContext, KeyedCoProcessFunction.OnTimerContext[Any], KeyedProcessFunction.OnTimerContext[Any]
):
    """The `ctx` of process_element and on_timer on keyed streams, of one and of two."""


class ProcessOperator(StreamOperator):
    """A process function on a stream that is not keyed; `method` is the one that takes its records."""

    kind = "process"
    state_identity = "ProcessOperator"
    method = "process_element"
    context_class: ClassVar[type[ProcessContext]] = ProcessContext

    def __init__(self, function: Any) -> None:
        self.function = function

    def open(self) -> None:
        """Open the function and see which style it has."""
        self.open_function(self.function)
        self._collector = Collector(self.output, self.context.own)
        self._ctx = self.context_class(self, self._collector)
        self._process = self._bound(self.method)

    def _bound(self, method: str) -> Callable[[Any, Any], Iterable[Any] | None]:
        return with_collector(method_or_callable(self.function, method), 2, self._collector)

    def close(self) -> None:
        """Close the function."""
        self.close_function(self.function)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Call process_element for each record."""
        self._process_each(self.method, self._process, values, timestamps, keys)

    def _process_each(
        self,
        method: str,
        process: Callable[[Any, Any], Iterable[Any] | None],
        values: list[Any],
        timestamps: Timestamps,
        keys: list[Any] | None,
    ) -> None:
        backend, consumed = self.context.backend, iter(values)
        # The key comes last: it is the current one when the function is called.
        current = repeat(None) if backend is None or keys is None else backend.walk(keys)
        try:
            records = zip(consumed, timestamps or repeat(None), current, strict=False)
            self._collector.take_each(process, records, self._ctx, method)
        except Exception as error:
            self._collector.discard()
            raise self.record_failure(error, values, consumed) from None
        self._collector.flush()


class KeyedProcessOperator(TimedOperator, ProcessOperator):
    """A process function on a keyed stream: with keyed state and timers of both kinds."""

    kind = "keyed process"
    state_identity = "KeyedProcessOperator"
    context_class = KeyedProcessContext
    queryable_name: str | None = None  # of a stream that is kept as queryable state

    def waits_for_event_time(self) -> bool:
        """Return whether the function has timers of event time, as far as its code shows."""
        on_timer = getattr(type(self.function), "on_timer", None)
        if on_timer is None or on_timer.__module__ == KeyedProcessFunction.__module__:
            return False  # what it inherits does nothing
        used = _names_used(type(self.function))
        return _EVENT_TIMER in used or _PROCESSING_TIMER not in used

    def open(self) -> None:
        """Open the function; one without `on_timer` just lets its timers pass."""
        super().open()
        self._on_timer = self._bound("on_timer") if hasattr(self.function, "on_timer") else None

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Call on_timer for each timer."""
        backend = self.context.backend
        assert backend is not None
        for timestamp, key, _ in due:
            backend.set_key(key)
            self._ctx.set_timer(domain, timestamp)
            # As in Flink, what a processing-time timer emits has no event timestamp.
            self._collector.timestamp = timestamp if domain == EVENT else None
            if self._on_timer is None:
                continue
            try:
                results = self._on_timer(timestamp, self._ctx)
                if results is not None:
                    self._collector.take(checked_results(results, "on_timer"))
            except Exception as error:
                self._collector.discard()
                during = f"in the {_DOMAINS[domain].name.lower()} timer of key {key!r} at {timestamp}"
                raise self.failure(error, during) from None
        self._ctx.set_timer(domain, None)
        self._collector.flush()


def _names_used(kind: type) -> set[str]:
    """Return the names of attributes that the methods of a class use, those of functions inside them too."""
    methods = (getattr(each, "__func__", each) for base in kind.__mro__ for each in vars(base).values())
    todo = [method.__code__ for method in methods if hasattr(method, "__code__")]
    found: set[str] = set()
    while todo:
        code = todo.pop()
        found.update(code.co_names)
        todo += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found
