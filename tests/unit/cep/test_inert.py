"""Events that no partial match minds: leaving them out changes nothing, and they are left out where they can be."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction, SimpleCondition
from penstock.common import WatermarkStrategy
from penstock.common.watermark_strategy import WatermarkGenerator
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.expressions import col
from penstock.runtime.columns import ColumnBlock
from penstock.runtime.operators.cep.inert import InertEventFilter, inert_answers, inert_events
from penstock.testing import OperatorHarness
from tests.conformance.cep.notation import pattern_of
from tests.unit.cep import brute_force, drawn
from tests.unit.cep.core import Core, matcher_of
from tests.unit.cep.test_matcher import cases

Kept = list[tuple[str, int]]


def is_(letter: str) -> Any:
    return col(0) == letter


def without_inert_events(pattern: Pattern, events: list[Any]) -> Kept:
    """What is left if all conditions tell."""
    matcher = matcher_of(pattern)
    tests = [test.call for test in matcher._tests]
    is_ordered = pattern.get_after_match_skip_strategy().is_skip_strategy()
    is_inert = inert_answers(matcher.automaton, list(range(len(tests))), is_ordered=is_ordered)

    def answers(event: Any) -> int:
        return sum(bool(test(event)) << place for place, test in enumerate(tests))

    return [event for event in events if not is_inert[answers(event)]]


def found_in(pattern: Pattern, events: list[Any]) -> tuple[list[str], list[str]]:
    """Matches and timeouts as they come out, with their times."""
    core = Core(pattern).play(events)
    return [json.dumps(each) for each in core.matches], [json.dumps(each) for each in core.timeouts]


@pytest.mark.parametrize("name", ["chosen", "groups", "random"])
def test_without_inert_events_the_measured_cases_give_the_same(name: str) -> None:
    left_out = 0
    for case in cases(name):
        if "raises" in case:
            continue
        kept = without_inert_events(pattern_of(case["pattern"], case["skip"]), case["events"])
        left_out += len(case["events"]) - len(kept)
        found = [found_in(pattern_of(case["pattern"], case["skip"]), events) for events in (case["events"], kept)]
        assert found[0] == found[1], case
    assert left_out >= 5


@settings(max_examples=200, deadline=None)
@given(drawn.parts(), drawn.events(size=12), drawn.windows)
def test_without_inert_events_any_pattern_gives_the_same(
    parts: list[brute_force.Part], events: list[Any], window: int | None
) -> None:
    for skip in (AfterMatchSkipStrategy.no_skip(), AfterMatchSkipStrategy.skip_past_last_event()):

        def made(skip: AfterMatchSkipStrategy = skip) -> Pattern:
            pattern: Pattern = brute_force.pattern_of(parts, window, lambda name: Pattern.begin(name, skip))
            return pattern

        assert found_in(made(), events) == found_in(made(), without_inert_events(made(), events))


@pytest.mark.parametrize(
    ("pattern", "inert"),
    [
        ("a followedBy b", "x"),
        ("a followedByAny b within(10)", "x"),
        ("a times(2) followedBy b", "x"),
        ("a followedBy b notFollowedBy c followedBy d", "x"),
        # What breaks a match, or moves a partial match on, is not inert.
        ("a next b", ""),
        ("a notNext b followedBy c", ""),
        ("a+ followedBy b", ""),
        ("a followedBy b optional followedBy c", ""),
        # A match comes out when time passes, at the time of an event.
        ("a notFollowedBy b within(10)", ""),
        # An event of a later element begins nothing, but a partial match may wait for it.
        ("b followedBy a", "x"),
    ],
)
def test_which_events_are_inert(pattern: str, inert: str) -> None:
    events = [(letter, time) for time, letter in enumerate("abcdx")]
    kept = without_inert_events(pattern_of(pattern), events)
    assert "".join(name for name, _ in events if name not in dict(kept)) in (inert, f"c{inert}", f"cd{inert}")


def test_matches_that_wait_for_each_other_need_every_event_only_if_time_ends_them() -> None:
    for text, left in (("a followedBy b", 2), ("a followedBy b within(10)", 3)):
        kept = without_inert_events(pattern_of(text, "skipToNext"), [("a", 1), ("x", 2), ("b", 3)])
        assert len(kept) == left


LIMIT = 3
seen: list[Any] = []


def is_told(event: Any) -> bool:
    return seen.append(event) is None


@pytest.mark.parametrize(
    ("condition", "is_asked"),
    [
        (is_("b"), True),
        (lambda event: event[0] == "b" and event[1] < LIMIT, True),
        (SimpleCondition.of(lambda event: event[0] == "b"), True),
        # What may be told that it is asked, or ask a partial match.
        (is_told, False),
        (SimpleCondition.of(is_told), False),
        (lambda event: is_told(event), False),
        (lambda event, ctx: event[0] == "b", False),
    ],
)
def test_conditions_that_only_compute_are_asked_in_front_of_the_exchange(condition: Any, is_asked: bool) -> None:
    pattern = Pattern.begin("a").where(is_("a")).followed_by("b").where(condition)
    found = inert_events(matcher_of(pattern).automaton, is_ordered=False)
    assert (found is not None) == is_asked
    if found is not None:
        assert found.is_inert == (True, False, False, False)
    with OperatorHarness(filter_of(pattern)) as harness:
        harness.process_elements([(("x", 1), 1), (("b", 2), 2)])
        assert harness.output_values() == ([("b", 2)] if is_asked else [("x", 1), ("b", 2)])
    assert seen == []


def test_expressions_alone_are_asked_where_they_tell() -> None:
    pattern = Pattern.begin("a").where(is_("a")).where(col(1) > 1).followed_by("b").where(is_("b"))
    found = inert_events(matcher_of(pattern).automaton, is_ordered=False)
    assert found is not None
    assert found.is_inert == (True, False, False, False)


def filter_of(pattern: Pattern) -> InertEventFilter:
    return InertEventFilter(matcher_of(pattern).automaton, is_ordered=False)


def test_the_filter_says_the_same_of_columns_and_of_objects() -> None:
    pattern = Pattern.begin("a").where(is_("a")).where(col(1) > 1).followed_by("b").where(is_("b")).or_(is_("c"))
    events = [("a", 1), ("a", 2), ("b", None), ("x", 4), (None, 5), ("c", 6), ("a", None)]
    kept = [("a", 2), ("b", None), ("c", 6)]
    with OperatorHarness(filter_of(pattern)) as harness:
        harness.process_elements([(event, time) for time, event in enumerate(events)])
        # A comparison with null is null, on objects too.
        assert [(record.value, record.timestamp) for record in harness.output()] == [
            (event, events.index(event)) for event in kept
        ]
    letters, numbers = zip(*events, strict=True)
    block = ColumnBlock(pa.RecordBatch.from_pydict({"f0": letters, "f1": numbers}), "tuple")
    with OperatorHarness(filter_of(pattern)) as harness:
        harness._running().head.receive(block, np.arange(len(block)), None)
        assert harness.output_values() == kept


def test_functions_are_asked_of_the_objects_of_columns() -> None:
    pattern = Pattern.begin("a").where(is_("a")).followed_by("b").where(lambda event: event[1] > LIMIT)
    block = ColumnBlock(pa.RecordBatch.from_pydict({"f0": ["a", "x", "x"], "f1": [1, 2, 4]}), "tuple")
    with OperatorHarness(filter_of(pattern)) as harness:
        harness._running().head.receive(block, np.arange(len(block)), None)
        assert harness.output_values() == [("a", 1), ("x", 4)]


class Told(NamedTuple):
    v: int

    @property
    def watched(self) -> int:
        seen.append(self)
        return self.v


def test_events_whose_attributes_run_code_go_on() -> None:
    for condition, left in (
        (lambda event: event.v == 1, [Told(1)]),
        (lambda event: event.watched == 1, [Told(1), Told(2)]),
    ):
        with OperatorHarness(filter_of(Pattern.begin("a").where(condition))) as harness:
            harness.process_elements([(Told(1), 1), (Told(2), 2)])
            assert harness.output_values() == left
    assert seen == []


def test_where_a_condition_cannot_be_asked_everything_goes_on() -> None:
    with OperatorHarness(filter_of(Pattern.begin("a").where(col(0) > 3))) as harness:
        harness.process_elements([((1,), 1), (("text",), 2)])
        assert harness.output_values() == [(1,), ("text",)]


def test_events_that_may_be_late_go_on() -> None:
    pattern = Pattern.begin("a").where(is_("a"))
    with OperatorHarness(filter_of(pattern)) as harness:
        harness.process_watermark(5)
        harness.process_elements([(("x", 5), 5), (("x", 6), 6), (("a", 7), 7)])
        assert harness.output_values() == [("x", 5), ("a", 7)]
    block = ColumnBlock(pa.RecordBatch.from_pydict({"f0": ["x", "x", "a"]}), "tuple")
    with OperatorHarness(filter_of(pattern)) as harness:
        harness.process_watermark(5)
        harness._running().head.receive(block, np.array([5, 6, 7]), None)
        assert harness.output_values() == [("x",), ("a",)]


def test_the_pattern_is_given_events_without_timestamps_to_refuse() -> None:
    with OperatorHarness(filter_of(Pattern.begin("a").where(is_("a")))) as harness:
        harness.process_elements([("x", None)])
        assert harness.output_values() == ["x"]


class AfterEach(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        pass


@pytest.mark.parametrize(
    "is_a", [is_("a"), lambda event: event[0] == "a", lambda event: is_told(event) and event[0] == "a"]
)
def test_late_events_are_counted_whether_they_fit_or_not(is_a: Any) -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(1)
    strategy = WatermarkStrategy.for_generator(AfterEach).with_timestamp_assigner(lambda event, _: event[1])
    events = [("a", 10), ("x", 3), ("a", 4), ("x", 20), ("b", 21)]
    stream = environment.from_collection(events).assign_timestamps_and_watermarks(strategy)
    pattern = Pattern.begin("a").where(is_a).followed_by("b").where(lambda event: event[0] == "b")
    CEP.pattern(stream, pattern).select(lambda match: match["a"]).name("Found").print()
    client = environment.execute_async()
    client.get_job_execution_result().result()
    assert client.metrics()["Found"]["numLateRecordsDropped"] == 2
    seen.clear()


class Times(PatternProcessFunction[Any, Any]):
    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Any:
        yield [event.t for events in match.values() for event in events]


def small_then_large() -> Pattern:
    return Pattern.begin("small").where(col("v") < 2).followed_by("large").where(col("v") > 97).within(500)


def numbers_by_key(environment: StreamExecutionEnvironment) -> Any:
    source = DataGeneratorSource.of_columns(lambda n: {"k": n % 3, "v": n * 7 % 100, "t": n}, 1_000)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("t")
    return environment.from_source(source, strategy, "numbers").key_by("k")


def test_a_job_finds_the_same_with_and_without_the_filter() -> None:
    found = []
    for is_filtered in (True, False):
        environment = StreamExecutionEnvironment.in_process()
        stream = CEP.pattern(numbers_by_key(environment), small_then_large())
        if not is_filtered:
            stream = stream.side_output_late_data(OutputTag("late"))
        matches = stream.process(Times())
        names = [node.name for node in environment.graph.nodes.values()]
        assert ("Pattern (filter)" in names) == is_filtered
        with matches.execute_and_collect() as results:
            found.append(sorted(results))
    assert found[0] == found[1]
    assert len(found[0]) > 5


def test_the_plan_does_not_depend_on_how_conditions_are_written() -> None:
    plans = []
    for is_small, is_large in (
        (col("v") < 2, col("v") > 97),
        (lambda event: event.v < 2, lambda event: is_told(event)),
        (lambda event, ctx: event.v < 2, lambda event: event[1] > 97),
    ):
        environment = StreamExecutionEnvironment.in_process()
        pattern = Pattern.begin("small").where(is_small).followed_by("large").where(is_large).within(500)
        CEP.pattern(numbers_by_key(environment), pattern).process(Times())
        plans.append([node.name for node in environment.graph.nodes.values()])
    assert plans[0] == plans[1] == plans[2]
    assert "Pattern (filter)" in plans[0]


def test_the_clock_sees_every_event() -> None:
    environment = StreamExecutionEnvironment.in_process()
    CEP.pattern(numbers_by_key(environment), small_then_large()).in_processing_time().process(Times())
    assert "Pattern (filter)" not in [node.name for node in environment.graph.nodes.values()]
