"""Keyed process functions on one subtask: state over batches and processes, timers of both domains, lateness."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.datastream import OutputTag
from penstock.datastream.functions import AggregateFunction, KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.time_domain import TimeDomain
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import KeyedProcessOperator
from tests.unit.runtime.rig import Rig

LATE = OutputTag("late")
DOMAINS = [TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME]


def key_of(command: tuple[Any, ...]) -> Any:
    return command[0]


class Commands(KeyedProcessFunction):
    """Records are commands: (key, "set" | "delete", domain, timestamp). Timers say who fired, and when."""

    def process_element(self, value: Any, ctx: Any) -> None:
        _, verb, domain, timestamp = value
        suffix = "event_time_timer" if domain is TimeDomain.EVENT_TIME else "processing_time_timer"
        verb = {"set": "register", "delete": "delete"}[verb]
        getattr(ctx.timer_service(), f"{verb}_{suffix}")(timestamp)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        assert ctx.timestamp() == timestamp
        yield ctx.get_current_key(), timestamp, ctx.time_domain()


def advance(rig: Rig, domain: TimeDomain, time: int) -> None:
    rig.watermark(time) if domain is TimeDomain.EVENT_TIME else rig.set_clock(time)


def commands(tmp_path: Path) -> Rig:
    return Rig(tmp_path, KeyedProcessOperator(Commands()), key=key_of)


@pytest.mark.parametrize("domain", DOMAINS)
def test_timers_fire_in_order_of_time_once_and_when_due(tmp_path: Path, domain: TimeDomain) -> None:
    rig = commands(tmp_path)
    rig.process(("a", "set", domain, 30), ("b", "set", domain, 10), ("a", "set", domain, 20), ("b", "set", domain, 20))
    advance(rig, domain, 9)
    assert rig.values() == []
    advance(rig, domain, 20)
    fired = rig.values()
    assert fired[0] == ("b", 10, domain)
    assert sorted(fired[1:]) == [("a", 20, domain), ("b", 20, domain)]
    advance(rig, domain, 20)
    assert rig.values() == []
    advance(rig, domain, 100)
    assert rig.values() == [("a", 30, domain)]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_timer_set_twice_fires_once(tmp_path: Path, domain: TimeDomain) -> None:
    rig = commands(tmp_path)
    rig.process(("a", "set", domain, 10), ("a", "set", domain, 10))
    rig.next_batch()
    rig.process(("a", "set", domain, 10))
    advance(rig, domain, 10)
    assert rig.values() == [("a", 10, domain)]


@pytest.mark.parametrize("domain", DOMAINS)
def test_deleting_concerns_the_own_key_domain_and_time_only(tmp_path: Path, domain: TimeDomain) -> None:
    other = DOMAINS[1 - DOMAINS.index(domain)]
    rig = commands(tmp_path)
    rig.process(("a", "set", domain, 10), ("b", "set", domain, 10), ("c", "set", domain, 10))
    rig.next_batch()
    rig.process(
        ("a", "delete", domain, 10), ("b", "delete", domain, 11), ("c", "delete", other, 10), ("d", "delete", domain, 1)
    )
    advance(rig, domain, 50)
    assert sorted(rig.values()) == [("b", 10, domain), ("c", 10, domain)]


def test_domains_do_not_fire_each_other(tmp_path: Path) -> None:
    rig = commands(tmp_path)
    rig.process(("a", "set", TimeDomain.PROCESSING_TIME, 10))
    rig.watermark(1_000)
    assert rig.values() == []
    assert rig.finish().entry.deadline == 10


def test_event_timers_at_or_before_the_watermark_fire_with_the_next_one(tmp_path: Path) -> None:
    rig = commands(tmp_path)
    rig.watermark(100)
    rig.process(("a", "set", TimeDomain.EVENT_TIME, 50))
    assert rig.values() == []
    rig.watermark(101)
    assert rig.values() == [("a", 50, TimeDomain.EVENT_TIME)]


def test_the_deadline_is_the_earliest_processing_timer(tmp_path: Path) -> None:
    rig = commands(tmp_path)
    timers = [("a", "set", TimeDomain.PROCESSING_TIME, time) for time in (30, 10, 20)]
    rig.process(*timers)
    assert rig.finish().entry.deadline == 10
    rig.set_clock(10)
    assert rig.finish().entry.deadline == 20
    rig.set_clock(99)
    assert rig.finish().entry.deadline is None
    assert [time for _, time, _ in rig.values()] == [10, 20, 30]


def test_processing_timers_do_not_fire_after_the_end(tmp_path: Path) -> None:
    rig = commands(tmp_path)
    rig.process(("a", "set", TimeDomain.PROCESSING_TIME, 10), ("a", "set", TimeDomain.EVENT_TIME, 77))
    rig.end()
    rig.clock.now_ms = 1_000
    report = rig.finish()
    assert rig.values() == [("a", 77, TimeDomain.EVENT_TIME)]
    assert report.entry.deadline is None
    assert (report.entry.has_ended, report.entry.watermark) == (True, MAX_WATERMARK)


def test_a_batch_that_ends_lets_due_processing_timers_fire(tmp_path: Path) -> None:
    rig = commands(tmp_path)
    rig.process(("a", "set", TimeDomain.PROCESSING_TIME, 10))
    rig.clock.now_ms = 10
    rig.finish()
    assert rig.values() == [("a", 10, TimeDomain.PROCESSING_TIME)]


def test_results_of_timers_carry_event_time_only(tmp_path: Path) -> None:
    rig = commands(tmp_path)
    rig.process(("a", "set", TimeDomain.EVENT_TIME, 5), ("a", "set", TimeDomain.PROCESSING_TIME, 6))
    rig.watermark(7)
    rig.set_clock(7)
    assert [stamp for _, stamp in rig.records()] == [5, None]


def test_results_of_timers_come_before_the_watermark(tmp_path: Path) -> None:
    rig = commands(tmp_path)
    rig.process(("a", "set", TimeDomain.EVENT_TIME, 5))
    rig.watermark(7)
    assert [event[0] for event in rig.take()] == [("a", 5, TimeDomain.EVENT_TIME), "watermark"]


class Chain(KeyedProcessFunction):
    """A timer sets the next one, and takes away that of another time."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(10)
        ctx.timer_service().register_event_time_timer(15)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield timestamp
        service = ctx.timer_service()
        if timestamp == 10:
            service.delete_event_time_timer(15)
            service.register_event_time_timer(12)
            service.register_event_time_timer(5)  # in the past: still fires with this watermark
            service.register_event_time_timer(40)


