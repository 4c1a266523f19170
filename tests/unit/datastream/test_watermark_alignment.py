"""Aligned sources: who is ahead waits, the state of a backfill stays small, and nobody waits for what never comes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration, Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.generated.sequence import NumberSequence
from penstock.connectors.source import Source
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import MapStateDescriptor
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.clock import ManualClock
from penstock.engine.in_process.job import StalledJob
from penstock.errors import GraphError, LikelyMistakeWarning
from penstock.testing import CollectSink, Cut, Element
from penstock.testing.partitions import ScriptedPartitions

MODES = ("micro-batch", "continuous")
SLOW, FAST = "slow", "fast"
DRIFT_MS = 20_000


class OpenWindows(KeyedProcessFunction):
    """Gives out how many windows of a second are open, and that of the element."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.windows = runtime_context.get_map_state(MapStateDescriptor("w", Types.LONG(), Types.BOOLEAN()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int]]:
        at = ctx.timestamp() or 0
        self.windows.put(at, True)
        ctx.timer_service().register_event_time_timer(at)
        yield len(list(self.windows.keys())), at

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[int, int]]:
        self.windows.remove(timestamp)
        yield from ()


def environment(mode: str = "micro-batch", clock: ManualClock | None = None, **settings: str) -> Any:
    told = {"penstock.execution.mode": mode, "penstock.batch.max-records": "20", **settings}
    made = StreamExecutionEnvironment.in_process(
        configuration=Configuration.from_dict(told), clock=clock or ManualClock(1_000)
    )
    return made.set_parallelism(1)


def aligned(step_ms: int, drift_ms: int | None = DRIFT_MS, idle_ms: int | None = None) -> WatermarkStrategy[Any]:
    strategy: WatermarkStrategy[Any] = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda value, _: value * step_ms)
    if drift_ms is not None:
        strategy = strategy.with_watermark_alignment("backfill", Duration.of_millis(drift_ms))
    return strategy if idle_ms is None else strategy.with_idleness(Duration.of_millis(idle_ms))


def partitions(ends: bool = True, **counts: int) -> ScriptedPartitions:
    return ScriptedPartitions({name: [Element(n) for n in range(count)] for name, count in counts.items()}, ends=ends)


def source(env: Any, made: Source, name: str, strategy: WatermarkStrategy[Any]) -> DataStream[Any]:
    stream: DataStream[Any] = env.from_source(made, strategy, name, Types.LONG()).uid(name)
    return stream


def job(stream: DataStream[Any], sink: CollectSink) -> InProcessJobClient:
    stream.key_by(lambda _: 0).process(OpenWindows()).uid("windows").add_sink(sink).uid("sink")
    client = stream.get_execution_environment().execute_async("aligned")
    assert isinstance(client, InProcessJobClient)
    return client


def positions(client: InProcessJobClient) -> tuple[int, int]:
    """How many records of both sources have been read."""
    figures = client.metrics()
    return int(figures[SLOW].get("records_in", 0)), int(figures[FAST].get("records_in", 0))


def run_until_it_waits(client: InProcessJobClient) -> str:
    with pytest.raises(StalledJob) as stalled:
        while client.run_batch():
            pass
    return str(stalled.value)


def most_open(mode: str, drift_ms: int | None) -> int:
    """Two bounded sources, of which the second has ten times as much time in a record."""
    env, sink = environment(mode), CollectSink()
    slow = source(env, NumberSequence(0, 299), SLOW, aligned(1_000, drift_ms))
    fast = source(env, partitions(p=150, q=150), FAST, aligned(10_000, drift_ms))
    job(slow.union(fast), sink).wait()
    assert len(sink.results) == 600
    return max(count for count, _ in sink.results)


@pytest.mark.parametrize("mode", MODES)
def test_a_backfill_of_skewed_sources_has_bounded_state(mode: str) -> None:
    assert most_open(mode, None) > 120
    assert most_open(mode, DRIFT_MS) < 45


@pytest.mark.parametrize("mode", MODES)
def test_splits_of_one_source_are_aligned(mode: str) -> None:
    env, sink = environment(mode), CollectSink()
    script = {"a": [Element(n) for n in range(200)], "b": [Element(n * 20) for n in range(200)]}
    stream = source(env, ScriptedPartitions(script), SLOW, aligned(1_000))
    job(stream, sink).wait()
    assert len(sink.results) == 400
    assert max(count for count, _ in sink.results) < 45


def test_a_source_that_is_ahead_waits_for_one_without_data_until_that_is_idle() -> None:
    env, sink = environment(), CollectSink()
    slow = source(env, partitions(ends=False, a=5), SLOW, aligned(1_000))
    fast = source(env, partitions(ends=False, b=500), FAST, aligned(1_000))
    client = job(slow.union(fast), sink)
    assert "watermark alignment" in run_until_it_waits(client)
    read = positions(client)
    assert read[0] == 5
    assert 5 < read[1] < 60
    figures = client.metrics()[FAST]
    assert figures["watermarkAlignmentDrift"] == (read[1] - 5) * 1_000
    assert figures["paused_splits"] == 1
    assert client.metrics()[SLOW]["paused_splits"] == 0


