"""The operator that looks for patterns which come, change and go while it runs.

What a pattern that is gone has left in the keys is removed key by key: when an event or a timer comes to a key, and by
a sweep that goes once over the keys that have partial matches, some of them after each batch. An update itself touches
no key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

from penstock.common.typeinfo import Types
from penstock.errors import GraphError
from penstock.keys.groups import group_range
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.layouts import Layout, difference
from penstock.runtime.operators.cep.active import (
    ActivePattern,
    ActivePatterns,
    CompiledPattern,
    PendingUpdates,
    Update,
    UpdateReader,
)
from penstock.runtime.operators.cep.automaton import Automaton
from penstock.runtime.operators.cep.conditions import parts_of, test_of
from penstock.runtime.operators.cep.due_events import DueEvents
from penstock.runtime.operators.cep.matcher import Match, Matcher, Test, Timeout
from penstock.runtime.operators.cep.operator import PatternOperator, PatternSpec
from penstock.runtime.operators.cep.pattern_runs import RUNNING, PatternRuns, RunningPatterns, drop
from penstock.runtime.operators.cep.skipping import NO_SKIP
from penstock.runtime.operators.cep.waiting import Due
from penstock.runtime.rows import Timestamps
from penstock.state.keyed import VOID_NAMESPACE
from penstock.vocabulary.output_tag import OutputTag

ACTIVE_PATTERNS = "activePatterns"
MALFORMED_UPDATES = "numMalformedUpdates"
CONDITION_FAILURES = "numConditionFailures"

_PATTERNS, _PENDING = "_cep_patterns", "_cep_pending_updates"
_KEYS_AT_ONCE = 1_000
"""Keys that the sweep looks at after a batch, and then to the end of their key group."""

_NO_TIMESTAMP = (
    "the update has no timestamp, but takes effect in event time: call assign_timestamps_and_watermarks(...) on the "
    "updates, or remove updates_in_event_time()"
)


@dataclass(frozen=True)
class DynamicSpec:
    """How events and updates are taken; `malformed_tag`: where bad updates go instead of failing the job.

    `are_updates_timed`: an update takes effect at its timestamp, not when it comes.
    """

    reader: UpdateReader
    is_processing_time: bool = False
    comparator: Any = None
    late_tag: OutputTag | None = None
    malformed_tag: OutputTag | None = None
    are_updates_timed: bool = False


class DynamicPatternOperator(PatternOperator):
    """Looks for all patterns that are on in the events of each key; the second input switches them.

    Events wait once for all patterns. When their time has come they are offered to one pattern after the other.
    """

    kind = "dynamic patterns"
    state_identity = "DynamicPatternOperator"

    def __init__(self, function: Any, spec: DynamicSpec) -> None:
        # There is no pattern yet, only how events are taken.
        none = Automaton((), (), ())
        super().__init__(
            function, PatternSpec(none, NO_SKIP, (), spec.is_processing_time, spec.comparator, spec.late_tag)
        )
        self.dynamic = spec
        self.timeless_inputs = frozenset() if spec.are_updates_timed else frozenset({1})

    # ---- what is kept ----

    def layout(self) -> Layout:
        """Patterns are kept with their partial matches, so nothing but the kind of time must stay."""
        return {"operator": "dynamic patterns", "time": super().layout()["time"]}

    def layout_refusal(self, written: Layout) -> str | None:
        """Timers and waiting events of one kind of time mean nothing in the other."""
        return None if written == self.layout() else difference(written, self.layout())

    def adopt_layout(self, written: Layout | None) -> None:
        """Nothing is to be done."""

    # ---- life ----

    def _open_pattern(self) -> None:
        backend, metrics, states = self.context.backend, self.context.metrics, self.operator_state()
        assert backend is not None
        self._due = DueEvents(backend, self._waiting)
        self._running = RunningPatterns(backend)
        self._runs_by_order = {is_ordered: PatternRuns(backend, is_ordered=is_ordered) for is_ordered in (False, True)}
        kind = Types.MAP(Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE()))
        self._patterns = ActivePatterns(
            states.broadcast_state(_PATTERNS, kind), self.dynamic.reader, self._activate, self._deactivate
        )
        self._pending = PendingUpdates(states.broadcast_state(_PENDING, kind))
        self._malformed = metrics.counter(MALFORMED_UPDATES)
        self._condition_failures = metrics.counter(CONDITION_FAILURES)
        metrics.gauge(ACTIVE_PATTERNS, lambda: len(self._patterns.all))
        self._told: set[bytes] = set()
        self._sweep_at: int | None = None

    def close(self) -> None:
        """Close the conditions of all patterns, and the function."""
        for pattern in self._patterns.close():
            self._deactivate(pattern)
        super().close()

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Go on with the patterns that are in the state."""
        super().begin_batch(version, attempt, state)
        self.guarded(self._patterns.load, "restoring its patterns")
        self._sweep_at = None
        if state is not None:
            # Another subtask's place in the sweep says nothing about the keys of this one.
            is_own = state["subtask"] == self._place()
            self._sweep_at = state["sweep at"] if is_own else self._groups().start

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """What still waits goes to the state; some keys are rid of what patterns that are gone have left."""
        super().end_batch(now_ms, end_of_input)
        if self._sweep_at is not None:
            self._sweep()

    def snapshot(self) -> Any:
        """How far the sweep has got."""
        return {"sweep at": self._sweep_at, "subtask": self._place()}

    def _place(self) -> list[int]:
        return [self.context.subtask, self.context.parallelism]

    def _groups(self) -> range:
        context = self.context
        return group_range(context.subtask, context.parallelism, context.max_parallelism)

    # ---- patterns ----

    def _activate(self, name: str, namespace: bytes, kept: bytes, compiled: CompiledPattern) -> ActivePattern:
        automaton, skip, _ = compiled
        parts = {id(part): part for condition in automaton.conditions for part in parts_of(condition)}
        conditions = tuple(parts.values())
        for condition in conditions:
            if hasattr(condition, "open"):
                self.guarded(partial(condition.open, self.runtime_context()), f"opening pattern {name!r}")
        tests = [test_of(condition) for condition in automaton.conditions]
        if self.dynamic.malformed_tag is not None:
            tests = [self._tolerant(test, name, namespace) for test in tests]
        matcher = Matcher(automaton, skip, tests, self.context.clock, self.context.own_all)
        runs = self._runs_by_order[skip.is_skip_strategy()]
        return ActivePattern(name, namespace, kept, matcher, runs, conditions)

    def _deactivate(self, pattern: ActivePattern) -> None:
        for condition in pattern.conditions:
            self.close_function(condition)

    def _tolerant(self, test: Test, name: str, namespace: bytes) -> Test:
        """A condition that an event does not fulfil if it cannot be asked."""

        def call(*given: Any) -> Any:
            try:
                return test.call(*given)
            except Exception as error:
                self._condition_failures.inc()
                if namespace not in self._told:
                    self._told.add(namespace)
                    self._tell({"put": name}, f"a condition raised {type(error).__name__}: {error}")
                return False

        return Test(call, test.is_iterative)

    # ---- updates ----

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Switch patterns on and off, now or when their time comes."""
        backend, consumed = self.context.backend, iter(values)
        assert backend is not None
        backend.clear_key()
        try:
            for record, timestamp in zip(consumed, timestamps or repeat(None), strict=False):
                self._take_update(record, timestamp)
        except Exception as error:
            self._collector.discard()
            raise self.record_failure(error, values, consumed) from None
        self._collector.flush()

    def _take_update(self, record: Any, timestamp: int | None) -> None:
        reader, is_timed = self.dynamic.reader, self.dynamic.are_updates_timed
        if is_timed and timestamp is None:
            raise ValueError(_NO_TIMESTAMP)
        try:
            update = reader.read(record)
            if update.kept is not None:
                reader.compiled(update)
        except GraphError as error:
            if self.dynamic.malformed_tag is None:
                raise
            self._refuse_update(record, str(error))
            return
        if is_timed and timestamp is not None and timestamp > self.watermark:
            self._pending.add(timestamp, update)
        else:
            self._apply(update)

    def _refuse_update(self, record: Any, error: str) -> None:
        # All subtasks are given all updates; one of them tells.
        if self.context.subtask == 0:
            self._malformed.inc()
            self._tell(record, error)

    def _tell(self, update: Any, error: str) -> None:
        assert self.dynamic.malformed_tag is not None
        before, self._collector.timestamp = self._collector.timestamp, None
        self._collector.side(self.dynamic.malformed_tag, {"update": update, "error": error})
        self._collector.timestamp = before

    def _apply(self, update: Update) -> None:
        if self._patterns.apply(update):
            self._sweep_at = self._groups().start

    def on_watermark(self, watermark: int) -> None:
        """Offer the events whose time has come to the patterns of their time, then pass the watermark on."""
        if self.dynamic.are_updates_timed:
            for time, update in self._pending.due(watermark):
                if time - 1 > self.watermark:
                    self._take_up_to(time - 1)
                self._apply(update)
        super().on_watermark(watermark)

    # ---- events ----

    def _guarded_for(self, key: Any, due: Due, now: int | None) -> None:
        try:
            self._offer_all(due, now)
        except Exception as error:
            raise self._matching_failure(error, key) from None

    def _matching_failure(self, error: Exception, key: Any) -> OperatorFailure:
        self._collector.discard()
        question = self._matcher.failing_question()
        during = f"of key {key!r} with pattern {self._ctx.pattern!r}"
        if question is None:
            return self.failure(error, f"matching events {during}")
        whose, event = question
        return self.failure(error, f"asking {whose}, for an event {during}", event)

    def _offer_now(self, now: int, value: Any) -> None:
        self._guarded_for(self._ctx.get_current_key(), [(now, value, None)], None)

    def _offer_all(self, due: Due, now: int | None) -> None:
        """Offer events of the current key to all patterns, then let time pass; None: it has passed."""
        backend = self.context.backend
        assert backend is not None
        had = running = self._current()
        for pattern in self._patterns.all:
            if not due and (pattern.namespace not in had or not pattern.matcher.has_windows):
                continue
            self._turn_to(pattern, had)
            if due:
                self._offer(due)
            if now is not None and self._matcher.has_windows:
                self._pass_time(self._runs.current(), now)
            if pattern.runs.is_running() != (pattern.namespace in had):
                running = running ^ {pattern.namespace}
        backend.set_namespace(VOID_NAMESPACE)
        if running != had:
            self._running.set(running)

    def _turn_to(self, pattern: ActivePattern, running: frozenset[bytes]) -> None:
        backend = self.context.backend
        assert backend is not None
        backend.set_namespace(pattern.namespace)
        self._matcher, self._runs, self._ctx.pattern = pattern.matcher, pattern.runs, pattern.pattern_id
        self._window = pattern.matcher.automaton.window
        pattern.runs.running = running

    # ---- what patterns have left ----

    def _current(self) -> frozenset[bytes]:
        """The patterns that have partial matches for the current key; what others have left goes."""
        running = self._running.get()
        gone = running - self._patterns.namespaces
        if not gone:
            return running
        dropped = drop(self._runs_by_order.values(), gone)
        self._dropped.inc(dropped)
        self._partials.inc(-dropped)
        self._running.set(running - gone)
        return running - gone

    def _sweep(self) -> None:
        backend, groups = self.context.backend, self._groups()
        assert backend is not None and self._sweep_at is not None
        seen = 0
        for group in range(self._sweep_at, groups.stop):
            if seen >= _KEYS_AT_ONCE:
                self._sweep_at = group
                return
            for key in backend.keys_in_group(RUNNING, group):
                seen += 1
                backend.set_key(key)
                self._current()
        backend.clear_key()
        self._sweep_at = None

    # ---- output ----

    def _emit_matches(self, matches: list[Match], timestamp: int) -> None:
        backend = self.context.backend
        assert backend is not None
        # The function is not one of a pattern: neither is state that it may keep.
        namespace = backend.namespace
        backend.set_namespace(VOID_NAMESPACE)
        super()._emit_matches(matches, timestamp)
        backend.set_namespace(namespace)

    def _emit_timeouts(self, timeouts: list[Timeout]) -> None:
        backend = self.context.backend
        assert backend is not None
        namespace = backend.namespace
        backend.set_namespace(VOID_NAMESPACE)
        super()._emit_timeouts(timeouts)
        backend.set_namespace(namespace)