def test_timers_set_and_deleted_by_timers_take_part_at_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, KeyedProcessOperator(Chain()), key=key_of)
    rig.process(("a",))
    rig.watermark(20)
    assert rig.values() == [10, 5, 12]
    rig.next_batch()
    rig.watermark(39)
    assert rig.values() == []
    rig.watermark(40)
    assert rig.values() == [40]


class TimerByCollector(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: Any, out: Any) -> None:  # type: ignore[override]
        out.collect(timestamp)
        ctx.output(LATE, -timestamp)


def test_on_timer_takes_a_collector_and_side_outputs(tmp_path: Path) -> None:
    rig = Rig(tmp_path, KeyedProcessOperator(TimerByCollector()), key=key_of, tags=["late"])
    rig.process(("a", 3))
    rig.watermark(3)
    assert rig.records() == [(3, 3)]
    assert rig.take("late")[0] == (-3, 3)


def test_a_function_without_on_timer_lets_timers_pass(tmp_path: Path) -> None:
    def only_elements(value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)

    rig = Rig(tmp_path, KeyedProcessOperator(only_elements), key=key_of)
    rig.process(("a",))
    rig.watermark(5)
    assert rig.take() == [("watermark", 5)]


@pytest.mark.parametrize("timestamp", ["5", 1.5, None])
def test_a_timer_at_no_whole_millisecond_is_refused(tmp_path: Path, timestamp: Any) -> None:
    rig = commands(tmp_path)
    with pytest.raises(OperatorFailure, match="whole number of milliseconds"):
        rig.process(("a", "set", TimeDomain.EVENT_TIME, timestamp))


class FailingTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[int]:
        ctx.timer_service().register_event_time_timer(7)
        yield 1 // value[1]

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield 1
        raise LookupError("gone")


def test_a_failing_timer_names_domain_key_and_time(tmp_path: Path) -> None:
    rig = Rig(tmp_path, KeyedProcessOperator(FailingTimer()), key=key_of)
    rig.process(("a", 1))
    rig.take()
    with pytest.raises(OperatorFailure, match=r"gone[\s\S]*in the event_time timer of key 'a' at 7"):
        rig.watermark(7)
    assert rig.take() == []


def test_a_failing_element_names_the_record(tmp_path: Path) -> None:
    rig = Rig(tmp_path, KeyedProcessOperator(FailingTimer()), key=key_of)
    with pytest.raises(OperatorFailure, match=r"ZeroDivisionError[\s\S]*record: \('b', 0\)"):
        rig.process(("a", 1), ("b", 0), ("c", 1))


