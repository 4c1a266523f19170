"""Jobs that read scripted partitions in process: cuts, crashes, partitions that turn up later, savepoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.common.time import Duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.generated.collection import CollectionSource
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.output_tag import OutputTag
from penstock.engine.in_process.client import InProcessJobClient
from penstock.errors import CheckpointError, GraphError
from penstock.testing import CollectSink, Cut, Element, ManualClock, ScriptedPartitions
from penstock.testing.script import Script

SLOW = WatermarkStrategy.for_monotonous_timestamps()
NAMES = ("a", "b", "c", "d", "e")
MANY = {name: [Element((name, n), n * 10) for n in range(12)] for name in NAMES}


class Periods(KeyedProcessFunction):
    """Tells, for each key, every record with its timestamp, and every 50 ms of event time that has passed."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() // 50 * 50 + 49)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ("passed", ctx.get_current_key(), timestamp)


def start(
    source: ScriptedPartitions,
    sink: CollectSink,
    *,
    strategy: WatermarkStrategy = SLOW,
    parallelism: int = 2,
    savepoint: str | None = None,
    checkpoint: Path | None = None,
    **options: Any,
) -> InProcessJobClient:
    settings = Configuration()
    if savepoint is not None:
        settings.set_string("execution.state-recovery.path", savepoint)
    environment = StreamExecutionEnvironment.in_process(configuration=settings, **options)
    environment.set_parallelism(parallelism)
    if checkpoint is not None:
        environment.get_checkpoint_config().set_checkpoint_storage_dir(str(checkpoint))
    stream = environment.from_source(source, strategy, "partitions").uid("partitions")
    stream.key_by(lambda value: value[0]).process(Periods()).uid("periods").add_sink(sink)
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    return client


def whole(scripts: dict[str, Script]) -> Counter[Any]:
    """What comes out of a whole run."""
    elements = [item for script in scripts.values() for item in script if isinstance(item, Element)]
    ends = {("passed", item.value[0], (item.timestamp or 0) // 50 * 50 + 49) for item in elements}
    return Counter([item.value for item in elements] + list(ends))


@pytest.mark.parametrize("seed", range(8))
def test_cuts_and_crashes_change_nothing(seed: int) -> None:
    sink = CollectSink()
    client = start(
        ScriptedPartitions(MANY), sink, parallelism=seed % 4 + 1, seed=seed, crash_rate=0.03 if seed % 3 else 0.0
    )
    client.wait()
    assert Counter(sink.results) == whole(MANY)
    for name in NAMES:
        assert [value for value in sink.results if value[0] == name] == [(name, n) for n in range(12)]


def test_a_crash_at_every_step_of_a_run() -> None:
    scripts = {"a": [Element(("a", 1), 5), Cut(), Element(("a", 2), 60)], "b": [Element(("b", 1), 70)]}
    steps, crash = 1, 0
    while crash < steps:
        sink = CollectSink()
        client = start(ScriptedPartitions(scripts), sink, crash_at=(crash,) if crash else ())
        client.wait()
        assert Counter(sink.results) == whole(scripts), f"crash at step {crash}"
        steps = client.job.steps
        crash += 1
    assert crash > 20


def test_a_slow_partition_holds_event_time_and_an_idle_one_does_not() -> None:
    a = [Element(("a", n), n * 50) for n in range(5)]
    scripts = {"a": [*a[:3], Cut(), *a[3:]], "b": [Element(("b", 0), 10), Cut()]}
    for strategy, is_held in ((SLOW, True), (SLOW.with_idleness(Duration.of_seconds(5)), False)):
        sink, clock = CollectSink(), ManualClock()
        client = start(ScriptedPartitions(scripts, ends=False), sink, strategy=strategy, parallelism=1, clock=clock)
        client.run_batch()
        client.run_batch()
        clock.advance(4000)
        client.run_batch()
        assert not any(value[0] == "passed" for value in sink.results)
        if not is_held:
            client.run_batch()
            assert ("passed", "a", 149) in sink.results, "the other partition is idle, this one not yet"
        client.stop()
        assert Counter(sink.results) == whole(scripts)


def test_partitions_of_other_subtasks_hold_event_time_only_where_there_are_some() -> None:
    scripts = {"a": [Element(("a", n), n * 50) for n in range(5)]}
    sink = CollectSink()
    client = start(ScriptedPartitions(scripts, ends=False), sink, parallelism=4)
    client.run_batch()
    client.run_batch()
    assert ("passed", "a", 149) in sink.results
    client.cancel()


def test_a_partition_that_turns_up_later_is_read_from_its_beginning() -> None:
    scripts = {"a": [Element(("a", 0), 10)], "late": [Element(("late", 0), 500), Element(("late", 1), 510)]}
    sink, clock = CollectSink(), ManualClock(1000)
    source = ScriptedPartitions(scripts, ends=False, appears={"late": 60_000})
    client = start(source, sink, clock=clock)
    for _ in range(4):
        client.run_batch()
    assert Counter(value for value in sink.results if value[0] != "passed") == Counter(
        [("a", 0), ("late", 0), ("late", 1)]
    )
    assert clock() >= 61_000
    client.stop()
    assert Counter(sink.results) == whole(scripts)


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 1), (2, 2)])
def test_a_savepoint_goes_on_with_another_parallelism(tmp_path: Path, before: int, after: int) -> None:
    scripts = {name: [*script[:5], Cut(), *script[5:]] for name, script in MANY.items()}
    first, second = CollectSink(), CollectSink()
    client = start(ScriptedPartitions(scripts), first, parallelism=before)
    client.run_batch()
    client.run_batch()
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    start(ScriptedPartitions(scripts), second, parallelism=after, savepoint=path).wait()
    assert Counter(first.results) + Counter(second.results) == whole(scripts)


