"""What may change between the job that made a savepoint and the one that goes on from it, and what may not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import (
    CheckpointedFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.errors import CheckpointError, GraphError
from penstock.graph import JobSettings, compile_plan
from penstock.savepoint import open_origin
from penstock.savepoint.row_sources import CheckpointRows
from penstock.testing import CollectSink, InProcessJobClient, ManualClock
from tests.unit.savepoint.ledger import (
    BY_EVENT_TIME,
    COUNT,
    EXTRA,
    KEYS,
    Ledger,
    Start,
    event,
    events_of,
    key_of,
    ledger,
    oracle,
    published,
    run_some,
    started,
)

Build = Callable[[StreamExecutionEnvironment, Path], Any]


class ChangedKind(Ledger):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_list_state(ListStateDescriptor("count"))  # type: ignore[assignment]


def without_ledger(environment: StreamExecutionEnvironment, output: Path) -> None:
    events_of(environment).print()


def without_extra(environment: StreamExecutionEnvironment, output: Path) -> None:
    numbers = environment.from_source(DataGenerator(event, COUNT), None, "numbers").uid("numbers")
    numbers.key_by(key_of).process(Ledger()).uid("ledger").print()


def changed_kind(environment: StreamExecutionEnvironment, output: Path) -> None:
    events_of(environment).key_by(key_of).process(ChangedKind()).uid("ledger").name("Ledger").print()


def not_keyed(environment: StreamExecutionEnvironment, output: Path) -> None:
    events_of(environment).map(lambda each: each).uid("ledger").name("Ledger").print()


def source_is_none(environment: StreamExecutionEnvironment, output: Path) -> None:
    environment.from_collection([1]).map(lambda each: each).uid("numbers").print()


@pytest.mark.parametrize(
    ("build", "ignores", "refusal"),
    [
        (without_ledger, False, r"state '__event_time_timers__', 'count', 'names', 'periods' of operator 'Ledger'"),
        (without_extra, False, r"positions of a source of operator 'Source: Collection Source' \(uid 'extra'\)"),
        (ledger, False, None),
        (changed_kind, True, r"state 'count' of operator 'Ledger' \(uid 'ledger'\) is value state .* but list state"),
        (not_keyed, True, r"'Ledger' \(uid 'ledger'\) has keyed state .*'count'.* not keyed"),
        (source_is_none, True, r"uid 'numbers'\) was a source that Penstock reads itself"),
    ],
)
def test_state_without_an_owner_is_refused_before_anything_runs(
    tmp_path: Path, savepoint: Path, build: Build, ignores: bool, refusal: str | None
) -> None:
    settings = {"execution.state-recovery.ignore-unclaimed-state": ignores}
    start = Start(tmp_path / "out", checkpoint=tmp_path / "ck", recovery=str(savepoint), settings=settings)
    environment = start.environment()
    build(environment, tmp_path / "out")
    if refusal is None:
        started(environment)
        return
    with pytest.raises(CheckpointError, match=refusal):
        started(environment)
    # Nothing is left of the start that was refused: the corrected program can use the same directory.
    Start(tmp_path / "out", checkpoint=tmp_path / "ck", recovery=str(savepoint)).client()


def test_output_that_is_not_published_keeps_its_sink(tmp_path: Path, savepoint: Path) -> None:
    environment = Start(tmp_path / "out", recovery=str(savepoint)).environment()
    events_of(environment).key_by(key_of).process(Ledger()).uid("ledger").print()
    with pytest.raises(CheckpointError, match="output that is not published yet of operator 'Sink: Files'"):
        started(environment)


def test_what_has_no_owner_is_dropped_if_that_is_allowed(tmp_path: Path, savepoint: Path) -> None:
    settings = {"execution.savepoint.ignore-unclaimed-state": "true"}
    environment = Start(tmp_path / "out", recovery=str(savepoint), settings=settings).environment()
    without_extra(environment, tmp_path / "out")
    started(environment).wait()


@pytest.mark.parametrize("max_parallelism", [64, 128])
def test_max_parallelism_is_that_of_the_state(tmp_path: Path, savepoint: Path, max_parallelism: int) -> None:
    start = Start(tmp_path / "out", recovery=str(savepoint), settings={"pipeline.max-parallelism": max_parallelism})
    if max_parallelism == 128:
        start.client()
        return
    with pytest.raises(GraphError, match="max parallelism 64, but the state it resumes from was written with 128"):
        start.client()


def test_parallelism_is_bounded_by_the_state(tmp_path: Path, savepoint: Path) -> None:
    graph = ledger(Start(tmp_path / "out").environment(), tmp_path / "out").graph
    adopted = open_origin(str(savepoint)).adopted()
    plan = compile_plan(graph, JobSettings(parallelism=100), adopted)
    assert {vertex.uid: vertex.max_parallelism for vertex in plan.vertices}["ledger"] == 128  # alone it would be 256
    with pytest.raises(
        GraphError, match="parallelism 129 but max parallelism 128, taken from the state it resumes from"
    ):
        compile_plan(graph, JobSettings(parallelism=129), adopted)


def test_operators_may_be_added_and_chained_otherwise(tmp_path: Path, savepoint: Path) -> None:
    settings = {"execution.state-recovery.ignore-unclaimed-state": True}
    start = Start(tmp_path / "out", 3, recovery=str(savepoint), chaining=False, settings=settings)
    environment = start.environment()
    more = environment.from_collection([("addition", 5)]).uid("more")
    entries = events_of(environment).union(more).key_by(key_of).process(Ledger()).uid("ledger")
    last = entries.filter(lambda entry: entry[0] == "all").uid("only the last").execute_and_collect()
    names = [name for _, _, names, _ in last for name in names]
    assert sorted(names) == sorted(["addition", *(name for name, _ in [*map(event, range(COUNT)), *EXTRA])])


def test_a_job_without_chains_can_become_one_with_chains(tmp_path: Path) -> None:
    first = Start(tmp_path / "out", chaining=False).client()
    run_some(first, 3)
    path = first.stop_with_savepoint(False, str(tmp_path)).result()
    Start(tmp_path / "out", 3, recovery=path).client().wait()
    assert published(tmp_path / "out") == oracle()


def test_keyed_rows_of_another_checkpoint_are_read_once(
    tmp_path: Path, savepoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operators behind the ledger in its chain have none, which the seal tells."""
    run_some(Start(tmp_path / "out", checkpoint=tmp_path / "first", recovery=str(savepoint)).client(), 3)
    reads: list[tuple[str, int]] = []
    opened = CheckpointRows.opened

    def counted(rows: CheckpointRows) -> Any:
        reads.append((rows.folder, rows.operator_index))
        return opened(rows)

    monkeypatch.setattr(CheckpointRows, "opened", counted)
    environment = Start(tmp_path / "out", checkpoint=tmp_path / "ck", recovery=str(tmp_path / "first")).environment()
    chain = events_of(environment).key_by(key_of).process(Ledger()).uid("ledger").name("Ledger")
    chain.map(str).uid("map").map(str).uid("again").sink_to(FileSink.json(tmp_path / "out")).uid("sink")
    client = started(environment)
    keyed = {place for place in reads if place[1] == 0}
    assert len(reads) == len(keyed) == 2  # each subtask's, to deal it out
    client.cancel()


