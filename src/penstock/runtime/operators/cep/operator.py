"""The operator that looks for a pattern in the events of each key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, cast

from penstock.common.constants import MAX_WATERMARK
from penstock.runtime.callables import Collector, checked_results, method_or_callable, with_collector
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.layouts import Layout, difference
from penstock.runtime.operators.cep.automaton import Automaton
from penstock.runtime.operators.cep.conditions import parts_of, test_of
from penstock.runtime.operators.cep.due_events import DueEvents, DueEventsOfPattern
from penstock.runtime.operators.cep.matcher import KeyRun, Match, Matcher, Test, Timeout
from penstock.runtime.operators.cep.runs import KeyRuns
from penstock.runtime.operators.cep.skipping import AfterMatchSkipStrategy
from penstock.runtime.operators.cep.waiting import Due, EventBlock, WaitingEvents
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.timed import TimedOperator
from penstock.runtime.rows import Timestamps
from penstock.state.timers import EVENT, PROCESSING, Timer
from penstock.vocabulary.output_tag import OutputTag

LATE_RECORDS = "numLateRecordsDropped"
MATCHES = "numMatches"
TIMEOUTS = "numTimedOutMatches"
PARTIAL_MATCHES = "partialMatches"
DROPPED_MATCHES = "numPartialMatchesDropped"
BUFFER_SIZE = "sharedBufferSize"

_NO_TIMESTAMP = (
    "the record has no timestamp, but the pattern is looked for in event time: call "
    "assign_timestamps_and_watermarks(...) before CEP.pattern(...), or in_processing_time() after it"
)


@dataclass(frozen=True)
class PatternSpec:
    """What is looked for: `described` says it in words, which are kept with the state.

    `allows_change`: state of another pattern is not refused; its partial matches are dropped.
    """

    automaton: Automaton
    skip: AfterMatchSkipStrategy
    described: tuple[str, ...]
    is_processing_time: bool = False
    comparator: Any = None
    late_tag: OutputTag | None = None
    allows_change: bool = False


class PatternContext:
    """The `ctx` of process_match and process_timed_out_match; one object serves all calls of an operator."""

    def __init__(self, operator: StreamOperator, collector: Collector) -> None:
        self._clock = operator.context.clock
        self._backend = operator.context.backend
        self._collector = collector
        self.time = 0
        self.pattern: str | None = None

    def pattern_id(self) -> str | None:
        """Id of the pattern that has matched; None where there is one pattern only."""
        return self.pattern

    def timestamp(self) -> int:
        """Time of the match: that of the event that completed it, or of the moment that it timed out."""
        return self.time

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return self._clock()

    def get_current_key(self) -> Any:
        """Key of the events."""
        assert self._backend is not None
        return self._backend.current_key()

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emit to a side output."""
        self._collector.side(output_tag, value)


