"""Files read by Penstock itself give what Spark reads from them: the same columns, values and nulls."""

from __future__ import annotations

import bz2
import datetime
import gzip
import json
import math
import random
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.connectors.files.source import FileReading, FileSource
from penstock.connectors.frame_source import batch_to_values
from penstock.datastream import StreamExecutionEnvironment

THREE = "a STRING, b STRING, c STRING"
RFC = {"escape": '"'}
TYPED = (
    "a BIGINT, b DOUBLE, c BOOLEAN, d DECIMAL(10, 2), e DATE, f TIMESTAMP, g TIMESTAMP_NTZ, h INT, i TINYINT, j FLOAT, "
    "k BINARY"
)


def by_spark(spark: SparkSession, source: FileSource) -> list[Any]:
    reader = spark.read.format(source.reading.file_format).options(**source._options())
    schema = source._schema(spark)
    frame = (reader if schema is None else reader.schema(schema)).load(source.paths)
    return [value for batch in frame.toArrow().to_batches() for value in batch_to_values(batch, source.row_format)]


def by_penstock(source: FileSource, seed: int | None = None) -> list[Any]:
    environment = StreamExecutionEnvironment.in_process(seed)
    return list(environment.from_source(source, None, "files").execute_and_collect())


def shown(records: list[Any]) -> list[str]:
    """Records as texts, for NaN is not equal to itself, and files come in any order."""
    return sorted(repr(record) for record in records)


def assert_same(spark: SparkSession, source: FileSource) -> None:
    assert shown(by_penstock(source)) == shown(by_spark(spark, source)), source.paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made


def of(folder: Path, kind: str, schema: Any = None, options: dict[str, str] | None = None, **more: Any) -> FileSource:
    return FileSource(str(folder), FileReading(kind, options or {}, schema, **more))


def write(folder: Path, *contents: bytes | str, suffix: str = "") -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    for number, content in enumerate(contents):
        (folder / f"{number}{suffix}").write_bytes(content.encode() if isinstance(content, str) else content)


def test_text(spark: SparkSession, folder: Path) -> None:
    write(folder, b"a\nb\r\nc\rd", b"\xef\xbb\xbfa\n", b"\n\n", b"", b"x\r\r\ny\n", "ä\n" * 3000)
    (folder / "_hidden").write_text("no")
    (folder / ".hidden").write_text("no")
    (folder / "inner").mkdir()
    (folder / "inner" / "deep.gz").write_bytes(gzip.compress(b"deep\n"))
    (folder / "inner" / "deep.bz2").write_bytes(bz2.compress(b"b\n" * 10))
    assert_same(spark, of(folder, "text"))
    assert_same(spark, of(folder, "text", glob="*.{gz,bz2}"))
    assert_same(spark, of(folder / "[0-3]", "text"))
    assert_same(spark, of(folder / "in*", "text"))


QUOTING = [
    '1,"x",3\n', '"a ""b"" c",2\n', '"a\\",b\n', '"ab"x,2\n', '"ab" ,2\n', ' "ab",2\n', '"un,2\n3,4\n', '"",2,\n',
    ',"",\n',
    "1\n", "1,2,3,4\n", "\n\n1,2\n   \n", "a\\,b,c\n", '"a,b",c\r\nx\r\n', "x\ry\n", "\t1 , 2\n", '"""",x\n',
    '"""a""",x\n',
    '"a""\n', '"a"",b"\n', 'a""b,c\n', '"a" x,b\n', '"a""b"x,c\n', '"a\n', '","\n', '" a ",b\n', '"a"  \n', 'a"b,c"d\n',
]  # fmt: skip


def test_csv_quoting(spark: SparkSession, folder: Path) -> None:
    write(folder, *QUOTING)
    assert_same(spark, of(folder, "csv", THREE, RFC))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('1,NA\n2,x\n"NA",""\n,q\n', {"nullValue": "NA"}),
        ("#c\n1,2\n", {"comment": "#"}),
        ("'a,b',c\n", {"quote": "'"}),
        ('"a,b",c\n', {"quote": ""}),
        ('"a \\"b\\" c","\\\\","a\\n","a\\\\\\"b"\n', {"escape": "\\"}),
        ("a||b\n", {"sep": "||"}),
        ("1;2;3\n4;5;6\n", {"sep": ",", "lineSep": ";"}),
        ("a,b\n1,2\na,b\n", {"header": "true"}),
        ("\n\nx\n1\n", {"header": "true"}),
    ],
)
def test_csv_layouts(spark: SparkSession, folder: Path, text: str, options: dict[str, str]) -> None:
    write(folder, text)
    assert_same(spark, of(folder, "csv", THREE, RFC | options))


