"""What each file format writes for each kind of record, and what it says of records it cannot write."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections import namedtuple
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.formats.csv import CsvBulkWriters, CsvSchema
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.errors import ConfigurationError, SinkError
from penstock.formats.ddl import arrow_to_ddl, schema_to_ddl
from penstock.formats.records import RecordShapeError, to_columns
from tests.unit.connectors.file_sink_job import FileSinkJob, published


@dataclasses.dataclass
class Order:
    id: int
    name: str | None


Pair = namedtuple("Pair", "id name")
PAIR_TYPE = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])

EQUAL_RECORDS = {
    "row": [Row(id=1, name="a"), Row(id=2, name=None)],
    "dict": [{"id": 1, "name": "a"}, {"id": 2}],
    "dataclass": [Order(1, "a"), Order(2, None)],
    "named tuple": [Pair(1, "a"), Pair(2, None)],
    "mixed": [Order(1, "a"), {"name": None, "id": 2}],
}
POSITIONAL_RECORDS = {
    "tuple": [(1, "a"), (2, None)],
    "plain row": [Row(1, "a"), Row(2, None)],
    "list": [[1, "a"], [2, None]],
}


def written(sink: FileSink, *blocks: list[Any]) -> bytes:
    """Bytes of the only file that the blocks, one a batch, become."""
    job = FileSinkJob(sink, parallelism=1)
    for block in blocks:
        job.batch([[block]])
    job.batch([[]], end=True)
    [path] = published(Path(sink.location))
    return path.read_bytes()


def parquet_of(sink: FileSink, *blocks: list[Any]) -> pa.Table:
    return pq.read_table(pa.BufferReader(written(sink, *blocks)))


EXPECTED = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


@pytest.mark.parametrize("kind", EQUAL_RECORDS)
def test_records_with_names_are_the_same_in_every_format(kind, tmp_path):
    records = EQUAL_RECORDS[kind]
    lines = written(FileSink.json(tmp_path / "j"), records).splitlines()
    assert [{"name": None, **json.loads(line)} for line in lines] == [{"name": None, **e} for e in EXPECTED]
    assert written(FileSink.csv(tmp_path / "c", header=True), records) == b"id,name\n1,a\n2,\n"
    assert parquet_of(FileSink.parquet(tmp_path / "p"), records).to_pylist() == EXPECTED


@pytest.mark.parametrize("kind", POSITIONAL_RECORDS)
def test_positions_get_the_declared_names(kind, tmp_path):
    records = POSITIONAL_RECORDS[kind]
    assert list(map(json.loads, written(FileSink.json(tmp_path / "j", PAIR_TYPE), records).splitlines())) == EXPECTED
    assert written(FileSink.csv(tmp_path / "c", PAIR_TYPE, header=True), records) == b"id,name\n1,a\n2,\n"
    assert parquet_of(FileSink.parquet(tmp_path / "p", PAIR_TYPE), records).to_pylist() == EXPECTED
    assert parquet_of(FileSink.parquet(tmp_path / "q"), records).column_names == ["f0", "f1"]


def test_plain_values_become_a_column_called_value(tmp_path):
    assert parquet_of(FileSink.parquet(tmp_path / "p"), [1, 2]).to_pylist() == [{"value": 1}, {"value": 2}]
    assert parquet_of(FileSink.parquet(tmp_path / "q", Types.INT()), [1]).schema.field("value").type == pa.int32()
    assert written(FileSink.csv(tmp_path / "c", header=True), ["a", "b"]) == b"value\na\nb\n"
    assert written(FileSink.json(tmp_path / "j"), ["a", 1, None, [1]]) == b'"a"\n1\nnull\n[1]\n'


def test_text_is_the_record_and_a_line_feed(tmp_path):
    assert written(FileSink.text(tmp_path / "t"), ["é", 1], [None]) == "é\n1\nNone\n".encode()


def test_json_values_without_a_json_form(tmp_path):
    record = {
        "t": datetime(2020, 1, 2, 3, tzinfo=UTC),
        "d": date(2020, 1, 2),
        "b": b"\x00\xff",
        "n": Decimal("1.10"),
        "r": Row(a=Pair(1, "x")),
        "o": Order(1, None),
        "s": {3},
    }
    assert json.loads(written(FileSink.json(tmp_path), [record])) == {
        "t": "2020-01-02T03:00:00+00:00",
        "d": "2020-01-02",
        "b": "AP8=",
        "n": "1.10",
        "r": {"a": {"id": 1, "name": "x"}},
        "o": {"id": 1, "name": None},
        "s": [3],
    }


def test_json_stays_json_with_numbers_that_json_lacks(tmp_path):
    block = [{"x": float("nan"), "y": [float("-inf"), 1.5]}, {"x": float("inf")}]
    lines = written(FileSink.json(tmp_path), block).decode().splitlines()
    assert lines == ['{"x":"NaN","y":["-Infinity",1.5]}', '{"x":"Infinity"}']


def test_csv_quotes_and_nests(tmp_path):
    value = {"a": 'x,"\n', "b": [1, {"c": "é"}], "c": b"\x01"}
    [_, row] = csv.reader(io.StringIO(written(FileSink.csv(tmp_path, header=True), [value]).decode(), newline=""))
    assert row == ['x,"\n', '[1, {"c": "é"}]', "AQ=="]


def test_csv_header_shows_once_in_a_merged_file(tmp_path):
    sink = FileSink.csv(tmp_path, header=True, delimiter=";")
    assert written(sink, [Pair(1, "a")], [Pair(2, "b")], [{"name": "c"}]) == b"id;name\n1;a\n2;b\n;c\n"


def test_parquet_column_takes_its_type_from_its_first_value(tmp_path):
    blocks = [[{"id": 1, "x": None}], [{"id": None, "x": None}], [{"id": 2, "x": "a"}], [{"id": 3}]]
    table = parquet_of(FileSink.parquet(tmp_path), *blocks)
    assert table.schema.field("x").type == pa.string()
    assert table.column("x").to_pylist() == [None, None, "a", None]


def test_parquet_keeps_types_over_batches_and_nests(tmp_path):
    table = parquet_of(FileSink.parquet(tmp_path), [{"x": 1.5, "o": Order(1, "a")}], [{"x": 2, "o": Order(2, None)}])
    assert table.to_pylist() == [{"x": 1.5, "o": {"id": 1, "name": "a"}}, {"x": 2.0, "o": {"id": 2, "name": None}}]


def test_small_blocks_share_a_row_group(tmp_path):
    data = written(FileSink.parquet(tmp_path), *[[n] for n in range(5)])
    assert pq.ParquetFile(pa.BufferReader(data)).num_row_groups == 1


@pytest.mark.parametrize(
    ("sink", "blocks", "words"),
    [
        (lambda p: FileSink.parquet(p), [[{"id": 1}], [{"id": 2}, {"id": "x"}]], r"'orders'.*field 'id'.*'x'.*int64"),
        (lambda p: FileSink.parquet(p), [[{"id": 1}, {"id": "x"}]], "'orders'.*field 'id'.*'x'.*still unknown"),
        (lambda p: FileSink.parquet(p), [[{"id": 1}], [{"id": 2, "new": 5}]], "'orders'.*field 'new'.*value 5.*are id"),
        (lambda p: FileSink.parquet(p, PAIR_TYPE), [[(1, 2)]], "field 'name'.*value 2 into .*string"),
        (lambda p: FileSink.parquet(p, PAIR_TYPE), [[(1, "a", 3)]], "3 fields where 2 are expected"),
        (lambda p: FileSink.parquet(p), [[2**70]], "field 'value'"),
        (lambda p: FileSink.csv(p), [[{"id": 1}], [{"new": 2}]], "'orders'.*field 'new'"),
        (lambda p: FileSink.csv(p, PAIR_TYPE), [[7]], "not a record with the fields id, name"),
        (lambda p: FileSink.json(p), [[{"ok": 1}, {"x": object}]], "'orders'.*as JSON.*cannot be written as JSON"),
        (lambda p: FileSink.json(p, PAIR_TYPE), [[(1,)]], "as JSON: it has 1 fields"),
        (lambda p: FileSink.text(p, lambda v: v), [[b"a", "b"]], "'orders'.*'b' as text"),
        (lambda p: FileSink.text(p), [["\ud800"]], "'orders'.*as text"),
    ],
)
def test_records_that_do_not_fit_are_named(sink, blocks, words, tmp_path):
    with pytest.raises(SinkError, match=words):
        written(sink(tmp_path), *blocks)


def test_errors_show_huge_values_in_short(tmp_path):
    with pytest.raises(SinkError) as caught:
        written(FileSink.parquet(tmp_path), [1], ["x" * 10**6])
    assert len(str(caught.value)) < 2000


def test_ragged_tuples_are_refused():
    with pytest.raises(RecordShapeError):
        to_columns([(1, 2), (3,)])


def test_bulk_writers_under_pyflink_names(tmp_path):
    schema = CsvSchema.builder().add_number_column("id").add_string_column("name").set_use_header()
    sink = FileSink.for_bulk_format(tmp_path / "c", CsvBulkWriters.for_schema(schema.set_column_separator("|").build()))
    assert written(sink.build(), [(1, "a")]) == b'"id"|"name"\n1|"a"\n'
    sink = FileSink.for_bulk_format(tmp_path / "p", ParquetBulkWriters.for_row_type(PAIR_TYPE))
    assert parquet_of(sink.build(), [(1, "a")]).to_pylist() == EXPECTED[:1]
    with pytest.raises(ConfigurationError, match="already has a column 'id'"):
        schema.add_string_column("id")


def test_ddl_of_declared_types():
    nested = Types.ROW_NAMED(["a b", "l"], [Types.INT(), Types.LIST(Types.STRING())])
    declared = Types.ROW_NAMED(["id", "n", "m"], [Types.LONG(), nested, Types.MAP(Types.STRING(), Types.DOUBLE())])
    assert schema_to_ddl(declared) == (
        "`id` BIGINT, `n` STRUCT<`a b`: INT, `l`: ARRAY<STRING>>, `m` MAP<STRING, DOUBLE>"
    )
    assert schema_to_ddl("x INT") == "x INT" and schema_to_ddl(Types.BOOLEAN()) == "`value` BOOLEAN"
    assert (
        arrow_to_ddl(pa.timestamp("us", "UTC")) == "TIMESTAMP" and arrow_to_ddl(pa.timestamp("us")) == "TIMESTAMP_NTZ"
    )
    assert arrow_to_ddl(pa.decimal128(5, 2)) == "DECIMAL(5, 2)"
    with pytest.raises(ConfigurationError, match="no type for"):
        arrow_to_ddl(pa.time64("us"))
    with pytest.raises(ConfigurationError, match="DDL text"):
        schema_to_ddl(5)
