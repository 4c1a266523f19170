"""The three small tasks of CONTRIBUTING.md: the files they name are there, and what they make needs nothing else.

Trigger, sink and metric are made here, outside of the package, by its public contracts alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.sink import Sink, SinkContext, SinkWriter
from penstock.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TimeWindow, Trigger, TriggerResult, TumblingEventTimeWindows
from penstock.metrics import Counter

ROOT = Path(__file__).parents[2]
TASK = re.compile(r"^\| (Add an? [^|]+) \| (.+) \|$", re.MULTILINE)
FILE = re.compile(r"`([\w./<>]+\.(?:py|md))`( \(new\))?")
MOST_FILES = 4


class FirstElementTrigger(Trigger[Any, TimeWindow]):
    """Fires as soon as a window has an element, and once more when the watermark passes its end."""

    SEEN = ValueStateDescriptor("first-element-seen", Types.BOOLEAN())

    def on_element(self, element: Any, timestamp: int | None, window: TimeWindow, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        seen = ctx.get_partitioned_state(self.SEEN)
        if seen.value():
            return TriggerResult.CONTINUE
        seen.update(True)
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        """The windows of this trigger do not merge."""

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        ctx.get_partitioned_state(self.SEEN).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


class CountingSink(Sink):
    """Keeps nothing of the records but how many there were."""

    def create_writer(self, context: SinkContext) -> SinkWriter:
        return CountingWriter(context.metrics.counter("counted"))


class CountingWriter(SinkWriter):
    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def begin(self, version: int, attempt: str, state: Any) -> None:
        """Nothing to begin."""

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        self._counter.inc(len(values))

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        return []


class Checked(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.odd = runtime_context.get_metrics_group().counter("odd")

    def map(self, value: int) -> int:
        self.odd.inc(value % 2)
        return value


def tasks() -> dict[str, list[tuple[str, bool]]]:
    """The files of each task, and whether they are new."""
    rows = TASK.findall((ROOT / "CONTRIBUTING.md").read_text())
    return {name: [(path, bool(new)) for path, new in FILE.findall(files)] for name, files in rows}


def test_three_tasks_are_written_down() -> None:
    assert list(tasks()) == ["Add a window trigger", "Add a sink", "Add a metric"]


@pytest.mark.parametrize("name", tasks())
def test_a_task_touches_few_files_which_are_there(name: str) -> None:
    files = tasks()[name]
    assert 3 <= len(files) <= MOST_FILES
    for path, is_new in files:
        place = (ROOT / path).parent if is_new else ROOT / path
        assert place.exists(), path


def test_a_trigger_needs_nothing_but_its_class() -> None:
    environment = StreamExecutionEnvironment.in_process()
    strategy: Any = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    numbers = environment.from_collection([1, 3, 4, 12]).assign_timestamps_and_watermarks(strategy)
    windows = numbers.key_by(lambda value: 0).window(TumblingEventTimeWindows.of(10))
    sums = windows.trigger(FirstElementTrigger()).reduce(lambda first, second: first + second)
    assert sorted(sums.execute_and_collect()) == [1, 8, 12, 12]


def test_a_sink_and_a_metric_need_nothing_but_their_classes() -> None:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    environment = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    environment.from_sequence(1, 7).map(Checked()).name("check").sink_to(CountingSink()).name("counts")
    client: Any = environment.execute_async("count")
    client.wait()
    assert client.metrics()["counts"]["counted"] == 7
    assert client.metrics()["check"]["odd"] == 4
