"""The window operator: choice of the parts that a specification asks for, and the loops over records and timers.

Single records and timers are handled in `windows`, `merging` and `panes`; blocks of records in `grouping`, `sessions`
and `panes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, Protocol

import pyarrow as pa

from penstock.runtime.callables import Collector
from penstock.runtime.columns import ColumnBlock, Stamps, key_objects
from penstock.runtime.context import OperatorRuntimeContext
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.timed import TimedOperator
from penstock.runtime.operators.window.adopting import PanesToWindows, refuse_panes, retime
from penstock.runtime.operators.window.checks import check_spec
from penstock.runtime.operators.window.codec import codec_of
from penstock.runtime.operators.window.combining import Combiner, combiner_of
from penstock.runtime.operators.window.contents import (
    AccumulatorContents,
    Contents,
    ElementContents,
    EvictedContents,
)
from penstock.runtime.operators.window.contexts import EvictionContext, FunctionContext, WindowRuntimeContext
from penstock.runtime.operators.window.evaluation import Evaluator
from penstock.runtime.operators.window.grouping import grouping_for
from penstock.runtime.operators.window.in_memory import InMemoryWindows, can_stay_in_memory
from penstock.runtime.operators.window.layout import PANES, layout_of, refusal_of
from penstock.runtime.operators.window.merging import MergingWindows
from penstock.runtime.operators.window.panes import Panes, uses_panes
from penstock.runtime.operators.window.partials import Partial
from penstock.runtime.operators.window.rest import ALL, Rest
from penstock.runtime.operators.window.sessions import session_grouping_for
from penstock.runtime.operators.window.shapes import fires_once_at_the_end
from penstock.runtime.operators.window.spec import WindowSpec
from penstock.runtime.operators.window.windows import Windows
from penstock.runtime.rows import Timestamps
from penstock.state.keyed import VOID_NAMESPACE
from penstock.state.timers import EVENT, Timer
from penstock.vocabulary.window import MergingWindowAssigner

LATE_RECORDS = "numLateRecordsDropped"


class Grouping(Protocol):
    """What can be done with the records of a block together."""

    def take(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> Rest:
        """Take records; returns those that must go one by one."""


class WindowOperator(TimedOperator):
    """Windows of a keyed stream, as Flink's `WindowOperator` and `EvictingWindowOperator`.

    For windows over a whole stream the key is a constant.
    """

    kind = "window"
    state_identity = "WindowOperator"
    _in_panes: bool | None = None

    def __init__(self, spec: WindowSpec) -> None:
        check_spec(spec)
        codec_of(spec.assigner)
        self.spec = spec

    def waits_for_event_time(self) -> bool:
        """Windows of event time do."""
        return self.spec.assigner.is_event_time()

    def layout(self) -> Layout:
        """What settings of the windows say about their state, and whether that is panes."""
        if self._in_panes is None:
            return layout_of(self.spec, uses_panes(self.spec))
        return self._layout

    def layout_refusal(self, written: Layout) -> str | None:
        """Windows of time may change as in Flink; what they hold and how they are told apart may not."""
        return refusal_of(written, self.layout())

    def adopt_layout(self, written: Layout | None) -> None:
        """Go on from windows of other settings: panes become windows, timers those of the present trigger.

        What was kept as windows stays so: elements that are in several windows cannot be taken out of them again.
        """
        before, now = written or layout_of(self.spec, in_panes=True), layout_of(self.spec, uses_panes(self.spec))
        in_panes = before["kept as"] == now["kept as"] == PANES
        in_panes = in_panes and all(before[name] == now[name] for name in ("assigner", "lateness"))
        if in_panes is not self._in_panes:
            self._connect(in_panes)
        if in_panes or self._windows is None:
            return
        if before["kept as"] == PANES:
            if "slide" in before["assigner"] and self.spec.combine is not None:
                PanesToWindows(self._windows, self._combiner(is_shared=False), before).run()
            else:  # nobody wrote down whether there are any, and there should not be
                refuse_panes(self._windows)
        elif any(before[name] != now[name] for name in ("trigger", "lateness")):
            retime(self._windows, before)

    @property
    def function(self) -> Any:
        """The user's function, for names."""
        return self.spec.combine if self.spec.function is None else self.spec.function

    def open(self) -> None:
        """Open the user's functions and put the parts together."""
        spec = self.spec
        self._runtime_context = WindowRuntimeContext(self.context)
        for function in self._functions():
            self.open_function(function)
        self._collector = Collector(self.output, self.context.own)
        self._late = self.context.metrics.counter(LATE_RECORDS)
        self._is_event_time = spec.assigner.is_event_time()
        self._connect(uses_panes(spec))

    def _connect(self, in_panes: bool) -> None:
        self._in_panes = in_panes
        self._layout = layout_of(self.spec, in_panes)
        spec, backend = self.spec, self.context.backend
        assert backend is not None
        is_merging = isinstance(spec.assigner, MergingWindowAssigner)
        context = FunctionContext(self, self._collector, is_merging)
        evaluator = Evaluator(spec.evaluation, spec.function, self._collector, context, backend)
        self._element: Callable[[Any, int | None, Any], bool]
        self._timer: Callable[[int, int, bytes], None]
        self._grouping: Grouping | None
        self._in_memory = InMemoryWindows(self, spec, spec.key_fields) if can_stay_in_memory(spec) else None
        self._windows: Windows | None = None
        if in_panes:
            panes = Panes(self, backend, spec, self._combiner(is_shared=False), evaluator)
            self._element, self._timer, self._grouping = panes.element, panes.timer, panes
            return
        contents = self._contents(evaluator)
        kind = MergingWindows if is_merging else Windows
        windows = self._windows = kind(self, backend, spec, codec_of(spec.assigner), contents, evaluator)
        self._element = windows.element
        self._timer = windows.end_timer if fires_once_at_the_end(spec) else windows.timer
        if isinstance(windows, MergingWindows):
            self._grouping = session_grouping_for(windows)
        else:
            self._grouping = grouping_for(windows)

    def _contents(self, evaluator: Evaluator) -> Contents:
        spec, backend, evictor = self.spec, self.context.backend, self.spec.evictor
        assert backend is not None
        combiner = None
        is_shared = not spec.assigner.assigns_one_window
        if spec.combine is not None:
            combiner = self._combiner(is_shared=is_shared or evictor is not None)
        if evictor is not None:
            return EvictedContents(backend, evaluator.evaluate, is_shared, evictor, EvictionContext(self), combiner)
        if combiner is not None:
            return AccumulatorContents(backend, evaluator.evaluate, combiner)
        return ElementContents(backend, evaluator.evaluate, is_shared)

    def _combiner(self, *, is_shared: bool) -> Combiner:
        return combiner_of(self.spec.combine, takes_partials=self.spec.takes_partials, is_shared=is_shared)

    def _functions(self) -> list[Any]:
        return [function for function in (self.spec.combine, self.spec.function) if function is not None]

    def close(self) -> None:
        """Close the user's functions."""
        for function in self._functions():
            self.close_function(function)

    def runtime_context(self) -> OperatorRuntimeContext:
        """The context handed to user functions: its states belong to the key, not to a window."""
        return self._runtime_context

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Start without windows in memory."""
        if self._in_memory is not None:
            self._in_memory.begin_batch()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Make state of what is left in memory."""
        if self._in_memory is not None:
            self._age()

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Let columns wait for the end of their windows where that can be; the rest as objects."""
        if self._in_memory is None or timestamps is None:
            super().process_columns(block, timestamps, keys)
            return
        rest = self._in_memory.take_columns(block, timestamps)
        if rest.is_all:
            super().process_columns(block, timestamps, keys)
            return
        if not rest.is_nothing:
            left = rest.positions
            keys_left = key_objects(keys.take(pa.array(left)))
            self._take_ordinarily(block.take(left).values(), timestamps[left].tolist(), keys_left)
        self._age_if_full()

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Put a block into windows: those that began in this batch, and the others."""
        assert keys is not None
        rest = ALL if self._in_memory is None else self._in_memory.take(values, timestamps, keys)
        if rest.is_all:
            self._take_ordinarily(values, timestamps, keys)
            return
        if not rest.is_nothing:
            assert timestamps is not None
            chosen = ([each[index] for index in rest.positions] for each in (values, timestamps, keys))
            self._take_ordinarily(*chosen)
        self._age_if_full()

    def _age_if_full(self) -> None:
        if self._in_memory is not None and self._in_memory.is_full():
            self._age()

    def _age(self, starts: list[int] | None = None) -> None:
        """Make state of what windows, or all of them, have got in this batch."""
        assert self._in_memory is not None
        left = self._in_memory.take_out(starts)
        if left:
            self._take_ordinarily(left, [partial.start for partial in left], [partial.key for partial in left])

    def on_watermark(self, watermark: int) -> None:
        """Fire windows up to the watermark in the order of their ends, whatever they are kept in."""
        if self._in_memory is not None:
            with_state, in_memory_only = self._in_memory.due(watermark)
            self._age(with_state)  # before the watermark is there, or it would be late
            self.watermark = watermark
            for start in in_memory_only:
                self._fire(EVENT, self._in_memory.last_of(start))
                self._in_memory.fire(start)
        super().on_watermark(watermark)

    def _take_ordinarily(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> None:
        """Put a block into windows: together what can be, the rest one by one in its order."""
        rest = ALL if self._grouping is None else self._grouping.take(values, timestamps, keys)
        if rest.is_all:
            self._one_by_one(values, timestamps, keys)
        elif not rest.is_nothing:
            left = rest.positions
            stamps: Timestamps = None if timestamps is None else [timestamps[index] for index in left]
            self._one_by_one([values[index] for index in left], stamps, [keys[index] for index in left])
        self._collector.flush()

    def _one_by_one(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> None:
        assert self.context.backend is not None
        set_key, element = self.context.backend.set_key, self._element
        takes_partials = self.spec.takes_partials
        consumed = iter(values)
        try:
            for value, timestamp, key in zip(consumed, timestamps or repeat(None), keys, strict=False):
                set_key(key)
                is_partial = takes_partials and type(value) is Partial
                seen = None if is_partial else value
                if not element(value, timestamp, seen):
                    self._drop_if_late(seen, timestamp, value.count if is_partial else 0)
        except Exception as error:
            self._collector.discard()
            raise self.record_failure(error, values, consumed) from None

    def _drop_if_late(self, value: Any, timestamp: int | None, folded: int) -> None:
        """A record that no window took is late if its own time has passed, too.

        Of several that were `folded` into one before the exchange nothing is left but their number.
        """
        if not self._is_event_time:
            return
        if timestamp is not None and timestamp + self.spec.allowed_lateness > self.watermark:
            return
        if self.spec.late_tag is None or folded:
            self._late.inc(folded or 1)
            return
        self._collector.timestamp = timestamp
        self._collector.side(self.spec.late_tag, value)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Let windows fire and go."""
        backend, timer = self.context.backend, self._timer
        assert backend is not None
        for timestamp, key, namespace in due:
            backend.set_key(key)
            try:
                timer(domain, timestamp, namespace)
            except Exception as error:
                self._collector.discard()
                backend.set_namespace(VOID_NAMESPACE)
                time = "event" if domain == EVENT else "processing"
                during = f"in the window of key {key!r} that was due at {time} time {timestamp}"
                raise self.failure(error, during) from None
        self._collector.flush()
