"""PyFlink's file formats read in process: CSV layouts and arrays, Avro files cut anywhere, Parquet by Avro schemas."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyarrow.fs import LocalFileSystem

from penstock.common import Row, Types
from penstock.connectors.files.listing import ListedFile
from penstock.connectors.files.readers import AvroReader, ColumnReader, FileReader, TextReader
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.formats.avro import AvroInputFormat, AvroSchema
from penstock.datastream.formats.csv import CsvReaderFormat, CsvSchema
from penstock.datastream.formats.parquet import AvroParquetReaders
from penstock.errors import ConfigurationError, JobFailedError, SourceError


def collected(source: Any, seed: int | None = None, **more: Any) -> list[Any]:
    env = StreamExecutionEnvironment.in_process(seed, **more)
    return list(env.from_source(source, None, "files").execute_and_collect())


def of_csv(schema: CsvSchema, path: Path) -> list[Any]:
    return collected(FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(path)).build())


def test_arrays_quotes_and_skipped_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,tags,numbers\nfirst,row,1\n1,"a;b",1|2|3\n2,"say ""hi""",\n3,,x|4\n')
    builder = CsvSchema.builder().add_number_column("id").add_array_column("tags")
    builder.add_array_column("numbers", "|", Types.INT()).set_use_header().set_skip_first_data_row()
    assert of_csv(builder.build(), path) == [
        Row(id=1, tags=["a", "b"], numbers=[1, 2, 3]),
        Row(id=2, tags=['say "hi"'], numbers=None),
        Row(id=3, tags=None, numbers=[None, 4]),
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda builder: builder.set_array_element_separator(","), ["a;b", "c"]),
        (lambda builder: builder.disable_array_element_separator(), ["a;b,c"]),
        (lambda builder: builder.remove_array_element_separator(0), ["a;b,c"]),
        (lambda builder: builder.set_any_property_name("rest"), ["a", "b,c"]),
    ],
)
def test_separators_of_elements(tmp_path: Path, change: Any, expected: list[str]) -> None:
    (tmp_path / "a.csv").write_text('"a;b,c"\n')
    builder = change(CsvSchema.builder().add_array_column("tags"))
    assert of_csv(builder.build(), tmp_path) == [Row(tags=expected)]


def test_escapes_and_strict_headers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b\n"x \\"y\\"",1\n')
    builder = CsvSchema.builder().add_string_column("a").add_number_column("b").set_use_header().set_escape_char("\\")
    assert of_csv(builder.set_strict_headers().build(), tmp_path) == [Row(a='x "y"', b=1)]
    (tmp_path / "a.csv").write_text('a,b\n"x ""y""",1\n')
    assert of_csv(builder.disable_escape_char().build(), tmp_path) == [Row(a='x "y"', b=1)]
    (tmp_path / "a.csv").write_text("b,a\n1,x\n")
    with pytest.raises((JobFailedError, SourceError), match=r"header of .*a\.csv is 'b,a', but the columns are a, b"):
        of_csv(builder.build(), tmp_path)


def test_lines_of_another_charset(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("grün\nblau\n".encode("latin-1"))
    text = FileSource.for_record_stream_format(StreamFormat.text_line_format("ISO-8859-1"), str(tmp_path)).build()
    assert collected(text) == ["grün", "blau"]
    assert not text.reading.is_for_spark()


RECORD = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "inner", "type": {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}},
    ],
}
AT = datetime.datetime(2020, 1, 2, 3, 4, 5, 6, datetime.UTC)


def order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": None if number % 3 else f"n{number}",
        "tags": {"a": number},
        "price": Decimal(number).scaleb(-2),
        "at": AT,
        "kind": "AB"[number % 2],
        "inner": {"x": number},
    }


def write_avro(path: Path, numbers: range, codec: str = "null") -> None:
    with path.open("wb") as stream:
        fastavro.writer(stream, RECORD, [order(number) for number in numbers], codec=codec, sync_interval=300)


@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4])
def test_avro_files_are_read_whole_however_they_are_cut(tmp_path: Path, seed: int | None) -> None:
    write_avro(tmp_path / "a.avro", range(300))
    write_avro(tmp_path / "b.avro", range(300, 400), "deflate")
    write_avro(tmp_path / "empty.avro", range(0))
    crashes = {} if seed is None else {"crash_rate": 0.02}
    found = collected(FileSource.avro(tmp_path, row_format="dict"), seed, **crashes)
    assert sorted(found, key=lambda each: each["id"]) == [order(number) for number in range(400)]


