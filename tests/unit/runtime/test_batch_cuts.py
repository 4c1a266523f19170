"""However the input is cut into batches, dealt out, moved between processes and run again: the results are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, StreamExecutionEnvironment
from tests.unit.runtime import cut_program
from tests.unit.runtime.executor import InProcessJob, random_cuts, whole

TRADES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, cut_program.DISORDER), st.integers(0, 9)), max_size=25
).map(cut_program.trades)


def compared(path: Path, values: list[cut_program.Trade], size: int, cuts: Any, **settings: Any) -> InProcessJob:
    environment = StreamExecutionEnvironment.get_execution_environment()
    for name, stream in cut_program.build(environment, values, size).items():
        stream.print().name(name)
    return InProcessJob(environment, path, **settings).run(cuts)


def counted(job: InProcessJob) -> dict[str, Counter[Any]]:
    return {name.removeprefix("Sink: "): Counter(values) for name, values in job.driver.items()}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=TRADES,
    size=st.integers(1, 20),
    parallelism=st.integers(1, 4),
    pace=st.integers(1, 10),
    seed=st.integers(0, 2**32),
    is_on_disk=st.booleans(),
)
def test_results_do_not_depend_on_cuts_parallelism_or_processes(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[cut_program.Trade],
    size: int,
    parallelism: int,
    pace: int,
    seed: int,
    is_on_disk: bool,
) -> None:
    path = tmp_path_factory.mktemp("cuts")
    job = compared(
        path,
        values,
        size,
        random_cuts(seed),
        parallelism=parallelism,
        seed=seed,
        watermark_every_records=pace,
        is_on_disk=is_on_disk,
    )
    found = counted(job)
    for name, records in cut_program.expected(values, size).items():
        assert found[name] == records, name
    check_busiest(job)


def check_busiest(job: InProcessJob) -> None:
    """A second keyed step behind timers: its last word per window is the window with most."""
    most: dict[int, Any] = {}
    for window in job.driver["Sink: windows"]:
        most[window[1]] = max(most.get(window[1], window), window, key=lambda each: (each[2], each[0]))
    found = Counter(job.driver["Sink: busiest"])
    assert set(most.values()) <= set(found)
    assert sum(found.values()) == len(job.driver["Sink: windows"])


def test_one_batch_and_many_give_the_same(tmp_path: Path) -> None:
    values = cut_program.trades([("abc"[n % 3], n % 7, n) for n in range(40)])
    one = compared(tmp_path / "one", values, 30, whole)
    many = compared(tmp_path / "many", values, 30, lambda left: min(left, 1))
    assert (one.batches, many.batches) == (1, 40)
    assert {k: v for k, v in counted(one).items() if k != "busiest"} == {
        k: v for k, v in counted(many).items() if k != "busiest"
    }
    assert one.driver["Sink: rolling"] == many.driver["Sink: rolling"], "one source and one subtask: also in order"


class Lateness(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield value


class OddAside(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (OutputTag("odd"), value) if value % 2 else value


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("way", ["main and side output", "operator and the one before", "stream with itself"])
def test_a_union_of_two_edges_of_one_vertex_makes_nothing_late(tmp_path: Path, way: str, parallelism: int) -> None:
    environment = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    stream = environment.from_sequence(0, 39).assign_timestamps_and_watermarks(strategy)
    split = stream.process(OddAside())
    united = {
        "main and side output": lambda: split.union(split.get_side_output(OutputTag("odd"))),
        "operator and the one before": lambda: stream.union(split),
        "stream with itself": lambda: stream.union(stream),
    }[way]()
    united.key_by(lambda value: value % 5).process(Lateness()).print()
    job = InProcessJob(environment, tmp_path, parallelism=parallelism).run(random_cuts(1))
    assert sum(job.driver.values(), []) == []  # noqa: RUF017


class TimerOnFinals(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key()


@pytest.mark.parametrize("parallelism", [1, 2])
def test_in_batch_mode_finals_come_once_and_timers_behind_them_fire(tmp_path: Path, parallelism: int) -> None:
    environment = StreamExecutionEnvironment.get_execution_environment()
    pairs = environment.from_sequence(1, 20).map(lambda number: (number % 3, number))
    finals = pairs.key_by(lambda value: value[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    finals.print().name("finals")
    finals.key_by(lambda value: value[0]).process(TimerOnFinals()).print().name("timers")
    job = InProcessJob(environment, tmp_path, parallelism=parallelism, seed=1, is_batch_mode=True).run(random_cuts(2))
    assert sorted(job.driver["Sink: finals"]) == [(0, 63), (1, 70), (2, 77)]
    assert sorted(job.driver["Sink: timers"]) == [0, 1, 2]