def environment_at(clock: ManualClock, parallelism: int, path: str | None) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", "10")
    if path is not None:
        configuration.set_string("execution.state-recovery.path", path)
    environment = StreamExecutionEnvironment.in_process(clock=clock, configuration=configuration)
    return environment.set_parallelism(parallelism)


class Remembering(MapFunction, CheckpointedFunction):
    """Keeps all that it has seen in a list of its subtask, and knows what it began with."""

    def initialize_state(self, context: Any) -> None:
        self.seen = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))
        self.began_with = self.seen.get() if context.is_restored() else None

    def snapshot_state(self, context: Any) -> None:
        """The list is state already."""

    def map(self, value: int) -> Any:
        self.seen.add(value)
        return self.began_with


@pytest.mark.parametrize(("parallelism", "sizes"), [(3, [3, 3, 4]), (2, [5, 5])])
def test_operator_state_is_dealt_out_anew(tmp_path: Path, parallelism: int, sizes: list[int]) -> None:
    def build(parallelism: int, path: str | None, results: CollectSink) -> InProcessJobClient:
        environment = environment_at(ManualClock(), parallelism, path)
        numbers = environment.from_source(DataGenerator(lambda number: number, None), None, "numbers").uid("numbers")
        numbers.rebalance().map(Remembering()).uid("remembering").add_sink(results)
        return started(environment)

    fresh, restored = CollectSink(), CollectSink()
    first = build(2, None, fresh)
    run_some(first, 1)
    path = first.stop_with_savepoint(False, str(tmp_path)).result()
    assert fresh.results == [None] * 10
    run_some(build(parallelism, path, restored), 2)
    shares = {tuple(share) for share in restored.results}
    assert sorted(number for share in shares for number in share) == list(range(10))
    assert sorted(map(len, shares)) == sizes


