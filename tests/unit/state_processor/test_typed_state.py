"""State of declared types: its columns are those of the type, and rows of older types stay what they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, RowKind, Types
from penstock.common.time import Instant
from penstock.common.typeinfo import RecordTypeInfo, TypeInformation
from penstock.datastream import RuntimeContext
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.errors import StateError
from penstock.savepoint.manifest import Manifest
from penstock.savepoint.writing import write_part_rows
from penstock.state.declarations import merged
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.operator_state import OperatorSnapshot, OperatorStateBackend
from penstock.state.portable import imported_entries
from penstock.state_processor import KeyedStateBootstrapFunction, OperatorTransformation
from penstock.state_processor.operator_columns import operator_table, with_state
from tests.unit.state_processor.table_engine import new_writer, reader_of, writer_from


@dataclass
class Price:
    name: str
    cents: int


@dataclass
class NewPrice:
    name: str
    cents: int
    currency: str = "EUR"
    tags: list[str] = field(default_factory=list)


PRICE = RecordTypeInfo(Price, ["name", "cents"], [Types.STRING(), Types.LONG()])
NEW_PRICE = RecordTypeInfo(
    NewPrice,
    ["name", "cents", "currency", "tags"],
    [Types.STRING(), Types.LONG(), Types.STRING(), Types.LIST(Types.STRING())],
)


class Fill(KeyedStateBootstrapFunction):
    """Puts records into a state by a method of the state."""

    def __init__(self, get: str, descriptor: Any, put: Callable[[Any, Any], None]) -> None:
        self.get, self.descriptor, self.put = get, descriptor, put

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = getattr(runtime_context, self.get)(self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.put(self.state, value[1])


def update(state: Any, value: Any) -> None:
    state.update(value)


def add(state: Any, value: Any) -> None:
    state.add(value)


def put(state: Any, value: Any) -> None:
    state.put(*value)


def first(record: Any) -> Any:
    return record[0]


def savepoint(folder: Path, records: list[Any], function: Fill) -> str:
    bootstrap = OperatorTransformation.bootstrap_with(records).key_by(first).transform(function)
    return new_writer(8).with_operator("op", bootstrap).write(str(folder))


def values_in(path: str, get: str, descriptor: Any, key: Any) -> Any:
    """What a function of a job finds."""
    store = MemoryStore()
    reader = reader_of(path)
    rows = (row for source in reader.origin.row_sources("op", range(8)) for row in source.rows(range(8)))
    for row, value in imported_entries(rows, 0):
        store.put(row, value)
    backend = KeyedStateBackend(8)
    state = getattr(backend, get)(descriptor)
    backend.bind(store, 1)
    backend.set_key(key)
    return state


@pytest.mark.parametrize(
    ("type_info", "value", "kind", "shown"),
    [
        (Types.INT(), 7, pa.int32(), 7),
        (Types.BOOLEAN(), True, pa.bool_(), True),
        (Types.TUPLE([Types.STRING(), Types.DOUBLE()]), ("a", 1.5), None, {"f0": "a", "f1": 1.5}),
        (Types.ROW_NAMED(["id", "tags"], [Types.LONG(), Types.LIST(Types.STRING())]), Row(id=1, tags=["x"]), None,
         {"id": 1, "tags": ["x"]}),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}, None, [("a", 1)]),
        (Types.BIG_INT(), 2**70, pa.decimal128(38, 0), 2**70),
        (Types.INSTANT(), Instant(1, 2_000), None, datetime(1970, 1, 1, 0, 0, 1, 2, tzinfo=UTC)),
        (Types.SQL_DATE(), datetime(2020, 5, 1).date(), pa.date32(), datetime(2020, 5, 1).date()),
    ],
)  # fmt: skip
def test_a_declared_type_is_the_type_of_the_column(
    tmp_path: Path, type_info: Any, value: Any, kind: pa.DataType | None, shown: Any
) -> None:
    descriptor = ValueStateDescriptor("s", type_info)
    reader = reader_of(savepoint(tmp_path / "new", [("k", value)], Fill("get_state", descriptor, update)))
    (state,) = reader.operators()[0].states
    assert len(state.schemas["value"]) == 1
    table = reader.read_keyed_state("op", "s")
    assert kind is None or table.schema.field("value").type == kind
    assert table.to_pylist() == [{"key": "k", "value": shown}]
    path = writer_from(reader).with_keyed_state("op", "s", table).write(str(tmp_path / "again"))
    assert values_in(path, "get_value_state", descriptor, "k").value() == value
    assert reader_of(path).read_keyed_state("op", "s") == table


def test_elements_and_entries_have_their_types_too(tmp_path: Path) -> None:
    lists = ListStateDescriptor("s", PRICE)
    path = savepoint(
        tmp_path / "lists", [("k", Price("a", 1)), ("k", Price("b", 2))], Fill("get_list_state", lists, add)
    )
    reader = reader_of(path)
    table = reader.read_keyed_state("op", "s")
    assert table.to_pylist() == [
        {"key": "k", "position": 0, "value": {"name": "a", "cents": 1}},
        {"key": "k", "position": 1, "value": {"name": "b", "cents": 2}},
    ]
    backwards = table.set_column(1, "position", pa.array([1, 0]))
    path = writer_from(reader).with_keyed_state("op", "s", backwards).write(str(tmp_path / "lists again"))
    assert values_in(path, "get_list_state", lists, "k").get() == [Price("b", 2), Price("a", 1)]

    maps = MapStateDescriptor("s", Types.BOOLEAN(), Types.STRING())
    reader = reader_of(savepoint(tmp_path / "maps", [("k", (True, "yes"))], Fill("get_map_state", maps, put)))
    table = reader.read_keyed_state("op", "s")
    assert table.to_pylist() == [{"key": "k", "map_key": True, "value": "yes"}]
    path = writer_from(reader).with_keyed_state("op", "s", table).write(str(tmp_path / "maps again"))
    assert list(values_in(path, "get_map_state", maps, "k").items()) == [(True, "yes")]


def test_keys_of_maps_that_are_objects_are_text_beside_bytes(tmp_path: Path) -> None:
    maps = MapStateDescriptor("s", Types.TUPLE([Types.DOUBLE(), Types.BOOLEAN()]), Types.LONG())
    reader = reader_of(savepoint(tmp_path / "maps", [("k", ((1.0, True), 5))], Fill("get_map_state", maps, put)))
    table = reader.read_keyed_state("op", "s")
    assert table.column_names == ["key", "map_key", "map_key_bytes", "map_key_original", "value"]
    path = writer_from(reader).with_keyed_state("op", "s", table.drop_columns(["map_key"])).write(str(tmp_path / "x"))
    ((key, value),) = values_in(path, "get_map_state", maps, "k").items()
    assert (repr(key), value) == ("(1.0, True)", 5)


def evolved(tmp_path: Path, old: Any, new: Any, records: list[Any], more: list[Any]) -> str:
    """A savepoint with rows of two types: the second is that of a job which went on with another one."""
    first_path = savepoint(tmp_path / "old", records, Fill("get_state", ValueStateDescriptor("s", old), update))
    second_path = savepoint(tmp_path / "new", more, Fill("get_state", ValueStateDescriptor("s", new), update))
    return united(Path(first_path), Path(second_path), tmp_path / "both")


def united(one: Path, other: Path, target: Path) -> str:
    """A savepoint with the rows of two; both have three subtasks."""
    origins = [reader_of(one).origin, reader_of(other).origin]
    files, records = {}, [origin.manifest.operators["op"] for origin in origins]
    for subtask in range(3):
        sources = [source for origin in origins if (source := origin.row_source("op", subtask)) is not None]
        rows = [row for source in sources for row in source.rows(range(8))]
        result = write_part_rows(str(target), "op", subtask, rows)
        if result.record is not None:
            files[result.file] = result.record
    record = replace(records[0], schemas=merged([each.schemas for each in records]))
    manifest: Manifest = replace(origins[0].manifest, operators={"op": record}, files=files)
    (target / "savepoint.json").write_text(manifest.to_json())
    return str(target)


def test_rows_of_an_older_type_stay_what_they_are(tmp_path: Path) -> None:
    path = evolved(tmp_path, PRICE, NEW_PRICE, [("old", Price("a", 1))], [("new", NewPrice("b", 2, "NOK", ["x"]))])
    reader = reader_of(path)
    table = reader.read_keyed_state("op", "s")
    rows = {row["key"]: row for row in table.to_pylist()}
    assert rows["old"]["value"] == {"name": "a", "cents": 1, "currency": None, "tags": None}
    assert rows["new"]["value"] == {"name": "b", "cents": 2, "currency": "NOK", "tags": ["x"]}
    assert rows["old"]["value_schema"] != rows["new"]["value_schema"]
    again = writer_from(reader).with_keyed_state("op", "s", table).write(str(tmp_path / "again"))
    descriptor = ValueStateDescriptor("s", NEW_PRICE)
    assert values_in(again, "get_value_state", descriptor, "old").value() == NewPrice("a", 1)
    assert values_in(again, "get_value_state", descriptor, "new").value() == NewPrice("b", 2, "NOK", ["x"])
    wrong = table.set_column(2, "value_schema", pa.array(["no", "such"]))
    with pytest.raises(StateError, match=r"value_schema is '(no|such)' in a row: use one of"):
        writer_from(reader).with_keyed_state("op", "s", wrong).write(str(tmp_path / "wrong"))


def test_numbers_of_two_widths_and_pickled_ones_share_a_column(tmp_path: Path) -> None:
    path = evolved(tmp_path, Types.INT(), Types.DOUBLE(), [("a", 1)], [("b", 2.5)])
    table = reader_of(path).read_keyed_state("op", "s")
    assert table.schema.field("value").type == pa.float64()
    again = writer_from(path).with_keyed_state("op", "s", table).write(str(tmp_path / "again"))
    descriptor = ValueStateDescriptor("s", Types.DOUBLE())
    assert [values_in(again, "get_value_state", descriptor, key).value() for key in "ab"] == [1.0, 2.5]

    (tmp_path / "p").mkdir()
    path = evolved(tmp_path / "p", None, Types.LONG(), [("a", 1)], [("b", 2)])
    table = reader_of(path).read_keyed_state("op", "s")
    assert {row["value_schema"] for row in table.to_pylist()} > {"pickle"}
    again = writer_from(path).with_keyed_state("op", "s", table).write(str(tmp_path / "p" / "again"))
    descriptor = ValueStateDescriptor("s", Types.LONG())
    assert [values_in(again, "get_value_state", descriptor, key).value() for key in "ab"] == [1, 2]


def test_types_that_share_no_column_are_text_beside_bytes(tmp_path: Path) -> None:
    path = evolved(tmp_path, Types.STRING(), None, [("a", "x")], [("b", ("y", 1))])
    reader = reader_of(path)
    table = reader.read_keyed_state("op", "s")
    assert table.column_names == ["key", "value_bytes", "value_text"]
    assert {row["value_text"] for row in table.to_pylist()} == {"'x'", "('y', 1)"}
    again = writer_from(reader).with_keyed_state("op", "s", table).write(str(tmp_path / "again"))
    assert reader_of(again).read_keyed_state("op", "s") == table
    wrong = table.set_column(1, "value_bytes", pa.array([b"\x81none", b"\x80"]))
    with pytest.raises(StateError, match="value_bytes must hold"):
        writer_from(reader).with_keyed_state("op", "s", wrong).write(str(tmp_path / "wrong"))


def test_a_value_that_does_not_fit_its_type_is_refused(tmp_path: Path) -> None:
    descriptor = ValueStateDescriptor("s", Types.BYTE())
    reader = reader_of(savepoint(tmp_path / "new", [("k", 1)], Fill("get_state", descriptor, update)))
    table = reader.read_keyed_state("op", "s").set_column(1, "value", pa.array([1_000]))
    with pytest.raises(StateError, match="state 's' of operator 'op': a value does not fit BYTE"):
        writer_from(reader).with_keyed_state("op", "s", table).write(str(tmp_path / "wrong"))


def test_state_without_a_key_has_its_types_too(tmp_path: Path) -> None:
    backend = OperatorStateBackend()
    backend.list_state("prices", "list", PRICE).add_all([Price("a", 1), Price("b", 2)])
    backend.broadcast_state("rules", Types.MAP(Types.STRING(), PRICE)).put("x", Price("c", 3))
    snapshot = OperatorSnapshot(None, backend.save(), 1, schemas=backend.schemas()).to_plain()
    for name, kind, rows in (
        ("prices", "list", [{"name": "a", "cents": 1}, {"name": "b", "cents": 2}]),
        ("rules", "broadcast", [{"name": "c", "cents": 3}]),
    ):
        columns, table = operator_table("op", name, kind, [snapshot, None])
        assert table.column("value").to_pylist() == rows
        changed = with_state([snapshot, None], name, kind, columns.contents(table, 2))
        assert changed[0] == snapshot
    assert table.column("map_key").to_pylist() == ["x"]


def test_elements_of_a_list_without_a_key_may_be_maps() -> None:
    backend = OperatorStateBackend()
    backend.list_state("rules", "union", Types.MAP(Types.STRING(), Types.LONG())).add({"a": 1})
    snapshot = OperatorSnapshot(None, backend.save(), 1, schemas=backend.schemas()).to_plain()
    columns, table = operator_table("op", "rules", "union", [snapshot])
    assert table.column("value").to_pylist() == [[("a", 1)]]
    assert with_state([snapshot], "rules", "union", columns.contents(table, 1)) == [snapshot]


def test_a_map_of_two_types_is_told_apart_by_subtask(tmp_path: Path) -> None:
    snapshots = []
    for type_info, value in ((PRICE, Price("a", 1)), (NEW_PRICE, NewPrice("b", 2))):
        backend = OperatorStateBackend()
        backend.broadcast_state("rules", Types.MAP(Types.STRING(), type_info)).put("x", value)
        snapshots.append(OperatorSnapshot(None, backend.save(), 1, schemas=backend.schemas()).to_plain())
    columns, table = operator_table("op", "rules", "broadcast", snapshots)
    assert [row["value"]["currency"] for row in table.to_pylist()] == [None, "EUR"]
    assert with_state(snapshots, "rules", "broadcast", columns.contents(table, 2)) == snapshots
    moved = table.set_column(0, "subtask", pa.array([0, 0], pa.int32()))
    with pytest.raises(StateError, match="value_schema differs in rows of one subtask"):
        columns.contents(moved, 2)


ZONED = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
UPDATED = Row(a=1)
UPDATED.set_row_kind(RowKind.UPDATE_AFTER)


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.SQL_TIMESTAMP(), ZONED),
        (Types.INSTANT(), Instant(5, 123_456_789)),
        (Types.ROW_NAMED(["a"], [Types.LONG()]), UPDATED),
        (Types.LIST(Types.TUPLE([Types.SQL_TIMESTAMP(), Types.LONG()])), [None, (ZONED, 1)]),
        (Types.MAP(Types.STRING(), Types.INSTANT()), {"a": Instant(5, 1)}),
        (Types.MAP(Types.SQL_TIMESTAMP(), Types.INSTANT()), {ZONED: None}),
    ],
)
def test_what_a_frame_shows_only_in_part_is_not_written_back(
    tmp_path: Path, type_info: TypeInformation, value: Any
) -> None:
    fills = {
        "value": Fill("get_state", ValueStateDescriptor("held", type_info), update),
        "list": Fill("get_list_state", ListStateDescriptor("held", type_info), add),
    }
    for kind, fill in fills.items():
        reader = reader_of(savepoint(tmp_path / kind, [("k", value)], fill))
        frame = reader.read_keyed_state("op", "held")
        assert frame.num_rows == 1
        with pytest.raises(StateError, match="state 'held' of operator 'op' holds times with a zone"):
            writer_from(reader).with_keyed_state("op", "held", frame)
    backend = OperatorStateBackend()
    backend.list_state("held", "list", type_info).add(value)
    snapshot = OperatorSnapshot(None, backend.save(), 1, schemas=backend.schemas()).to_plain()
    columns, table = operator_table("op", "held", "list", [snapshot])
    with pytest.raises(StateError, match="give its elements as a collection"):
        columns.contents(table, 1)


def test_text_that_no_column_can_show_names_the_state(tmp_path: Path) -> None:
    fill = Fill("get_state", ValueStateDescriptor("held", Types.STRING()), update)
    path = savepoint(tmp_path / "savepoint", [("k", "\ud800")], fill)
    with pytest.raises(StateError, match="state 'held' of operator 'op' holds a value that no column can show"):
        reader_of(path).read_keyed_state("op", "held")
