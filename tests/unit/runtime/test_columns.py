"""Blocks of columns: the objects they are, the bytes they travel as, and where exchange writers send them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.column_block import can_stay_columns, is_plain_record
from penstock.common.types import Row
from penstock.datastream.selectors import make_key_selector, read_field
from penstock.graph.nodes import Exchange, Partitioning
from penstock.graph.plan import OutEdge
from penstock.keys.codec import encode_key
from penstock.keys.group_columns import column_key_groups, int_key_groups
from penstock.keys.groups import key_group
from penstock.runtime import exchange, rows
from penstock.runtime.columns import ColumnBlock, decode_columns, encode_columns, holds_columns, key_objects
from penstock.runtime.exchange import RowEmitter, create_writer
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import MapOperator
from penstock.runtime.operators.table import RowKey
from penstock.runtime.rows import ExchangeRow
from tests.unit.runtime.rig import Rig

KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int16(): st.integers(-3, 3),
    pa.uint64(): st.integers(2**63 - 1, 2**64 - 1),
    pa.float64(): st.one_of(st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf")]), st.floats()),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.decimal128(10, 2): st.decimals(-100, 100, places=2),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.timestamp("ns"): st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)),
    pa.list_(pa.int64()): st.lists(st.integers(0, 3), max_size=2),
    pa.struct([("x", pa.int64())]): st.fixed_dictionaries({"x": st.integers(0, 3)}),
    pa.null(): st.none(),
}
FIELDS = ["a", "b", "c"]


class Point(NamedTuple):
    a: Any
    b: Any
    c: Any


@dataclass
class Thing:
    a: Any
    b: Any
    c: Any


FORMS = ["row", "tuple", "dict", Point, Thing]


@st.composite
def batches(draw: st.DrawFn, max_size: int = 12) -> pa.RecordBatch:
    count = draw(st.integers(1, max_size))
    arrays = []
    for _ in FIELDS:
        kind = draw(st.sampled_from(list(KINDS)))
        values = draw(st.lists(st.one_of(st.none(), KINDS[kind]), min_size=count, max_size=count))
        arrays.append(pa.array(values, kind))
    return pa.RecordBatch.from_arrays(arrays, names=FIELDS)


def told(value: Any) -> str:
    """Types and values, NaN equal to itself; sets of objects apart from their identity."""
    return f"{type(value).__name__}:{value!r}"


class Sent:
    """A writer and what left it, by target."""

    def __init__(self, partitioning: Partitioning, targets: int, version: int = 0) -> None:
        self.rows: list[ExchangeRow] = []
        edge = OutEdge(2, 0, None, partitioning, 5, 1, targets, 128, False)
        emitter = RowEmitter(3, 0, self.rows.append)
        emitter.begin_batch(0)
        self.writer = create_writer(edge, 0, 1, emitter, "Sender", "sender-uid")
        self.writer.begin_batch(version)

    def by_target(self) -> dict[int, list[str]]:
        self.writer.flush()
        found: dict[int, list[str]] = {}
        for row in self.rows:
            block = rows.decode_block(row.payload)
            found.setdefault(row.target, []).extend(map(told, zip(*as_lists(block), strict=True)))
        return found


def as_lists(block: rows.Block) -> tuple[list[Any], list[Any], list[Any]]:
    nothing = [None] * len(block.values)
    if not isinstance(block.values, ColumnBlock):
        return block.values, block.timestamps or nothing, block.keys or nothing
    stamps = nothing if block.timestamps is None else block.timestamps.tolist()
    return block.values.values(), stamps, nothing if block.keys is None else key_objects(block.keys)


def custom(key: Any, targets: int) -> int:
    return len(repr(key)) % targets


PARTITIONINGS: list[Partitioning] = [
    *(Partitioning(kind) for kind in Exchange if kind not in (Exchange.KEYED, Exchange.CUSTOM)),
    *(Partitioning(Exchange.KEYED, make_key_selector(key)) for key in ("a", "b", ["a", "b"], ["a"], lambda _: 1)),
    Partitioning(Exchange.CUSTOM, make_key_selector("a"), custom),
]


@settings(max_examples=60, deadline=None)
@given(
    partitioning=st.sampled_from(PARTITIONINGS),
    form=st.sampled_from(["row", "dict", Point, Thing]),
    blocks=st.lists(st.tuples(batches(), st.booleans(), st.booleans()), max_size=4),
    targets=st.integers(1, 3),
    version=st.integers(0, 3),
)
def test_columns_go_where_their_objects_go(
    partitioning: Partitioning, form: Any, blocks: list[tuple[pa.RecordBatch, bool, bool]], targets: int, version: int
) -> None:
    """Same targets, order, timestamps and keys, also where blocks of objects come in between."""

    def outcome(takes_columns: bool) -> Any:
        sent = Sent(partitioning, targets, version)
        for batch, is_stamped, is_columns in blocks:
            stamps = np.arange(len(batch)) if is_stamped else None
            block = ColumnBlock(batch, form)
            try:
                if takes_columns and is_columns:
                    sent.writer.write(block, stamps)
                else:
                    sent.writer.write(block.values(), None if stamps is None else stamps.tolist())
            except OperatorFailure as failure:  # a key that can be none
                return failure.text.splitlines()[-3:]
        return sent.by_target()

    assert outcome(True) == outcome(False)


@pytest.mark.parametrize("fields", [(), (0,), (0, 1), (1, 0, 1), (1, 1)])
@pytest.mark.parametrize("targets", [1, 3])
def test_rows_of_tables_go_where_their_keys_say(seed: int, fields: tuple[int, ...], targets: int) -> None:
    """Also where they have no key, and where tuples repeat or have NULLs."""
    random = Random(seed)
    drawn = [(0, random.choice([None, "a", "b", "ä" * 300]), random.choice([None, 1, -5, 2**62])) for _ in range(200)]
    columns = zip(*drawn, strict=True)
    arrays = [pa.array(each, kind) for each, kind in zip(columns, (pa.int8(), pa.string(), pa.int64()), strict=True)]
    block = ColumnBlock(pa.RecordBatch.from_arrays(arrays, names=["k", "f0", "f1"]), "tuple")
    sent = [Sent(Partitioning(Exchange.KEYED, RowKey(*fields)), targets) for _ in range(2)]
    for start, stop in ((0, 90), (90, 91), (91, 200)):
        part = block.slice(start, stop)
        sent[0].writer.write(part, None)
        sent[1].writer.write(part.values(), None)
    assert sent[0].by_target() == sent[1].by_target()
    assert sent[0].rows and all(holds_columns(row.payload) for row in sent[0].rows)


@settings(max_examples=100, deadline=None)
@given(batch=batches(), form=st.sampled_from(FORMS), field=st.sampled_from([*FIELDS, "d", 0, 2, 3]))
def test_a_column_is_what_the_objects_have(batch: pa.RecordBatch, form: Any, field: Any) -> None:
    block = ColumnBlock(batch, form)
    column = block.column(field)
    if column is not None:
        assert told(column.to_pylist()) == told([read_field(value, field) for value in block.values()])
    else:
        with pytest.raises(KeyError):
            read_field(block.values()[0], field)


@settings(max_examples=40, deadline=None)
@given(batch=batches(), form=st.sampled_from(FORMS), cut=st.integers(0, 12), made=st.booleans())
def test_parts_of_a_block_have_the_objects_of_the_whole(batch: pa.RecordBatch, form: Any, cut: int, made: bool) -> None:
    whole = ColumnBlock(batch, form).values()
    block = ColumnBlock(batch, form)
    if made:
        block.values()
    mask = [None if place % 3 == 0 else place % 2 == 0 for place in range(len(batch))]
    assert told(block.slice(cut, len(batch)).values()) == told(whole[cut:])
    assert told(block.filter(pa.array(mask, pa.bool_())).values()) == told(
        [value for value, yes in zip(whole, mask, strict=True) if yes]
    )
    assert told(block.take(np.arange(len(batch))[::-1]).values()) == told(whole[::-1])
    assert told(pickle.loads(pickle.dumps(block.slice(0, cut))).values()) == told(whole[:cut])


@settings(max_examples=40, deadline=None)
@given(batch=batches(), form=st.sampled_from(FORMS), first=st.integers(0, 5), stamped=st.booleans())
def test_columns_travel_as_bytes(batch: pa.RecordBatch, form: Any, first: int, stamped: bool) -> None:
    block = ColumnBlock(batch, form).slice(first, len(batch))
    stamps = np.arange(len(block)) if stamped and len(block) else None
    there, times, keys = decode_columns(encode_columns(block, stamps, None))
    assert told(there.values()) == told(block.values())
    assert there.form == form and keys is None
    assert (times is None) if stamps is None else times is not None and times.tolist() == stamps.tolist()


def test_a_slice_travels_without_what_it_is_cut_from() -> None:
    whole = pa.record_batch({"a": pa.array(range(100_000)), "b": pa.array(["x" * 20] * 100_000)})
    assert len(encode_columns(ColumnBlock(whole, "row").slice(50_000, 50_010), None, "a")) < 2_000


def test_two_fields_of_one_name_are_left_to_the_objects() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert ColumnBlock(batch, "row").column("a") is None
    assert ColumnBlock(batch, "row").column(1).to_pylist() == [2]


def test_a_missing_key_field_is_told_with_the_record() -> None:
    sent = Sent(Partitioning(Exchange.KEYED, make_key_selector("z")), 2)
    with pytest.raises(OperatorFailure, match=r"(?s)no field 'z'.*selecting the key.*record: Row\(a=1\)"):
        sent.writer.write(ColumnBlock(pa.record_batch({"a": [1, 2]}), "row"), None)


def test_blocks_wait_for_each_other_and_large_ones_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(Partitioning(Exchange.GLOBAL), 1)
    for number in range(3):
        sent.writer.write(ColumnBlock(pa.record_batch({"a": [number]}), "row"), np.array([number]))
    sent.writer.flush()
    assert len(sent.rows) == 1
    monkeypatch.setattr(exchange, "BLOCK_BYTES", 1_500)
    sent.writer.write(ColumnBlock(pa.record_batch({"a": list(range(1_000))}), "row"), np.arange(1_000))
    sent.writer.flush()
    assert len(sent.rows) > 5
    assert max(len(row.payload) for row in sent.rows) <= 1_500
    (received,) = sent.by_target().values()
    assert received[3:] == [told((Row(a=number), number, None)) for number in range(1_000)]


def block_of(first: int, count: int = 2) -> ColumnBlock:
    return ColumnBlock(pa.record_batch({"a": list(range(first, first + count))}), "row")


def test_what_waits_is_of_one_kind_and_all_of_it_is_sent() -> None:
    """Objects and columns, with and without timestamps, of other fields and forms: in order, and none is lost."""
    sent = Sent(Partitioning(Exchange.GLOBAL), 1)
    sent.writer.write([Row(a=0)], None)
    sent.writer.write(block_of(1), None)
    sent.writer.write([Row(a=3)], [3])
    sent.writer.write(block_of(4), np.array([4, 5]))
    sent.writer.write(block_of(6), None)
    sent.writer.write(ColumnBlock(block_of(8).batch, "tuple"), None)
    sent.writer.write(ColumnBlock(pa.record_batch({"b": [10]}), "tuple"), None)
    (received,) = sent.by_target().values()
    stamps = {3: 3, 4: 4, 5: 5}
    expected = [(Row(a=number), stamps.get(number), None) for number in range(8)]
    assert received == list(map(told, [*expected, *(((number,), None, None) for number in range(8, 11))]))
    assert len(sent.rows) == 7


def test_the_order_of_a_large_block_is_kept() -> None:
    sent = Sent(Partitioning(Exchange.SHUFFLE), 3)
    sent.writer.write(block_of(0, 3_000), np.arange(3_000))
    for received in sent.by_target().values():
        numbers = [int(each.rpartition(", None")[0].rpartition(", ")[2]) for each in received]
        assert len(numbers) > 800 and numbers == sorted(numbers)


def test_a_new_batch_forgets_columns_of_the_last() -> None:
    sent = Sent(Partitioning(Exchange.GLOBAL), 1)
    sent.writer.write(ColumnBlock(pa.record_batch({"a": [1]}), "row"), None)
    sent.writer.begin_batch(1)
    assert sent.by_target() == {}


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), st.integers(1, 32768))
def test_key_groups_of_columns_are_those_of_keys(numbers: list[int], groups: int) -> None:
    expected = [key_group(encode_key(number), groups) for number in numbers]
    assert int_key_groups(np.array(numbers, np.int64), groups).tolist() == expected


@given(st.lists(st.text(max_size=300), min_size=1, max_size=8), st.integers(1, 300))
def test_key_groups_of_texts_are_those_of_keys(texts: list[str], groups: int) -> None:
    found = column_key_groups(pa.array(texts), groups)
    if found is None:
        assert any(len(text.encode()) > 254 for text in texts)
    else:
        assert found.tolist() == [key_group(encode_key(text), groups) for text in texts]


def test_types_that_mean_something_to_one_process_only_do_not_stay_columns() -> None:
    plain = pa.schema([("a", pa.int64()), ("b", pa.list_(pa.string()))])
    dictionary = pa.dictionary(pa.int8(), pa.string())
    assert can_stay_columns(plain)
    assert not can_stay_columns(pa.schema([]))
    assert not can_stay_columns(pa.schema([("a", dictionary)]))
    assert not can_stay_columns(pa.schema([("a", pa.list_(dictionary))]))
    assert not can_stay_columns(pa.schema([("a", pa.uuid())]))


@dataclass
class Shouting:
    a: str

    def __post_init__(self) -> None:
        self.a = self.a.upper()


@dataclass(init=False)
class Built:
    a: int


def test_records_that_change_what_they_are_given_are_not_plain() -> None:
    assert is_plain_record(Point) and is_plain_record(Thing)
    assert not is_plain_record(Shouting) and not is_plain_record(Built) and not is_plain_record(int)


def test_an_operator_on_objects_takes_columns(tmp_path: Any) -> None:
    rig = Rig(tmp_path, MapOperator(lambda row: row.a + 1))
    block = ColumnBlock(pa.record_batch({"a": [1, 2]}), "row")
    rig.feed_columns(block, np.array([5, 6]))
    assert rig.take() == [(2, 5), (3, 6)]
    assert rig.finish().metrics["uid-0"]["records_in"] == 2