def test_a_savepoint_remembers_where_event_time_was(tmp_path: Path) -> None:
    scripts = {"a": [Element(("a", n), n * 50) for n in range(4)], "b": [Element(("b", 0), 60), Cut(), Cut()]}
    first, second = CollectSink(), CollectSink()
    client = start(ScriptedPartitions(scripts, ends=False), first, parallelism=2)
    client.run_batch()
    client.run_batch()
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    more = {"a": [*scripts["a"], Element(("a", 4), 200)], "b": [*scripts["b"], Element(("b", 1), 130)]}
    client = start(ScriptedPartitions(more, ends=False), second, parallelism=1, savepoint=path)
    client.run_batch()
    client.run_batch()
    assert ("passed", "a", 99) in second.results, "the slower partition came to 129"
    assert ("passed", "a", 149) not in second.results
    client.cancel()


def test_another_kind_of_source_is_refused(tmp_path: Path) -> None:
    client = start(ScriptedPartitions(MANY), CollectSink())
    client.run_batch()
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    settings = Configuration()
    settings.set_string("execution.state-recovery.path", path)
    environment = StreamExecutionEnvironment.in_process(configuration=settings)
    stream = environment.from_source(CollectionSource([("a", 1)]), SLOW, "c").uid("partitions")
    stream.key_by(lambda value: value[0]).process(Periods()).uid("periods").add_sink(CollectSink())
    with pytest.raises(CheckpointError, match=r"'partitions'.*was a source of partitions"):
        environment.execute_async()


def test_a_later_start_on_the_same_checkpoint_goes_on(tmp_path: Path) -> None:
    first, second = CollectSink(), CollectSink()
    scripts = {name: [*script[:5], Cut(), *script[5:]] for name, script in MANY.items()}
    client = start(ScriptedPartitions(scripts), first, checkpoint=tmp_path / "c")
    client.run_batch()
    client.run_batch()
    del client
    start(ScriptedPartitions(scripts), second, checkpoint=tmp_path / "c").wait()
    assert Counter(first.results) + Counter(second.results) == whole(scripts)


def test_a_source_without_end_is_refused_where_the_job_would_never_return() -> None:
    client = start(ScriptedPartitions(MANY, ends=False), CollectSink())
    with pytest.raises(GraphError, match="never ends"):
        client.wait()


def test_late_partitions_need_a_source_that_does_not_end() -> None:
    with pytest.raises(ValueError, match="ends=False"):
        ScriptedPartitions(MANY, appears={"a": 5})


def test_a_source_has_the_side_outputs_that_it_names_only() -> None:
    stream = StreamExecutionEnvironment.in_process().from_source(ScriptedPartitions(MANY), SLOW, "s")
    with pytest.raises(GraphError, match="no side output 'bad'"):
        stream.get_side_output(OutputTag("bad"))