def test_csv_types_and_bad_fields(spark: SparkSession, folder: Path) -> None:
    texts = [
        "1",
        "1.0",
        " 1",
        "1 ",
        "+1",
        "-0",
        "99999999999999999999",
        "abc",
        "1e3",
        "0x1",
        "1_0",
        "1.5",
        "NaN",
        "nan",
        "Inf",
        "-Inf",
        "Infinity",
        "1e400",
        " 1.5",
        "1.5d",
        ".5",
        "5.",
        "true",
        "TRUE",
        "t",
        "yes",
        "False",
        " true",
        "1.239",
        "12345678901",
        "-1.2",
        "1e1",
        "2020-01-02",
        "2020-1-2",
        "2020-01-02 10:11:12",
        "2020",
        "20200102",
        " 2020-01-02",
        "2020-13-01",
        "2020-01-02T00:00:00Z",
        "2020-01-02T10:11:12.123456",
        "2020-01-02T10:11:12.123456789",
        "2020-01-02T10:11:12+02:00",
        "2020-01-02 10:11",
        "300",
        "3000000000",
        "-128",
        "-129",
        "",
        "x",
    ]
    write(folder, "".join(";".join([text] * 11) + "\n" for text in texts))
    assert_same(spark, of(folder, "csv", TYPED, {"sep": ";", **RFC}))


INFERRED_CSV = [
    "1,x\n2,y\n", "1\n1.5\n", "1\n99999999999\n", "1\nx\n", "true\nfalse\n", "true\n1\n", "2020-01-02\n",
    "2020-01-02 10:11:12\n", "2020-01-02\n2020-01-02 10:11:12\n", "2020-01-02T10:11:12Z\n", "99999999999999999999\n1\n",
    "1e5\n", '"1"\n', "1,\n,2\n", ",\n,\n", "NaN\n1\n", "-5\n", "+5\n", " 1\n", "a,b\n1,2,3\n", "1,2\n1\n",
    "1.0\n2020-01-01\n",
]  # fmt: skip


@pytest.mark.parametrize("text", INFERRED_CSV)
def test_csv_columns_are_learned_alike(spark: SparkSession, folder: Path, text: str) -> None:
    write(folder, text)
    assert_same(spark, of(folder, "csv", None, RFC))


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a,,a\n1,2,3\n", "a,A\n1,2\n", '"a b","c,d"\n1,2\n', "a,b\n1,2,3\n3\n"])
def test_csv_headers_are_taken_alike(spark: SparkSession, folder: Path, text: str) -> None:
    write(folder, text, text)
    assert_same(spark, of(folder, "csv", None, {"header": "true", **RFC}))


def test_random_csv_cut_anywhere(spark: SparkSession, folder: Path, seed: int) -> None:
    chance = random.Random(seed)

    def field() -> str:
        text = "".join(chance.choice('ab ,"\\é1') for _ in range(chance.randint(0, 12)))
        return '"' + text.replace('"', '""') + '"' if chance.random() < 0.7 or '"' in text or "," in text else text

    lines = [",".join(field() for _ in range(chance.randint(1, 4))) for _ in range(400)]
    write(folder, *("\n".join(lines[part::3]) + chance.choice(["", "\n"]) for part in range(3)))
    source = of(folder, "csv", THREE, RFC)
    expected = shown(by_spark(spark, source))
    assert shown(by_penstock(source)) == expected
    assert shown(by_penstock(source, seed)) == expected


JSON_LINES = [
    '{"a":1,"b":"x","c":2.5}', '{"a":1.0,"b":2,"c":1}', '{"a":"1","b":true,"c":"x"}', '{"b":{"x":[1, 2]}}',
    '{"b":[1,"a"]}',
    '{"a":1', '[{"a":1},{"a":2}]', "5", '"x"', "null", "", "  ", "{}", '{"a":99999999999999999999}', '{"c":"NaN"}',
    '{"c":NaN}', '{"c":"Infinity"}', '{"A":1}', '{"a":1,"a":2}', '{"a":null}', '{"a":1} {"a":2}', '{"a":1}x',
    '{"b":1.50}',
    '{"b":1e3}', '{"c":1e400}', '{"a":1e2}', "{'a':1}", '{"a":01}', '{"b":"\\u00e4\\n"}', '{"a":true}', '{"c":true}',
    '{"a":1,}', '{"a":[1]}', '{"a":-5,"c":-0.0}', '{"a":1,"b":"x" "c":2}', '{"b":"y","a":{"z":1},"c":1.5}',
    '{"b":12345678901234567890123}', ' {"b": {"q" : "\\"}"} , "a": 3}',
]  # fmt: skip


