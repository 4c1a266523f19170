"""Avro and ORC files, and Parquet by Avro schemas: what is written is read back; what does not fit is refused."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from penstock.common import Configuration, Row, Types
from penstock.connectors.files.rolling import RollingPolicy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import BucketAssigner, FileSink
from penstock.datastream.formats.avro import AvroBulkWriters, AvroSchema
from penstock.datastream.formats.orc import OrcBulkWriters
from penstock.datastream.formats.parquet import AvroParquetWriters
from penstock.errors import ConfigurationError, JobFailedError, SinkError
from penstock.formats.avro_format import AvroFormat
from tests.unit.connectors.file_sink_job import FileSinkJob, published

FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "tags", "type": {"type": "map", "values": "int"}},
    {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
        {"name": "n", "type": "int"}]}}},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["a", "b"]}},
    {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
]  # fmt: skip
SCHEMA = AvroSchema.parse_string(json.dumps({"type": "record", "name": "Order", "fields": FIELDS}))
NOON = dt.datetime(2020, 1, 1, 12, 0, 0, 5, tzinfo=dt.UTC)


def order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": None if number % 2 else f"n{number}",
        "day": dt.date(2020, 1, 1),
        "at": NOON,
        "price": Decimal("1.50"),
        "tags": {"x": number},
        "lines": [{"n": 1}, {"n": number}],
        "kind": "a",
        "hash": b"xy",
    }


@dataclass
class Pair:
    id: int
    name: str | None


PAIR = AvroSchema.parse_string(json.dumps({"type": "record", "name": "Pair", "fields": FIELDS[:2]}))
PAIR_ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


def read_avro(path: Path) -> list[Any]:
    with path.open("rb") as stream:
        return list(fastavro.reader(stream))


READERS: dict[str, Any] = {
    "avro": (AvroBulkWriters.for_generic_record, read_avro),
    "parquet": (AvroParquetWriters.for_generic_record, lambda path: pq.read_table(path).to_pylist()),
}


def sink(path: Path, writers: Any, policy: RollingPolicy | None = None) -> FileSink:
    builder = FileSink.for_bulk_format(str(path), writers)
    builder = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    return (builder if policy is None else builder.with_rolling_policy(policy)).build()


@pytest.mark.parametrize("kind", READERS)
def test_a_job_writes_records_that_are_read_back(tmp_path: Path, kind: str) -> None:
    make, read = READERS[kind]
    environment = StreamExecutionEnvironment.in_process(seed=3)
    environment.from_collection([order(number) for number in range(20)]).sink_to(sink(tmp_path / "out", make(SCHEMA)))
    environment.execute()
    files = published(tmp_path / "out")
    found = sorted((record for path in files for record in read(path)), key=lambda record: record["id"])
    if kind == "parquet":
        for record in found:
            record["tags"] = dict(record["tags"])
    assert found == [order(number) for number in range(20)]
    assert {path.suffix for path in files} == {f".{kind}"}


@pytest.mark.parametrize("kind", [*READERS, "orc"])
def test_chunks_of_many_batches_become_one_file(tmp_path: Path, kind: str) -> None:
    make, read = READERS.get(kind, (None, lambda path: orc.read_table(path).to_pylist()))
    writers = OrcBulkWriters.for_row_type(PAIR_ROW) if make is None else make(PAIR)
    job = FileSinkJob(sink(tmp_path / "out", writers, RollingPolicy.default_rolling_policy()), parallelism=1)
    job.batch([[[{"id": 1, "name": "a"}, Row(id=2, name=None)]]])
    job.batch([[[(3, "c")]]], failures=("killed while writing",))
    job.batch([[[Pair(4, "d")]]], end=True, commits=(0.0, 1.0))
    (file,) = published(tmp_path / "out")
    expected = [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}, {"id": 4, "name": "d"}]
    assert read(file) == expected


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "change",
    [{"id": 2.5}, {"id": None}, {"day": NOON}, {"price": Decimal("1.234")}, {"kind": 5}, {"hash": b"x"}, {"more": 1}],
    ids=repr,
)
def test_a_value_that_does_not_fit_fails_the_job(tmp_path: Path, kind: str, change: dict[str, Any]) -> None:
    environment = StreamExecutionEnvironment.in_process()
    writers = READERS[kind][0](SCHEMA)
    environment.from_collection([{**order(1), **change}]).sink_to(sink(tmp_path / "out", writers)).name("orders")
    with pytest.raises(JobFailedError, match=f"orders.*{next(iter(change))}"):
        environment.execute()


def test_orc_keeps_types_and_refuses_what_does_not_fit(tmp_path: Path) -> None:
    types = {
        "a": (Types.INT(), 5),
        "b": (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 1, 0, 0, 0, 1)),
        "c": (Types.BIG_DEC(), Decimal("1.5")),
        "d": (Types.LIST(Types.STRING()), ["x"]),
        "e": (Types.MAP(Types.STRING(), Types.INT()), {"x": 1}),
        "f": (Types.FLOAT(), 0.5),
    }
    row_type = Types.ROW_NAMED(list(types), [kind for kind, _ in types.values()])
    job = FileSinkJob(sink(tmp_path / "out", OrcBulkWriters.for_row_type(row_type)), parallelism=1)
    job.batch([[[{name: value for name, (_, value) in types.items()}]]], end=True)
    (file,) = published(tmp_path / "out")
    (record,) = orc.read_table(file).to_pylist()
    assert {**record, "e": dict(record["e"])} == {name: value for name, (_, value) in types.items()}
    with pytest.raises(SinkError, match=r"'orders' cannot write the field 'a' with the value 2\.5 into ORC"):
        job.attempt([[[{"a": 2.5}]]])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: AvroBulkWriters.for_generic_record("{}"), "AvroSchema"),
        (lambda: AvroParquetWriters.for_generic_record("{}"), "AvroSchema"),
        (lambda: AvroFormat('{"type":"nothing"}'), "Not an Avro schema"),
        (lambda: AvroFormat('"int"', codec="lz5"), "codec"),
        (lambda: AvroParquetWriters.for_generic_record(AvroSchema("int")), "record"),
        (lambda: AvroParquetWriters.for_generic_record(AvroSchema({"type": "record", "name": "R", "fields": [
            {"name": "a", "type": ["int", "string"]}]})), "one type"),
        (lambda: AvroParquetWriters.for_generic_record(AvroSchema({"type": "record", "name": "R", "fields": [
            {"name": "a", "type": ["null", "R"]}]})), "holds itself"),
        (lambda: OrcBulkWriters.for_row_type("a INT"), r"Types\.ROW_NAMED"),
        (lambda: OrcBulkWriters.for_row_type(PAIR_ROW, given("orc.stripe", "1")), "orc.compress"),
        (lambda: OrcBulkWriters.for_row_type(PAIR_ROW, None, given("fs.x", "1")), "Hadoop"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make()


def given(key: str, value: str) -> Configuration:
    configuration = Configuration()
    configuration.set_string(key, value)
    return configuration


def test_compression_of_orc(tmp_path: Path) -> None:
    format_ = OrcBulkWriters.for_row_type(PAIR_ROW, given("orc.compress", "ZSTD"))
    job = FileSinkJob(sink(tmp_path / "out", format_), parallelism=1)
    job.batch([[[(1, "a")]]], end=True)
    (file,) = published(tmp_path / "out")
    assert orc.ORCFile(file).compression == "ZSTD"
    assert pa.types.is_int64(orc.ORCFile(file).schema.field("id").type)