def test_a_failed_batch_leaves_nothing_behind(tmp_path: Path) -> None:
    rig = Rig(tmp_path, KeyedProcessOperator(EveryState()), key=key_of)
    rig.process(("a", 1))
    rig.next_batch()
    rig.take()
    rig.process(("a", 2))
    rig.abort()
    rig.process(("a", 3))
    assert rig.values()[-1] == ("a", 3, [1, 3], {1: 1, 3: 1}, 4, 4)


class Late(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        is_late = ctx.timestamp() <= ctx.timer_service().current_watermark()
        yield (LATE, value) if is_late else value


def test_lateness_is_seen_against_the_operators_watermark_also_in_another_process(tmp_path: Path) -> None:
    rig = Rig(tmp_path, KeyedProcessOperator(Late()), key=key_of, tags=["late"])
    rig.process(("a", MIN_WATERMARK + 1), at=MIN_WATERMARK + 1)
    rig.watermark(100)
    rig.next_batch()
    rig.process(("a", 100), ("b", 101), at=[100, 101])
    assert rig.values() == [("a", MIN_WATERMARK + 1), ("b", 101)]
    assert rig.values("late") == [("a", 100)]


class EveryState(KeyedProcessFunction):
    """All five kinds of keyed state, told after each element."""

    def open(self, runtime_context: RuntimeContext) -> None:
        context = runtime_context
        self.last = context.get_state(ValueStateDescriptor("last", None))
        self.all = context.get_list_state(ListStateDescriptor("all", None))
        self.counts = context.get_map_state(MapStateDescriptor("counts", None, None))
        self.sum = context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, None))
        self.aggregate = context.get_aggregating_state(AggregatingStateDescriptor("aggregate", Adding(), None))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        number = value[1]
        self.last.update(number)
        self.all.add(number)
        self.counts.put(number, (self.counts.get(number) or 0) + 1)
        self.sum.add(number)
        self.aggregate.add(number)
        yield (
            ctx.get_current_key(), self.last.value(), list(self.all.get()), dict(self.counts.items()),
            self.sum.get(), self.aggregate.get(),
        )  # fmt: skip


class Adding(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, first: int, second: int) -> int:
        return first + second


def every_state_model(values: list[tuple[str, int]]) -> list[Any]:
    seen: dict[str, list[int]] = {}
    told = []
    for key, number in values:
        numbers = seen.setdefault(key, [])
        numbers.append(number)
        counts = {each: numbers.count(each) for each in numbers}
        told.append((key, number, list(numbers), counts, sum(numbers), sum(numbers)))
    return told


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=15),
    cuts=st.lists(st.sampled_from(["block", "batch", "process"]), min_size=15, max_size=15),
)
def test_all_kinds_of_state_last_over_batches_and_processes(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, int]], cuts: list[str]
) -> None:
    rig = Rig(tmp_path_factory.mktemp("state"), KeyedProcessOperator(EveryState()), key=key_of)
    told = []
    for value, cut in zip(values, cuts, strict=False):
        rig.process(value)
        told += rig.values()
        if cut == "batch":
            rig.finish()
        elif cut == "process":
            rig.next_batch()
    assert told == every_state_model(values)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["set", "delete"]), st.sampled_from("ab"), st.integers(0, 12)),
            st.tuples(st.just("advance"), st.integers(0, 12)),
            st.tuples(st.sampled_from(["batch", "process"])),
        ),
        max_size=20,
    ),
    domain=st.sampled_from(DOMAINS),
)
def test_timers_agree_with_a_plain_model(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]], domain: TimeDomain
) -> None:
    rig = commands(tmp_path_factory.mktemp("timers"))
    rig.clock.now_ms = -1
    model: set[tuple[int, str]] = set()
    now = -1
    for step in steps:
        if step[0] in ("set", "delete"):
            verb, key, time = step
            # Processing time also looks at its timers after each block; this model keeps to timers of the future.
            time = now + 1 + time
            rig.process((key, verb, domain, time))
            (model.add if verb == "set" else model.discard)((time, key))
        elif step[0] == "advance":
            now = max(now, step[1])
            advance(rig, domain, now)
            due = sorted(timer for timer in model if timer[0] <= now)
            model.difference_update(due)
            fired = [(time, key) for key, time, _ in rig.values()]
            assert [time for time, _ in fired] == [time for time, _ in due]
            assert sorted(fired) == due
        else:
            rig.next_batch() if step[0] == "process" else rig.finish()
            assert rig.values() == []
