"""What a user reads when user code raises, and what is refused before anything runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.errors import ConfigurationError, GraphError, JobFailedError, LikelyMistakeWarning
from tests.spark.conftest import NewEnvironment

HERE = Path(__file__).name


def boom(value: Any, *more: Any) -> Any:
    if value == ("c", 3):
        raise ZeroDivisionError("boom")
    return value


class BadTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(7)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        raise ZeroDivisionError("boom")


class BadOpen(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise ZeroDivisionError("boom")

    def map(self, value: Any) -> Any:
        return value


class BadSink(SinkFunction):
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        boom(value)


class Unencodable:
    """Equal only to itself: no bytes of it could be found again."""


def failing_map(stream: DataStream) -> DataStream:
    return stream.map(boom).uid("the-uid")


def failing_filter(stream: DataStream) -> DataStream:
    return stream.filter(boom).uid("the-uid")


def failing_flat_map(stream: DataStream) -> DataStream:
    return stream.flat_map(lambda value: [boom(value)]).uid("the-uid")


def failing_assigner(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: boom(value)[1])
    return stream.assign_timestamps_and_watermarks(strategy).uid("the-uid")


def failing_key_selector(stream: DataStream) -> DataStream:
    mapped = stream.map(lambda value: value).uid("the-uid")
    return mapped.key_by(lambda value: boom(value)[0]).map(lambda value: value)


def failing_reduce(stream: DataStream) -> DataStream:
    return stream.key_by(lambda value: 1).reduce(lambda left, right: boom(right)).uid("the-uid")


def failing_on_timer(stream: DataStream) -> DataStream:
    return stream.key_by(lambda value: "a").process(BadTimer()).uid("the-uid")


def failing_open(stream: DataStream) -> DataStream:
    return stream.map(BadOpen()).uid("the-uid")


RECORD = "record: ('c', 3)"
FAILING: list[tuple[Callable[[DataStream], DataStream], str, str]] = [
    (failing_map, "Map", RECORD),
    (failing_filter, "Filter", RECORD),
    (failing_flat_map, "Flat Map", RECORD),
    (failing_assigner, "Timestamps/Watermarks", RECORD),
    (failing_key_selector, "Map", RECORD),
    (failing_reduce, "Reduce", RECORD),
    (failing_on_timer, "KEYED PROCESS", "key 'a' at 7"),
    (failing_open, "Map", "in open()"),
]


def failure_of(environment: StreamExecutionEnvironment) -> str:
    with pytest.raises(JobFailedError) as caught:
        environment.execute("the job")
    return str(caught.value)


def check_text(text: str, operator: str, cause: str) -> None:
    assert text.startswith("Traceback (most recent call last):\n"), text
    first_frame = text.splitlines()[1]
    assert HERE in first_frame, text
    assert "ZeroDivisionError: boom" in text
    assert f"in operator '{operator}' (uid 'the-uid', subtask " in text
    assert cause in text
    assert "job 'the job' failed" in text
    assert "py4j" not in text and "JVM" not in text and "org.apache" not in text


@pytest.mark.parametrize(("build", "operator", "cause"), FAILING, ids=[build.__name__ for build, _, _ in FAILING])
def test_failure_begins_with_the_users_traceback_and_names_operator_and_record(
    new_environment: NewEnvironment, build: Callable[[DataStream], DataStream], operator: str, cause: str
) -> None:
    environment = new_environment(1)
    build(environment.from_collection([("a", 1), ("b", 2), ("c", 3), ("d", 4)])).print()
    check_text(failure_of(environment), operator, cause)


def test_failing_sink_names_its_record(new_environment: NewEnvironment) -> None:
    environment = new_environment(2)
    environment.from_collection([("a", 1), ("c", 3)]).add_sink(BadSink()).uid("the-uid")
    check_text(failure_of(environment), "Sink: BadSink", RECORD)


def test_wrong_return_types_are_told_in_a_sentence(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    environment.from_collection([1]).flat_map(lambda value: value).print()
    text = failure_of(environment)
    assert "flat_map returned a int; yield the results or return a list of them" in text
    assert "record: 1" in text


def test_timestamps_must_be_whole_numbers(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: "noon")
    environment.from_collection([1]).assign_timestamps_and_watermarks(strategy).print()
    text = failure_of(environment)
    assert "the timestamp assigner returned 'noon'" in text
    assert "record: 1" in text


def test_record_that_cannot_be_pickled_names_the_operator_that_made_it(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    environment.from_collection([1]).map(lambda value: threading.Lock()).name("locks").print()
    text = failure_of(environment)
    assert "in operator 'locks'" in text
    assert "cannot pickle" in text
    assert "py4j" not in text and "JVM" not in text


def test_partitioner_with_a_bad_target_is_told(new_environment: NewEnvironment) -> None:
    environment = new_environment(2)
    environment.from_collection([1, 2]).partition_custom(lambda key, count: count, lambda value: value).map(
        lambda value: value
    ).print()
    text = failure_of(environment)
    assert "the partitioner returned 2; it must return a number in 0..1" in text
    assert "record: 1" in text


def test_key_that_cannot_be_encoded_fails_with_its_record(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    environment.from_collection([1]).map(lambda value: value).key_by(lambda value: Unencodable()).map(
        lambda value: value
    ).print()
    text = failure_of(environment)
    assert "Unencodable" in text
    assert "record: 1" in text


def test_key_that_cannot_be_encoded_is_refused_before_the_start_behind_a_collection(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    environment = new_environment(1, checkpoint="untouched")
    environment.from_collection([1, 2]).key_by(lambda value: Unencodable()).map(lambda value: value).print()
    with pytest.raises(GraphError, match=r"Collection Source.*record 1.*Unencodable"):
        environment.execute()
    assert not (tmp_path / "untouched").exists()


def test_function_that_cannot_be_pickled_is_refused_at_submit(new_environment: NewEnvironment, tmp_path: Path) -> None:
    lock = threading.Lock()
    environment = new_environment(1, checkpoint="untouched")
    environment.from_collection([1]).map(lambda value: lock).name("locked").print()
    with pytest.raises(GraphError, match=r"operator 'locked'.*cannot be pickled.*open"):
        environment.execute()
    assert not (tmp_path / "untouched").exists()


def test_programs_that_cannot_run_are_refused_before_anything_starts(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    stream = environment.from_collection([1])
    with pytest.raises(GraphError, match="parallelism"):
        stream.map(lambda value: value).set_parallelism(-1)
    with pytest.raises(GraphError, match="unknown type"):
        stream.map(lambda value: value, output_type="int")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="is not of"):
        environment.from_collection(["a"], type_info=Types.INT())

    without_sink = new_environment(1)
    without_sink.from_collection([1]).map(lambda value: value)
    with pytest.warns(LikelyMistakeWarning, match="no sink"):
        without_sink.execute()

    twice = new_environment(1)
    twice.from_collection([1]).map(lambda value: value).uid("same").map(lambda value: value).uid("same").print()
    with pytest.raises(GraphError, match="uid 'same' is used"):
        twice.execute()

    with pytest.raises(ConfigurationError, match=r"penstock\.batch\.max-records"):
        new_environment(1, **{"penstock.batch.max-records": "0"})