def test_json_and_bad_records(spark: SparkSession, folder: Path) -> None:
    write(folder, "\n".join(JSON_LINES))
    assert_same(spark, of(folder, "json", "a BIGINT, b STRING, c DOUBLE"))


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("DATE", ['"2020-01-02"', '"x"', "5", '"2020"']),
        ("TIMESTAMP", ['"2020-01-02T10:11:12"', '"2020-01-02 10:11:12.5+01:00"', "1577959872", '"x"']),
        ("TIMESTAMP_NTZ", ['"2020-01-02T10:11:12"', '"x"']),
        ("DECIMAL(10, 2)", ["1.239", '"1.2"', "1.0", "7", "true", '"x"']),
        ("BINARY", ['"aGk="', "5"]),
        ("ARRAY<BIGINT>", ["[1,null]", '[1,"x"]', "5", "[]"]),
        ("ARRAY<STRING>", ["[1,2]", '["a",null]']),
        ("MAP<STRING, BIGINT>", ['{"k":1}', '{"k":"x"}', "5"]),
        ("STRUCT<x: BIGINT, y: STRING>", ['{"x":1,"z":2}', '{"x":"q"}', "5", "null"]),
        ("ARRAY<STRUCT<x: BIGINT>>", ['[{"x":1}]', "[]"]),
        ("BOOLEAN", ["true", '"true"', "1"]),
        ("TINYINT", ["300", "-5"]),
        ("FLOAT", ["1.5", "0.1"]),
        ("ARRAY<ARRAY<INT>>", ["[[1],[2]]"]),
    ],
)
def test_json_types(spark: SparkSession, folder: Path, kind: str, values: list[str]) -> None:
    write(folder, "\n".join(f'{{"a":{value},"b":1}}' for value in values))
    assert_same(spark, of(folder, "json", f"a {kind}, b BIGINT"))


@pytest.mark.parametrize(
    "text",
    [
        '{"b":1,"a":"x"}', '{"a":1}\n{"a":1.5}', '{"a":1}\n{"a":"x"}', '{"a":null}', '{"a":[]}', '{"a":[1,2.5]}',
        '{"a":[1,"x"]}', '{"a":{"y":1}}\n{"a":{"x":2}}', '{"a":99999999999999999999}\n{"a":1}', '{"a":1}\nbad',
        '{"a":true}\n{"a":1}', '{"a":"2020-01-02"}', '{"a":1}\n{"a":{"x":1}}', '{"a":[{"x":1},{"y":2}]}',
        '[{"a":1},{"b":2}]', '{"a":[]}\n{"a":5}', '{"a":null}\n{"a":5}', '{"a":1e5}', '{"a":{},"b":1}',
    ],
)  # fmt: skip
def test_json_columns_are_learned_alike(spark: SparkSession, folder: Path, text: str) -> None:
    write(folder, text)
    assert_same(spark, of(folder, "json"))


def a_table() -> pa.Table:
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5, 678901)
    return pa.table(
        {
            "i8": pa.array([1, None, -1], pa.int8()),
            "i32": pa.array([1, 2, None], pa.int32()),
            "u32": pa.array([1, 2**32 - 1, None], pa.uint32()),
            "f": pa.array([1.5, math.nan, None], pa.float32()),
            "s": ["a", None, "ä"],
            "b": [b"x", b"", None],
            "d": pa.array([moment.date(), None, moment.date()]),
            "dec": [Decimal("1.10"), None, Decimal("-9.99")],
            "at": pa.array([moment, None, moment], pa.timestamp("us", "UTC")),
            "local": pa.array([moment, None, moment], pa.timestamp("us")),
            "list": [[1, None], [], None],
            "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            "struct": [{"x": 1, "y": "q"}, None, {"x": None, "y": None}],
        }
    )


def test_parquet(spark: SparkSession, folder: Path) -> None:
    pq.write_table(a_table(), folder / "a.parquet")
    pq.write_table(a_table().slice(0, 0), folder / "empty.parquet")
    pq.write_table(a_table(), folder / "b.parquet", compression="zstd", row_group_size=1)
    assert_same(spark, of(folder, "parquet"))
    assert_same(spark, of(folder, "parquet", "s STRING, missing BIGINT, i32 INT"))


def test_orc(spark: SparkSession, folder: Path) -> None:
    table = a_table().drop_columns(["u32", "local", "map"])
    orc.write_table(table, folder / "a.orc")
    many = pa.table({"i32": pa.array(range(20_000), pa.int32()), "s": ["x" * 30] * 20_000})
    orc.write_table(many, folder / "b.orc", stripe_size=65536, batch_size=1024)
    assert_same(spark, of(folder, "orc", "s STRING, i32 INT, missing DOUBLE"))
    orc.write_table(table, folder / "b.orc", compression="zlib")
    assert_same(spark, of(folder, "orc"))


def test_what_a_file_sink_writes_is_read_back(spark: SparkSession, tmp_path: Path) -> None:
    """Quotes within quotes are doubled in CSV; Spark's own default would leave them in."""
    from penstock.common import Row
    from penstock.datastream.connectors.file_system import FileSink
    from penstock.datastream.connectors.file_system import FileSource as Files

    rows = [Row(a='say "hi", twice', b="back\\slash"), Row(a='"', b="x")]
    environment = StreamExecutionEnvironment.in_process()
    environment.from_collection(rows).sink_to(FileSink.csv(tmp_path / "out"))
    environment.execute()
    source = Files.csv(tmp_path / "out", schema="a STRING, b STRING")
    assert shown(by_penstock(source)) == shown(by_spark(spark, source)) == shown(rows)
    assert json.dumps([list(row) for row in by_penstock(source)])
