"""map, flat_map, filter and process on one subtask: results, timestamps, styles of functions, what passes untouched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK
from penstock.datastream import OutputTag
from penstock.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import StateError
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import FilterOperator, FlatMapOperator, MapOperator, ProcessOperator, StreamOperator
from tests.unit.runtime.rig import Rig

ODD = OutputTag("odd")


class Double(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.factor = 2

    def map(self, value: int) -> int:
        return value * self.factor


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class Twice(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[int]:
        yield value
        yield value


class TwiceByCollector(FlatMapFunction):
    def flat_map(self, value: int, out: Any) -> None:  # type: ignore[override]
        out.collect(value)
        out.collect(value)


def twice_both_ways(value: int, out: Any) -> Iterator[int]:
    out.collect(value)
    yield value


@pytest.mark.parametrize("function", [Double(), lambda value: value * 2], ids=["class", "lambda"])
def test_map_gives_one_result_for_each_record_with_its_timestamp(tmp_path: Path, function: Any) -> None:
    rig = Rig(tmp_path, MapOperator(function))
    rig.process(1, 2, at=[10, 20])
    assert rig.take() == [(2, 10), (4, 20)]


@pytest.mark.parametrize("function", [Even(), lambda value: value % 2 == 0], ids=["class", "lambda"])
def test_filter_keeps_records_with_their_timestamps(tmp_path: Path, function: Any) -> None:
    rig = Rig(tmp_path, FilterOperator(function))
    rig.process(1, 2, 3, 4, at=[10, 20, 30, 40])
    assert rig.take() == [(2, 20), (4, 40)]


@pytest.mark.parametrize(
    "function",
    [Twice(), TwiceByCollector(), lambda value: [value, value], lambda value: iter((value, value)), twice_both_ways],
    ids=["yield", "collector", "list", "iterator", "both"],
)
def test_flat_map_takes_every_style_and_keeps_timestamps(tmp_path: Path, function: Any) -> None:
    rig = Rig(tmp_path, FlatMapOperator(function))
    rig.process(1, 2, 3, at=[10, None, 30])
    assert rig.take() == [(1, 10), (1, 10), (2, None), (2, None), (3, 30), (3, 30)]


def test_flat_map_may_return_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FlatMapOperator(lambda value: None if value == 1 else []))
    rig.process(1, 2)
    assert rig.take() == []


class Split(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (ODD, value) if value % 2 else (value, ctx.timestamp())


class SplitByContext(ProcessFunction):
    def process_element(self, value: int, ctx: Any, out: Any) -> None:  # type: ignore[override]
        if value % 2:
            ctx.output(ODD, value)
        else:
            out.collect((value, ctx.timestamp()))


@pytest.mark.parametrize("function", [Split(), SplitByContext()], ids=["yield", "collector"])
def test_process_sends_to_main_and_side_outputs(tmp_path: Path, function: Any) -> None:
    rig = Rig(tmp_path, ProcessOperator(function), tags=["odd"])
    rig.process(1, 2, 3, at=[10, 20, 30])
    assert rig.take() == [((2, 20), 20)]
    assert rig.take("odd") == [(1, 10), (3, 30)]


def test_a_side_output_without_reader_is_dropped_and_counted(tmp_path: Path) -> None:
    rig = Rig(tmp_path, ProcessOperator(Split()))
    rig.process(1, 2, 3)
    assert rig.values() == [(2, None)]
    figures = rig.finish().metrics["uid-0"]
    assert (figures["records_in"], figures["records_out"], figures["side_records_out"]) == (3, 1, 2)


def test_counters_are_those_of_the_batch(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str), FlatMapOperator(lambda value: [value] * 3))
    rig.process(1, 2)
    first = rig.finish().metrics
    rig.process(3)
    second = rig.finish().metrics
    assert [first[uid]["records_in"] for uid in ("uid-0", "uid-1")] == [2, 2]
    assert [second[uid]["records_in"] for uid in ("uid-0", "uid-1")] == [1, 1]
    assert second["uid-1"]["records_out"] == 3


def test_a_tuple_of_two_is_no_side_output(tmp_path: Path) -> None:
    rig = Rig(tmp_path, FlatMapOperator(lambda value: [("odd", value)]), tags=["odd"])
    rig.process(1)
    assert rig.take() == [(("odd", 1), None)]
    assert rig.take("odd") == []


@pytest.mark.parametrize(
    "operator",
    [MapOperator(str), FilterOperator(bool), FlatMapOperator(Twice()), ProcessOperator(Split())],
    ids=lambda operator: type(operator).__name__,
)
def test_watermarks_status_and_end_pass_once_and_in_order(tmp_path: Path, operator: StreamOperator) -> None:
    rig = Rig(tmp_path, operator)
    rig.watermark(5)
    rig.watermark(4)
    rig.idle()
    rig.idle()
    rig.idle(is_idle=False)
    rig.watermark(7)
    rig.end()
    assert rig.take() == [
        ("watermark", 5), ("idle",), ("active",), ("watermark", 7), ("watermark", MAX_WATERMARK), ("end",)
    ]  # fmt: skip
    assert rig.finish().entry.has_ended


def test_records_come_before_the_watermark_that_followed_them(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str), FlatMapOperator(lambda value: [value]))
    rig.process(1, at=1)
    rig.watermark(1)
    rig.process(2, at=2)
    rig.watermark(2)
    assert rig.take() == [("1", 1), ("watermark", 1), ("2", 2), ("watermark", 2)]


@pytest.mark.parametrize(
    ("operator", "argument"),
    [
        (MapOperator(lambda value: 1 // value), "processing a record"),
        (FilterOperator(lambda value: 1 // value), "processing a record"),
        (FlatMapOperator(lambda value: [1 // value]), "processing a record"),
        (FlatMapOperator(lambda value: (1 // v for v in [value])), "processing a record"),
        (ProcessOperator(lambda value, ctx: [1 // value]), "processing a record"),
        (ProcessOperator(lambda value, ctx: (1 // v for v in [value])), "processing a record"),
    ],
    ids=["map", "filter", "flat_map", "lazy flat_map", "process", "lazy process"],
)
def test_a_failure_names_operator_and_record(tmp_path: Path, operator: StreamOperator, argument: str) -> None:
    rig = Rig(tmp_path, MapOperator(lambda value: value), operator)
    with pytest.raises(OperatorFailure) as failure:
        rig.process(3, 2, 0, 1)
    text = str(failure.value)
    assert text.splitlines()[0] == "Traceback (most recent call last):"
    assert Path(__file__).name in text.splitlines()[1], "the user's own code comes first"
    assert "ZeroDivisionError" in text
    assert f"in operator 'operator-1' (uid 'uid-1', subtask 0), {argument}\nrecord: 0" in text
    assert rig.take() == []


@pytest.mark.parametrize(
    ("operator", "what"),
    [
        (FlatMapOperator(lambda value: value), "flat_map returned a int"),
        (ProcessOperator(lambda value, ctx: value), "process_element returned a int"),
    ],
    ids=["flat_map", "process"],
)
def test_a_result_that_is_no_iterable_is_refused(tmp_path: Path, operator: StreamOperator, what: str) -> None:
    rig = Rig(tmp_path, operator)
    with pytest.raises(OperatorFailure, match=what):
        rig.process(1)


def test_failures_in_open_name_the_operator(tmp_path: Path) -> None:
    class Broken(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise ValueError("no such model")

        def map(self, value: int) -> int:
            return value

    with pytest.raises(OperatorFailure, match=r"no such model[\s\S]*in operator 'operator-0'.*in open\(\)"):
        Rig(tmp_path, MapOperator(Broken()))


def test_keyed_state_on_a_plain_stream_says_what_to_do(tmp_path: Path) -> None:
    class Stateful(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("n", None))

        def map(self, value: int) -> int:
            return value

    with pytest.raises(OperatorFailure, match="call key_by"):
        Rig(tmp_path, MapOperator(Stateful()))


def timer_on_a_plain_stream(value: int, ctx: Any) -> None:
    ctx.timer_service().register_event_time_timer(1)


def key_on_a_plain_stream(value: int, ctx: Any) -> None:
    ctx.get_current_key()


@pytest.mark.parametrize("function", [timer_on_a_plain_stream, key_on_a_plain_stream])
def test_timers_and_keys_on_a_plain_stream_are_refused(tmp_path: Path, function: Callable[..., None]) -> None:
    rig = Rig(tmp_path, ProcessOperator(function))
    with pytest.raises(OperatorFailure, match=StateError.__name__):
        rig.process(1)


class CountingMap(MapFunction):
    """A map on a keyed stream may use keyed state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", None))

    def map(self, value: str) -> tuple[str, int]:
        self.seen.update((self.seen.value() or 0) + 1)
        return value, self.seen.value()


