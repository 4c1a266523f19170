"""However the input is cut into batches, dealt out, moved between processes and run again: the results are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.data_stream import DataStream
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.job import InProcessJob
from penstock.testing import CollectSink
from tests.unit.runtime import cut_program

TRADES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, cut_program.DISORDER), st.integers(0, 9)), max_size=25
).map(cut_program.trades)


Results = dict[str, list[Any]]


def configured(**keys: int) -> Configuration:
    configuration = Configuration()
    names = {"pace": "pipeline.watermark-every-records", "batch": "penstock.batch.max-records"}
    for key, value in keys.items():
        configuration.set_string(names[key], str(value))
    return configuration


def executed(environment: StreamExecutionEnvironment, streams: dict[str, DataStream]) -> tuple[Results, InProcessJob]:
    sinks = {name: CollectSink() for name in streams}
    for name, stream in streams.items():
        stream.add_sink(sinks[name])
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    client.wait()
    return {name: sink.results for name, sink in sinks.items()}, client.job


@settings(max_examples=20)
@given(
    values=TRADES,
    size=st.integers(1, 20),
    parallelism=st.integers(1, 4),
    pace=st.integers(1, 10),
    seed=st.integers(0, 2**32),
    is_on_disk=st.booleans(),
)
def test_results_do_not_depend_on_cuts_parallelism_or_processes(
    values: list[cut_program.Trade],
    size: int,
    parallelism: int,
    pace: int,
    seed: int,
    is_on_disk: bool,
) -> None:
    environment = StreamExecutionEnvironment.in_process(
        seed, crash_rate=0.03, state="lmdb" if is_on_disk else "memory", configuration=configured(pace=pace)
    )
    environment.set_parallelism(parallelism)
    results, _ = executed(environment, cut_program.build(environment, values, size))
    for name, records in cut_program.expected(values, size).items():
        assert Counter(results[name]) == records, name
    check_busiest(results)


def check_busiest(results: Results) -> None:
    """A second keyed step behind timers: its last word per window is the window with most."""
    most: dict[int, Any] = {}
    for window in results["windows"]:
        most[window[1]] = max(most.get(window[1], window), window, key=lambda each: (each[2], each[0]))
    assert set(most.values()) <= set(results["busiest"])
    assert len(results["busiest"]) == len(results["windows"])


def test_one_batch_and_many_give_the_same() -> None:
    values = cut_program.trades([("abc"[n % 3], n % 7, n) for n in range(40)])
    runs = []
    for batch in (1_000, 1):
        environment = StreamExecutionEnvironment.in_process(configuration=configured(pace=5, batch=batch))
        environment.set_parallelism(1)
        runs.append(executed(environment, cut_program.build(environment, values, 30)))
    (one, one_job), (many, many_job) = runs
    assert (one_job.batches, many_job.batches) == (1, 40)
    for name in ("windows", "late", "odd"):
        assert Counter(one[name]) == Counter(many[name])
    assert one["rolling"] == many["rolling"], "one source and one subtask: also in order"


class Lateness(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield value


class OddAside(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (OutputTag("odd"), value) if value % 2 else value


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("way", ["main and side output", "operator and the one before", "stream with itself"])
def test_a_union_of_two_edges_of_one_vertex_makes_nothing_late(way: str, parallelism: int) -> None:
    environment = StreamExecutionEnvironment.in_process(1, configuration=configured(pace=5))
    environment.set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    stream = environment.from_sequence(0, 39).assign_timestamps_and_watermarks(strategy)
    split = stream.process(OddAside())
    united = {
        "main and side output": lambda: split.union(split.get_side_output(OutputTag("odd"))),
        "operator and the one before": lambda: stream.union(split),
        "stream with itself": lambda: stream.union(stream),
    }[way]()
    late = united.key_by(lambda value: value % 5).process(Lateness())
    assert executed(environment, {"late": late})[0] == {"late": []}


class TimerOnFinals(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key()


@pytest.mark.parametrize("parallelism", [1, 2])
def test_in_batch_mode_finals_come_once_and_timers_behind_them_fire(parallelism: int) -> None:
    environment = StreamExecutionEnvironment.in_process(1)
    environment.set_parallelism(parallelism).set_runtime_mode(RuntimeExecutionMode.BATCH)
    pairs = environment.from_sequence(1, 20).map(lambda number: (number % 3, number))
    finals = pairs.key_by(lambda value: value[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    timers = finals.key_by(lambda value: value[0]).process(TimerOnFinals())
    results, _ = executed(environment, {"finals": finals, "timers": timers})
    assert sorted(results["finals"]) == [(0, 63), (1, 70), (2, 77)]
    assert sorted(results["timers"]) == [0, 1, 2]
