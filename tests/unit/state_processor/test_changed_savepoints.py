"""Savepoints read, changed and made from nothing, in process: the jobs that start from them go on as told."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.common import Configuration
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.checkpointed_function import CheckpointedFunction
from penstock.datastream.functions import ProcessFunction
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.errors import CheckpointError, ConfigurationError, GraphError, StateError
from penstock.runtime.failure import OperatorFailure
from penstock.state_processor import KeyedStateBootstrapFunction, KeyedStateReaderFunction, OperatorTransformation
from penstock.testing import CollectSink
from tests.unit.savepoint.ledger import END_OF_TIME, KEYS, Start, oracle, published, run_some
from tests.unit.state_processor.table_engine import new_writer, reader_of, writer_from


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A ledger that was left in the middle: its savepoint, and its checkpoint directory."""
    folder = tmp_path_factory.mktemp("ledger")
    client = Start(folder / "out", checkpoint=folder / "checkpoint").client()
    run_some(client)
    return Path(client.stop_with_savepoint(False, str(folder)).result()), folder / "checkpoint"


def finished(path: str, output: Path, folder: Path, parallelism: int = 3) -> list[Any]:
    """What readers see in the end of a ledger that goes on from a savepoint."""
    client = Start(output, parallelism, checkpoint=folder, recovery=path).client()
    while client.run_batch():
        pass
    return [json.loads(line) for line in published(output)]


# Reading


@pytest.mark.parametrize("place", [0, 1])
def test_a_savepoint_and_a_checkpoint_tell_what_they_hold(left: tuple[Path, Path], place: int) -> None:
    reader = reader_of(left[place])
    found = {each.uid: each for each in reader.operators()}
    ledger = found["ledger"]
    assert (ledger.name, ledger.parallelism, ledger.has_timers) == ("Ledger", 2, True)
    assert {(each.name, each.kind) for each in ledger.states} == {
        ("count", "value"),
        ("names", "list"),
        ("periods", "map"),
    }
    assert found["copy"].states == []
    counts = {row["key"]: row["value"] for row in reader.read_keyed_state("ledger", "count").to_pylist()}
    names = Counter(row["key"] for row in reader.read_keyed_state("ledger", "names").to_pylist())
    assert counts == names
    assert set(counts) == set(range(KEYS))
    timers = reader.read_timers("ledger").to_pylist()
    assert {row["key"] for row in timers if row["timestamp"] == END_OF_TIME} == set(range(KEYS))


def test_mistakes_name_what_there_is(left: tuple[Path, Path]) -> None:
    reader = reader_of(left[0])
    with pytest.raises(CheckpointError, match=r"no operator with uid 'x': it has 'copy', 'extra'"):
        reader.read_keyed_state("x", "count")
    with pytest.raises(CheckpointError, match=r"no keyed state 'x': it has 'count', 'names', 'periods'"):
        reader.read_keyed_state("ledger", "x")
    with pytest.raises(CheckpointError, match=r"no state 'x' among its operator states: it has none"):
        reader.read_operator_state("ledger", "x")
    with pytest.raises(CheckpointError, match="no savepoint or checkpoint"):
        reader_of(left[0] / "nowhere")
    with pytest.raises(GraphError, match="give output_type"):
        reader.read_keyed_state("ledger", Reads())
    with pytest.raises(GraphError, match="expected the name of a state"):
        reader.read_keyed_state("ledger", 7)  # type: ignore[arg-type]