@pytest.mark.parametrize("mode", MODES)
def test_idle_splits_are_left_out(mode: str) -> None:
    env, sink = environment(mode), CollectSink()
    slow = source(env, partitions(ends=False, a=5), SLOW, aligned(1_000, idle_ms=5_000))
    fast = source(env, partitions(ends=False, b=500), FAST, aligned(1_000))
    client = job(slow.union(fast), sink)
    run_until_it_waits(client)
    assert positions(client) == (5, 500)


def test_a_paused_split_does_not_become_idle() -> None:
    clock = ManualClock(1_000)
    env, sink = environment(clock=clock), CollectSink()
    slow = source(env, partitions(ends=False, a=5), SLOW, aligned(1_000))
    fast = source(env, partitions(ends=False, b=500), FAST, aligned(1_000, idle_ms=5_000))
    client = job(slow.union(fast), sink)
    for _ in range(40):
        clock.advance(2_000)
        client.run_batch()
    # An idle one would not be counted as paused, nor as ahead.
    assert client.metrics()[FAST]["paused_splits"] == 1
    assert positions(client)[1] < 60


@pytest.mark.parametrize("mode", MODES)
def test_ended_sources_hold_nobody_back(mode: str) -> None:
    env, sink = environment(mode), CollectSink()
    slow = source(env, NumberSequence(0, 4), SLOW, aligned(1_000))
    fast = source(env, partitions(b=500), FAST, aligned(1_000))
    client = job(slow.union(fast), sink)
    client.wait()
    assert positions(client) == (5, 500)


@pytest.mark.parametrize("mode", MODES)
def test_a_drain_does_not_wait_for_paused_sources(mode: str) -> None:
    env, sink = environment(mode), CollectSink()
    slow = source(env, partitions(ends=False, a=5), SLOW, aligned(1_000))
    fast = source(env, partitions(ends=False, b=500), FAST, aligned(1_000))
    client = job(slow.union(fast), sink)
    run_until_it_waits(client)
    client.stop().result()
    assert len(sink.results) == sum(positions(client))


@pytest.mark.parametrize("mode", MODES)
def test_a_restored_job_goes_on_with_the_same_splits_paused(mode: str, tmp_path: Path) -> None:
    def start(slow_count: int, **settings: str) -> InProcessJobClient:
        env = environment(mode, **settings)
        slow = source(env, partitions(ends=False, a=slow_count), SLOW, aligned(1_000))
        return job(slow.union(source(env, partitions(ends=False, b=500), FAST, aligned(1_000))), CollectSink())

    first = start(5)
    run_until_it_waits(first)
    savepoint = first.stop_with_savepoint(False, str(tmp_path)).result()
    second = start(5, **{"execution.savepoint.path": savepoint})
    run_until_it_waits(second)
    assert positions(second) == (0, 0), "what was paused is read after a restore"
    again = second.stop_with_savepoint(False, str(tmp_path)).result()
    third = start(200, **{"execution.savepoint.path": again})
    run_until_it_waits(third)
    slow, fast = positions(third)
    assert slow == 195
    assert 100 < fast < 260


@pytest.mark.parametrize("mode", MODES)
def test_seeded_crashes_change_nothing(seed: int, mode: str) -> None:
    told = Configuration.from_dict({"penstock.batch.max-records": "20", "penstock.execution.mode": mode})
    env = StreamExecutionEnvironment.in_process(seed, crash_rate=0.02, configuration=told).set_parallelism(2)
    sink = CollectSink()
    slow = source(env, NumberSequence(0, 99), SLOW, aligned(1_000))
    fast = source(env, partitions(p=50, q=50, r=10), FAST, aligned(10_000, idle_ms=5_000))
    job(slow.union(fast), sink).wait()
    assert sorted(at for _, at in sink.results) == sorted(
        [n * 1_000 for n in range(100)] + [n * 10_000 for n in (*range(50), *range(50), *range(10))]
    )


def test_cuts_of_a_script_are_batches_still() -> None:
    env, sink = environment(), CollectSink()
    script = [Element(0), Cut(), Element(1), Cut(), Element(2)]
    job(source(env, ScriptedPartitions({"a": script}), SLOW, aligned(1_000)), sink).wait()
    assert [at for _, at in sink.results] == [0, 1_000, 2_000]


def test_alignment_behind_a_source_is_warned_of() -> None:
    stream = environment().from_collection([1, 2], Types.LONG())
    with pytest.warns(LikelyMistakeWarning, match=r"assign_timestamps_and_watermarks.*from_source"):
        stream.assign_timestamps_and_watermarks(aligned(1))


def test_what_spark_reads_cannot_be_aligned() -> None:
    from penstock.connectors.frame_source import FrameSource
    from penstock.graph import compile_plan
    from penstock.job.admission import admit

    env = environment()
    frame = FrameSource(lambda spark: None, bounded=True, row_format="row")
    env.from_source(frame, aligned(1), "frame").print()
    plan = compile_plan(env._planned_graph(), env._settings("x"))
    with pytest.raises(GraphError, match=r"'Source: frame'.*with_watermark_alignment"):
        admit(plan, "STREAMING")