class Alarm(KeyedProcessFunction):
    """Rings a minute of processing time after the first record of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.first = runtime_context.get_state(ValueStateDescriptor("first"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self.first.value() is None:
            self.first.update(value)
            ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 60_000)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


def test_timers_of_processing_time_ring_without_a_record(tmp_path: Path) -> None:
    clock = ManualClock(1_000)

    def build(parallelism: int, path: str | None, per_second: float | None, results: CollectSink) -> Any:
        environment = environment_at(clock, parallelism, path)
        source = DataGenerator(lambda number: number, None, per_second)
        numbers = environment.from_source(source, None, "numbers").uid("numbers")
        numbers.key_by(lambda value: value % KEYS).process(Alarm()).uid("alarm").add_sink(results)
        return started(environment)

    results = CollectSink()
    first = build(2, None, None, results)
    run_some(first, 1)
    path = first.stop_with_savepoint(False, str(tmp_path)).result()
    # No record will come for years: only the clock can move the second job.
    run_some(build(3, path, 1e-9, results), 2)
    assert sorted(results.results) == [(key, 61_000) for key in range(KEYS)]


def test_event_time_goes_on_where_it_was_and_idleness_is_noticed_again(tmp_path: Path) -> None:
    clock = ManualClock(1_000)
    strategy = BY_EVENT_TIME.with_idleness(Duration.of_millis(500))

    def build(parallelism: int, path: str | None, results: CollectSink) -> InProcessJobClient:
        environment = environment_at(clock, parallelism, path)
        silent = environment.from_source(DataGenerator(event, None, 1e-9), strategy, "silent").uid("silent")
        numbers = environment.from_source(DataGenerator(event, None), strategy, "numbers").uid("numbers")
        silent.union(numbers).key_by(key_of).process(TellsTime()).uid("time").add_sink(results)
        return started(environment)

    before, after = CollectSink(), CollectSink()
    first = build(2, None, before)
    run_some(first, 1)
    clock.advance(1_000)
    run_some(first, 2)
    path = first.stop_with_savepoint(False, str(tmp_path)).result()
    reached = max(before.results)
    assert reached > 0, "the silent source does not hold event time up"
    second = build(3, path, after)
    run_some(second, 1)
    assert min(after.results) >= reached, "no record sees event time go back"
    clock.advance(1_000)
    run_some(second, 2)
    assert max(after.results) > min(after.results)


class TellsTime(KeyedProcessFunction):
    """Gives the watermark at which each record comes."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield ctx.timer_service().current_watermark()