def test_functions_on_a_keyed_stream_have_state_by_key(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(CountingMap(), True), key=lambda value: value)
    rig.process("a", "b", "a")
    rig.next_batch()
    rig.process("a", "b")
    assert rig.values() == [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]


def test_a_plain_operator_on_a_keyed_edge_ignores_the_keys(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str), key=lambda value: value)
    rig.process(1, 2)
    assert rig.values() == ["1", "2"]


def test_close_reaches_every_function(tmp_path: Path) -> None:
    closed: list[str] = []

    class Closing(MapFunction):
        def map(self, value: int) -> int:
            return value

        def close(self) -> None:
            closed.append("closed")

    rig = Rig(tmp_path, MapOperator(str), MapOperator(str))
    operators = [chained.operator for chained in rig.subtask.vertex.operators[:2]]
    for operator in operators:
        operator.function = Closing()
    rig.subtask.close()
    assert closed == ["closed", "closed"]


def test_the_context_of_open_tells_who_the_function_is(tmp_path: Path) -> None:
    class Who(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            context = runtime_context
            self.text = (
                context.get_task_name_with_subtasks(),
                context.get_index_of_this_subtask(),
                context.get_number_of_parallel_subtasks(),
                context.get_max_number_of_parallel_subtasks(),
                context.get_attempt_number(),
                context.get_job_parameter("colour", "none"),
                context.get_job_parameter("size", "none"),
            )

        def map(self, value: int) -> Any:
            return self.text

    rig = Rig(tmp_path, MapOperator(Who()), job_parameters={"colour": "red"})
    rig.process(1)
    assert rig.values() == [("operator-0 (1/1)", 0, 1, 128, 0, "red", "none")]