class PatternOperator(TimedOperator):
    """Looks for one pattern in the events of each key.

    In event time events wait for the watermark, in order of time; those of one time in the order they came or that of
    the comparator. In processing time an event is offered at once; with a comparator, in the next millisecond. A timer
    at the end of a window lets matches time out.
    """

    kind = "pattern"
    state_identity = "PatternOperator"

    def __init__(self, function: Any, spec: PatternSpec) -> None:
        self.function = function
        self.spec = spec

    def waits_for_event_time(self) -> bool:
        """Events of event time wait for the watermark."""
        return not self.spec.is_processing_time

    # ---- what is kept ----

    def layout(self) -> Layout:
        """The elements with all that shapes the automaton; conditions may change."""
        spec = self.spec
        elements = {f"element {number}": text for number, text in enumerate(spec.described, start=1)}
        time = "processing time" if spec.is_processing_time else "event time"
        return {"operator": "pattern", **elements, "skip": str(spec.skip), "time": time}

    def layout_refusal(self, written: Layout) -> str | None:
        """Partial matches of another pattern mean nothing in this one; the user may let them be dropped."""
        now = self.layout()
        if written == now or self._may_change(written):
            return None
        return (
            f"{difference(written, now)}; give the operator another uid(...), or call allow_changed_pattern() to drop "
            "the partial matches"
        )

    def _may_change(self, written: Layout) -> bool:
        is_pattern = written.get("operator") == "pattern" and written.get("time") == self.layout()["time"]
        return self.spec.allows_change and is_pattern

    def adopt_layout(self, written: Layout | None) -> None:
        """Drop the partial matches of another pattern; events that wait for their time stay."""
        dropped = self._runs.drop_all()
        self._dropped.inc(dropped)

    # ---- life ----

    def open(self) -> None:
        """Open the function and the conditions."""
        spec, backend, metrics = self.spec, self.context.backend, self.context.metrics
        assert backend is not None
        self._domain = PROCESSING if spec.is_processing_time else EVENT
        assert self.context.timers is not None
        self._waiting = WaitingEvents(backend, self.context.timers, self._order())
        self._late, self._matches = metrics.counter(LATE_RECORDS), metrics.counter(MATCHES)
        self._timeouts, self._dropped = metrics.counter(TIMEOUTS), metrics.counter(DROPPED_MATCHES)
        self._partials, self._sizes = metrics.counter(PARTIAL_MATCHES), metrics.distribution(BUFFER_SIZE)
        self._collector = Collector(self.output, self.context.own)
        self._ctx = PatternContext(self, self._collector)
        self._open_function()
        self._open_pattern()

    def _order(self) -> Callable[[Any], Any] | None:
        """What sorts events of one time; None: they are taken as they came."""
        comparator = self.spec.comparator
        return None if comparator is None else cmp_to_key(method_or_callable(comparator, "compare"))

    def _test(self, condition: Any) -> Test:
        """A condition, ready to be asked."""
        return test_of(condition)

    def _open_function(self) -> None:
        self.open_function(self.function)
        self._process = with_collector(method_or_callable(self.function, "process_match"), 2, self._collector)
        timed_out = getattr(self.function, "process_timed_out_match", None)
        self._timed_out = timed_out if callable(timed_out) else None

    def _open_pattern(self) -> None:
        spec, backend = self.spec, self.context.backend
        assert backend is not None
        for condition in self._parts():
            self.open_function(condition)
        self._window = spec.automaton.window
        self._runs = KeyRuns(backend, is_ordered=spec.skip.is_skip_strategy())
        tests = [self._test(condition) for condition in spec.automaton.conditions]
        self._matcher = Matcher(spec.automaton, spec.skip, tests, self.context.clock, self.context.own_all)
        self._due: DueEvents = DueEventsOfPattern(
            backend, self._waiting, self._runs, self._matcher, self._matching_failure
        )

    def _parts(self) -> Iterator[Any]:
        """The conditions as the user gave them, each once."""
        seen: set[int] = set()
        for condition in self.spec.automaton.conditions:
            for part in parts_of(condition):
                if id(part) not in seen:
                    seen.add(id(part))
                    yield part

    def close(self) -> None:
        """Close the function and the conditions."""
        for condition in self._parts():
            self.close_function(condition)
        self.close_function(self.function)

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """What waits is in the state."""
        self._waiting.begin()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """What still waits goes to the state."""
        self._waiting.write()

    # ---- events ----

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep events until their time comes, or offer them at once."""
        assert keys is not None
        if self.spec.is_processing_time:
            self._take_now(values, keys)
        else:
            self._take_in(values, timestamps, keys)
        self._collector.flush()

    def _take_now(self, values: list[Any], keys: list[Any]) -> None:
        backend, consumed = self.context.backend, iter(values)
        assert backend is not None
        try:
            for value, _ in zip(consumed, backend.walk(keys), strict=False):
                now = self.context.clock()
                if self.spec.comparator is None:
                    self._offer_now(now, value)
                else:
                    self._keep(value, now)
        except OperatorFailure:
            self._collector.discard()
            raise
        except Exception as error:
            if self._matcher.failed is not None:
                raise self._matching_failure(error, backend.current_key()) from None
            self._collector.discard()
            raise self.record_failure(error, values, consumed) from None

    def _take_in(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> None:
        """Let events wait for the watermark, unless they are late."""
        if timestamps is None or None in timestamps:
            place = next((place for place, each in enumerate(timestamps or ()) if each is None), 0)
            raise self.failure(ValueError(_NO_TIMESTAMP), "processing a record", values[place])
        block = EventBlock(keys, cast("list[int]", timestamps), values)
        if block.times and min(block.times) <= self.watermark:
            late, block = block.split(self.watermark)
            for value, timestamp in zip(late.events, late.times, strict=True):
                self._refuse(value, timestamp)
        self._waiting.add(block)

    def _keep(self, value: Any, now: int) -> None:
        timers = self.context.timers
        assert timers is not None
        self._waiting.keep(now, [value])
        timers.register(PROCESSING, now + 1)

    def _refuse(self, value: Any, timestamp: int) -> None:
        if self.spec.late_tag is None:
            self._late.inc()
            return
        self._collector.timestamp = timestamp
        self._collector.side(self.spec.late_tag, value)

    # ---- time ----

    def on_watermark(self, watermark: int) -> None:
        """Offer the events whose time has come, key by key, then pass the watermark on."""
        self._take_up_to(watermark)
        self._collector.flush()
        self.output.emit_watermark(watermark)

    def _take_up_to(self, watermark: int) -> None:
        self.watermark = watermark
        for key, due in self._due.by_key(watermark):
            self._guarded_for(key, due, watermark)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Let the clock pass, and offer the events that waited for the next millisecond."""
        backend = self.context.backend
        assert backend is not None
        for timestamp, key, _ in due:
            backend.set_key(key)
            waiting: Due = [(timestamp - 1, event, None) for event in self._waiting.taken_back(timestamp - 1)]
            self._guarded_for(key, waiting, self.context.clock())
        self._collector.flush()

    def _guarded_for(self, key: Any, due: Due, now: int) -> None:
        """Offer events of the current key, then let time pass."""
        try:
            run = self._offer(due) if due else self._runs.current()
            if self._matcher.has_windows and len(run.partials.items) > 1 and (run.due is None or run.due <= now):
                self._pass_time(run, now)
        except Exception as error:
            raise self._matching_failure(error, key) from None

    def _matching_failure(self, error: Exception, key: Any) -> OperatorFailure:
        """What to raise; a condition that has raised, or given what is neither true nor false, is named."""
        self._collector.discard()
        question = self._matcher.failing_question()
        if question is None:
            return self.failure(error, f"matching events of key {key!r}")
        whose, event = question
        return self.failure(error, f"asking {whose}, for key {key!r}", event)

    def _pass_time(self, run: KeyRun, now: int) -> None:
        count = len(run.partials.items)
        if count == 1:
            return
        passed = self._matcher.advance(run, now)
        if passed is None:
            return
        matches, timeouts = passed
        self._partials.inc(len(run.partials.items) - count)
        self._runs.save(run)
        self._emit_matches(matches, now)
        self._emit_timeouts(timeouts)

    def _offer_now(self, now: int, value: Any) -> None:
        """Offer an event that has come in processing time."""
        self._offer([(now, value, None)])

    def _offer(self, due: Due) -> KeyRun:
        """Offer events to the automaton of the current key, each after time has passed up to its own; its run."""
        matcher, runs, has_windows = self._matcher, self._runs, self._matcher.has_windows
        run = runs.current()
        for timestamp, event, begins in due:
            count = len(run.partials.items)
            if count > 1 and has_windows and (run.due is None or run.due <= timestamp):
                self._pass_time(run, timestamp)
                run = runs.current()
                count = len(run.partials.items)
            matches = matcher.process(run, event, timestamp, begins)
            if matches is None:
                continue
            if self._window is not None and run.has_begun:
                self._set_end(timestamp + self._window)
            self._partials.inc(len(run.partials.items) - count)
            self._sizes.update(run.size)
            run = runs.save(run)
            if matches:
                self._emit_matches(matches, timestamp)
        return run

    def _set_end(self, end: int) -> None:
        timers = self.context.timers
        assert timers is not None
        if end > MAX_WATERMARK:  # time does not get there
            return
        # Up to the watermark, time passes for the key anyway when its events are done.
        if self._domain == PROCESSING or end > self.watermark:
            timers.register(self._domain, end)

    # ---- output ----

    def _emit_matches(self, matches: list[Match], timestamp: int) -> None:
        for match in matches:
            self._matches.inc()
            self._show(timestamp)
            results = self._process(self._owned(match), self._ctx)
            if results is not None:
                self._collector.take(checked_results(results, "process_match"))

    def _emit_timeouts(self, timeouts: list[Timeout]) -> None:
        for match, timestamp in timeouts:
            self._timeouts.inc()
            if self._timed_out is not None:
                self._show(timestamp)
                self._timed_out(self._owned(match), self._ctx)

    def _show(self, timestamp: int) -> None:
        self._ctx.time = timestamp
        # As in Flink, what is emitted in processing time has no event timestamp.
        self._collector.timestamp = None if self.spec.is_processing_time else timestamp

    def _owned(self, match: Match) -> Match:
        """The events stay in the buffer for other matches, whatever user code does to these."""
        own_all = self.context.own_all
        return {name: own_all(events) for name, events in match.items()}