def test_avro_rows_and_evolved_schemas(tmp_path: Path) -> None:
    write_avro(tmp_path / "a.avro", range(1))
    (row,) = collected(FileSource.avro(tmp_path))
    assert row == Row(**order(0))
    newer = {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "double"}, {"name": "added", "type": "string", "default": "new"}],
    }
    env = StreamExecutionEnvironment.in_process()
    records = env.create_input(AvroInputFormat(str(tmp_path), AvroSchema(newer)))
    assert list(records.execute_and_collect()) == [{"id": 0.0, "added": "new"}]


def test_an_avro_file_that_is_cut_short_is_named(tmp_path: Path) -> None:
    write_avro(tmp_path / "a.avro", range(50))
    whole = (tmp_path / "a.avro").read_bytes()
    (tmp_path / "a.avro").write_bytes(whole[: len(whole) - random.Random(1).randint(1, 100)])
    with pytest.raises((JobFailedError, SourceError), match=r"a\.avro is not a complete Avro file"):
        collected(FileSource.avro(tmp_path))


def damaged(whole: bytes, random: random.Random) -> bytes:
    """A file cut short, with bits flipped, with bytes lost or put in."""
    found = bytearray(whole)
    at = random.randrange(len(found))
    match random.randrange(4):
        case 0:
            del found[at:]
        case 1:
            found[at] ^= 1 << random.randrange(8)
        case 2:
            del found[at : at + random.randrange(1, 40)]
        case _:
            found[at:at] = random.randbytes(random.randrange(1, 40))
    return bytes(found)


def write_lines(path: Path, numbers: range) -> None:
    codec = "gzip" if path.suffix == ".gz" else "bz2"
    with pa.CompressedOutputStream(str(path), codec) as stream:
        stream.write("".join(f"{number}, and more\n" for number in numbers).encode())


def write_columns(path: Path, numbers: range) -> None:
    table = pa.table({"id": list(numbers), "text": [f"text {number}" for number in numbers]})
    if path.suffix == ".orc":
        orc.write_table(table, path, compression="zlib")
    else:
        pq.write_table(table, path, row_group_size=100, compression="gzip", write_page_checksum=True)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        *((f"a-{codec}.avro", partial(write_avro, codec=codec)) for codec in ("null", "deflate", "bzip2", "xz")),
        ("a.parquet", write_columns),
        ("a.orc", write_columns),
        ("a.txt.gz", write_lines),
        ("a.txt.bz2", write_lines),
    ],
)
def test_a_damaged_file_is_named_or_read_and_nothing_else(
    tmp_path: Path, name: str, write: Callable[[Path, range], None], seed: int
) -> None:
    path, chance = tmp_path / name, random.Random(seed)
    write(path, range(300))
    whole, named = path.read_bytes(), 0
    reader: FileReader
    match path.suffix:
        case ".avro":
            reader = AvroReader(None, "dict")
        case ".parquet" | ".orc":
            reader = ColumnReader(path.suffix[1:], pa.schema({"id": pa.int64(), "text": pa.string()}), "tuple")
        case _:
            reader = TextReader(pa.schema({"value": pa.string()}), "value")
    for _ in range(150):
        path.write_bytes(damaged(whole, chance))
        try:
            positions = reader.positions(LocalFileSystem(), ListedFile(str(path), path.stat().st_size, 0))
            for _ in reader.read(LocalFileSystem(), str(path), 0, positions):
                pass
        except SourceError as error:
            named += 1
            assert name in str(error)
            assert "Put a good copy in its place" in str(error)
    assert named > 30, "most damages are noticed"


def test_parquet_by_an_avro_schema(tmp_path: Path) -> None:
    table = pa.table(
        {
            "other": [1],
            "id": pa.array([7], pa.int64()),
            "tags": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
            "price": [Decimal("1.50")],
            "at": pa.array([AT], pa.timestamp("us", "UTC")),
            "kind": ["A"],
            "inner": [{"x": 5}],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    readers = AvroParquetReaders.for_generic_record(AvroSchema(RECORD))
    (found,) = collected(FileSource.for_record_stream_format(readers, str(tmp_path)).build())
    assert found == {
        **order(7),
        "name": None,
        "tags": {"a": 1},
        "price": Decimal("1.50"),
        "kind": "A",
        "inner": {"x": 5},
    }


def test_wrong_schemas_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no JSON"):
        FileSource.avro(tmp_path, "{")
    with pytest.raises(ConfigurationError, match="expected an AvroSchema"):
        AvroInputFormat(str(tmp_path), RECORD)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="must be one of records"):
        AvroParquetReaders.for_generic_record(AvroSchema("string"))