class Reads(KeyedStateReaderFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.names = runtime_context.get_list_state(ListStateDescriptor("names"))

    def read_key(self, key: Any, ctx: Any, out: Any) -> Iterator[Any]:
        out.collect((key, self.count.value(), len(self.names.get())))
        yield key, max(ctx.registered_event_time_timers()), len(ctx.registered_processing_time_timers())


@pytest.mark.parametrize("place", [0, 1])
def test_a_function_reads_each_key_once(left: tuple[Path, Path], place: int) -> None:
    results = reader_of(left[place]).read_keyed_state("ledger", Reads(), "a")
    counted, timers = results[::2], results[1::2]
    assert sorted(key for key, *_ in counted) == list(range(KEYS))
    assert all(count == length for _, count, length in counted)
    assert {time for _, time, _ in timers} == {END_OF_TIME}
    assert {number for _, _, number in timers} == {0}


def test_a_function_that_raises_says_on_which_key(left: tuple[Path, Path]) -> None:
    class Raises(Reads):
        def read_key(self, key: Any, ctx: Any, out: Any) -> Any:
            raise ValueError("not today")

    with pytest.raises(OperatorFailure, match=r"(?s)not today.*operator 'ledger'.*reading key \d"):
        reader_of(left[0]).read_keyed_state("ledger", Raises(), "a")


def test_a_damaged_file_is_not_read_and_not_copied(left: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "damaged"
    shutil.copytree(left[0], copy)
    part = copy / "operators/ledger/part-0.parquet"
    data = bytearray(part.read_bytes())
    data[60] ^= 1
    part.write_bytes(bytes(data))
    with pytest.raises(CheckpointError, match="is damaged"):
        reader_of(copy).read_keyed_state("ledger", "count")
    with pytest.raises(CheckpointError, match="is damaged"):
        writer_from(copy).write(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


# Writing


def test_a_savepoint_written_as_it_was_starts_the_same_job(left: tuple[Path, Path], tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(left[0], source)
    path = writer_from(source).write(str(tmp_path / "copy"))
    reader = reader_of(path)
    changed = writer_from(reader)
    for state in ("count", "names", "periods"):
        changed.with_keyed_state("ledger", state, reader.read_keyed_state("ledger", state))
    changed.with_timers("ledger", reader.read_timers("ledger"))
    path = changed.write(str(tmp_path / "rewritten"))
    shutil.copytree(left[0].parent / "out", tmp_path / "out")
    assert sorted(map(json.dumps, finished(path, tmp_path / "out", tmp_path / "job"))) == oracle()


def test_changed_entries_are_what_the_job_goes_on_with(left: tuple[Path, Path], tmp_path: Path) -> None:
    reader = reader_of(left[0])
    counts = reader.read_keyed_state("ledger", "count")
    counts = counts.set_column(1, "value", pc.add(counts["value"], 1_000))
    names = reader.read_keyed_state("ledger", "names")
    timers = reader.read_timers("ledger")
    writer = (
        writer_from(reader)
        .with_keyed_state("ledger", "count", counts)
        .with_keyed_state("ledger", "names", names.filter(pc.not_equal(names["key"], 1)))
        .with_timers("ledger", timers.filter(pc.not_equal(timers["key"], 2)))
    )
    lines = finished(writer.write(str(tmp_path / "changed")), tmp_path / "out", tmp_path / "job")
    ends = {line[1]: line for line in lines if line[0] == "all"}
    assert all(line[3] > 1_000 for line in ends.values())
    before = Counter(row["key"] for row in names.to_pylist())
    assert len(ends[0][2]) == ends[0][3] - 1_000
    assert len(ends[1][2]) == ends[1][3] - 1_000 - before[1]


def test_operators_are_renamed_and_removed(left: tuple[Path, Path], tmp_path: Path) -> None:
    writer = writer_from(left[0]).change_uid("ledger", "books/2").remove_operator("sink").remove_operator("numbers")
    reader = reader_of(writer.write(str(tmp_path / "new")))
    assert {each.uid for each in reader.operators()} == {"books/2", "copy", "extra", "extra time"}
    assert set(reader.origin.manifest.positions) == {"extra"}
    old = reader_of(left[0]).read_keyed_state("ledger", "count")
    assert reader.read_keyed_state("books/2", "count") == old
    with pytest.raises(CheckpointError, match="no operator with uid 'ledger'"):
        writer.remove_operator("ledger")
    with pytest.raises(CheckpointError, match="an operator with uid 'copy' already"):
        writer.change_uid("books/2", "copy")
    with pytest.raises(CheckpointError, match="no operator with uid 'nobody'"):
        writer.with_keyed_state("nobody", "count", old)


def test_a_checkpoint_is_taken_over_without_its_sinks(left: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"operator 'Sink: Files' \(uid 'sink'\) has output"):
        writer_from(left[1]).write(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    path = writer_from(left[1]).remove_operator("sink").write(str(tmp_path / "new"))
    found, wanted = reader_of(path), reader_of(left[0])
    for state in ("count", "names", "periods"):
        rows = found.read_keyed_state("ledger", state).to_pylist()
        assert sorted(map(repr, rows)) == sorted(map(repr, wanted.read_keyed_state("ledger", state).to_pylist()))
    assert found.origin.manifest.positions == wanted.origin.manifest.positions


def test_a_write_that_fails_leaves_nothing_and_a_path_is_used_once(left: tuple[Path, Path], tmp_path: Path) -> None:
    reader = reader_of(left[0])
    counts = reader.read_keyed_state("ledger", "count")
    twice = writer_from(reader).with_keyed_state("ledger", "count", pa.concat_tables([counts, counts]))
    with pytest.raises(StateError, match="two rows for one entry"):
        twice.write(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    (tmp_path / "new").mkdir()
    with pytest.raises(CheckpointError, match="already exists"):
        writer_from(reader).write(str(tmp_path / "new"))
    assert (tmp_path / "new").exists()
    with pytest.raises(CheckpointError, match="no operator to write"):
        new_writer().write(str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()


# Bootstrapping


class Totals(KeyedStateBootstrapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))
        self.by_name = runtime_context.get_map_state(MapStateDescriptor("by name"))

    def process_element(self, value: tuple[str, int], ctx: Any) -> None:
        if value[1] < 0:
            raise ValueError("no such amount")
        self.total.update((self.total.value() or 0) + value[1])
        self.seen.add(value[1])
        self.by_name.put(ctx.get_current_key(), value[1])
        ctx.timer_service().register_event_time_timer(value[1])


class GoOn(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        self.seen.add(value[1])
        yield value[0], (self.total.value() or 0) + value[1], self.seen.get()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp


def environment_from(path: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.state-recovery.path", path)
    return StreamExecutionEnvironment.in_process(configuration=configuration).set_parallelism(2)


def test_a_job_that_never_ran_goes_on_from_bootstrapped_state(tmp_path: Path) -> None:
    records = [("a", 1), ("b", 10), ("a", 2), *((f"k{n}", n) for n in range(200))]
    bootstrap = OperatorTransformation.bootstrap_with(records).key_by(lambda record: record[0]).transform(Totals())
    path = new_writer(64).with_operator("totals", bootstrap).write(str(tmp_path / "new"))
    (info,) = reader_of(path).operators()
    assert (info.max_parallelism, info.has_timers, len(info.states)) == (64, True, 3)
    environment = environment_from(path)
    sink = CollectSink()
    new = environment.from_collection([("a", 5), ("b", 5), ("c", 5)])
    new.key_by(lambda record: record[0]).process(GoOn()).uid("totals").add_sink(sink)
    environment.execute()
    assert sorted(each for each in sink.results if len(each[0]) == 1) == [
        ("a", 8, [1, 2, 5]),
        ("b", 15, [10, 5]),
        ("c", 5, [5]),
    ]
    assert sorted(each for each in sink.results if each[0] == "timer" and len(each[1]) == 1) == [
        ("timer", "a", 1),
        ("timer", "a", 2),
        ("timer", "b", 10),
    ]


def test_what_cannot_be_bootstrapped_is_refused(left: tuple[Path, Path], tmp_path: Path) -> None:
    def attempt(records: Any, key: Any = lambda record: record[0]) -> None:
        bootstrap = OperatorTransformation.bootstrap_with(records).key_by(key).transform(Totals())
        new_writer().with_operator("totals", bootstrap).write(str(tmp_path / "new"))

    with pytest.raises(OperatorFailure, match=r"(?s)no such amount.*operator 'totals'.*record: \('a', -1\)"):
        attempt([("a", -1)])
    with pytest.raises(StateError, match="has no key"):
        attempt([(None, 1)])
    with pytest.raises(StateError, match="has no canonical bytes"):
        attempt([(object, 1)])
    with pytest.raises(OperatorFailure, match="selecting a key"):
        attempt([("a", 1)], "name")
    assert not (tmp_path / "new").exists()
    bootstrap = OperatorTransformation.bootstrap_with([]).key_by(len).transform(Totals())
    with pytest.raises(CheckpointError, match=r"call remove_operator\('ledger'\) first"):
        writer_from(left[0]).with_operator("ledger", bootstrap)
    with pytest.raises(GraphError, match="bootstrap_with"):
        new_writer().with_operator("totals", Totals())  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="KeyedStateBootstrapFunction"):
        OperatorTransformation.bootstrap_with([]).key_by(len).transform(len)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="name of a column or a function"):
        OperatorTransformation.bootstrap_with([]).key_by(7)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="Max parallelism"):
        new_writer(0)


# State without a key


class Remembers(ProcessFunction, CheckpointedFunction):
    def __init__(self) -> None:
        self.elements: list[Any] = []

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("elements"))
        self.elements = list(self.state.get())

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.elements)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, sorted(self.elements)


def test_state_without_a_key_is_made_read_and_replaced(tmp_path: Path) -> None:
    writer = new_writer().with_operator_state("op", "elements", [3, 1, 2], "list")
    writer.with_operator_state("op", "rules", {"a": (1, "x")}, "broadcast")
    reader = reader_of(writer.write(str(tmp_path / "new")))
    assert reader.read_operator_state("op", "elements").to_pylist() == [
        {"subtask": 0, "position": position, "value": value} for position, value in enumerate([3, 1, 2])
    ]
    rules = reader.read_operator_state("op", "rules")
    assert rules.to_pylist() == [{"subtask": 0, "map_key": "a", "value": {"f0": 1, "f1": "x"}}]
    elements = reader.read_operator_state("op", "elements")
    changed = writer_from(reader).with_operator_state("op", "elements", elements.slice(0, 2))
    changed.with_operator_state("op", "rules", rules)
    path = changed.write(str(tmp_path / "changed"))
    assert reader_of(path).read_operator_state("op", "rules") == rules

    environment = environment_from(path)
    sink = CollectSink()
    environment.from_collection([0]).process(Remembers()).set_parallelism(1).uid("op").add_sink(sink)
    environment.execute()
    assert sink.results == [(0, [1, 3])]


def test_mistakes_with_state_without_a_key(tmp_path: Path) -> None:
    path = new_writer().with_operator_state("op", "rules", {1: Path("a")}, "broadcast").write(str(tmp_path / "new"))
    reader = reader_of(path)
    table = reader.read_operator_state("op", "rules")
    assert table.column_names == ["subtask", "map_key", "value_pickle", "value_text"]
    assert writer_from(reader).with_operator_state("op", "rules", table).write(str(tmp_path / "same"))
    writer = writer_from(reader)
    with pytest.raises(CheckpointError, match="does not exist yet"):
        writer.with_operator_state("new", "rules", [])
    with pytest.raises(CheckpointError, match="the state is broadcast state"):
        writer.with_operator_state("op", "rules", [], "list")
    with pytest.raises(CheckpointError, match="kind is 'heap'"):
        writer.with_operator_state("op", "rules", [], "heap")
    with pytest.raises(CheckpointError, match="has no state 'x' among its operator states"):
        writer.with_operator_state("op", "x", [])
    with pytest.raises(StateError, match="give it a dict"):
        writer.with_operator_state("op", "rules", [1]).write(str(tmp_path / "bad"))
    moved = table.set_column(0, "subtask", pa.array([5], pa.int32()))
    with pytest.raises(StateError, match="subtask is 5 in a row, but the operator has 1"):
        writer_from(reader).with_operator_state("op", "rules", moved).write(str(tmp_path / "bad"))
