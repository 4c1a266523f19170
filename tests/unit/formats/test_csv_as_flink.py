"""CSV by PyFlink's names: what its writer quotes, what its escape means to a reader, types of tables as columns."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, FileSource
from penstock.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from penstock.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from penstock.errors import ConfigurationError, JobFailedError
from penstock.table import DataTypes

Change = Callable[[Any], Any]


def texts(change: Change = lambda builder: builder) -> CsvSchema:
    return change(CsvSchema.builder().add_string_column("a").add_string_column("b")).build()  # type: ignore[no-any-return]


def read(schema: CsvSchema, path: Path) -> list[Any]:
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(path)).build()
    env = StreamExecutionEnvironment.in_process()
    return list(env.from_source(source, WatermarkStrategy.no_watermarks(), "csv").execute_and_collect())


def written(schema: CsvSchema, rows: list[Any], folder: Path) -> str:
    env = StreamExecutionEnvironment.in_process()
    sink = FileSink.for_bulk_format(str(folder), CsvBulkWriters.for_schema(schema)).build()
    env.from_collection(rows).sink_to(sink)
    env.execute()
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()).decode()


LINES: dict[str, tuple[Change, list[Any], str]] = {
    "as they are": (lambda b: b, [("x", "z-z"), ("", None)], "x,z-z\n,\n"),
    "a sign up to the separator": (lambda b: b, [("a b", "a#b"), ("a,b", 'q"q')], '"a b","a#b"\n"a,b","q""q"\n'),
    "long texts": (lambda b: b, [("x" * 24, "x" * 25)], f'{"x" * 24},"{"x" * 25}"\n'),
    "a high separator": (lambda b: b.set_column_separator("|"), [("x", "~")], '"x"|~\n'),
    "another quote": (lambda b: b.set_quote_char("'"), [("it's", 'a"b')], "'it''s','a\"b'\n"),
    "no quote": (lambda b: b.disable_quote_char(), [("x", '"y"')], 'x,"y"\n'),
    "an escape": (lambda b: b.set_escape_char("\\"), [("a\\b", '"'), ("x", "y")], '"a\\\\b",""""\nx,y\n'),
    "a text for None": (lambda b: b.set_null_value("NULL"), [(None, "x")], "NULL,x\n"),
    "a header": (lambda b: b.set_use_header(), [("1", "2")], "a,b\n1,2\n"),
    "another line end": (lambda b: b.set_line_separator("\r\n"), [("1", "2")], "1,2\r\n"),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_are_written_as_flink_writes_them(tmp_path: Path, name: str) -> None:
    change, rows, expected = LINES[name]
    assert written(texts(change), rows, tmp_path) == expected


def test_a_text_that_needs_quotes_is_refused_where_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(JobFailedError, match="'a,b' needs quotes, but quoting is off"):
        written(texts(lambda b: b.disable_quote_char()), [("a,b", "x")], tmp_path)


def test_numbers_and_lists_are_written_as_java_writes_them(tmp_path: Path) -> None:
    builder = CsvSchema.builder().add_number_column("f", DataTypes.FLOAT()).add_number_column("d", DataTypes.DOUBLE())
    builder.add_boolean_column("b").add_array_column("n", ";", DataTypes.INT()).add_array_column("s", ":")
    rows = [(1.1, 1e10, True, [1, 2], ["x", "y"]), (3e38, 0.5, False, None, [])]
    assert written(builder.build(), rows, tmp_path) == "1.1,1.0E10,true,1;2,x:y\n3.0E38,0.5,false,,\n"


def test_an_escape_makes_the_next_sign_literal_in_quotes_and_outside(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('x\\,1,\\"y\\"\n"in \\" ""q""",b\\\\s\nt\\tb,plain\n,"x,y"\n')
    found = read(texts(lambda b: b.set_escape_char("\\")), tmp_path)
    assert [tuple(row) for row in found] == [("x,1", '"y"'), ('in " "q"', "b\\s"), ("t\tb", "plain"), (None, "x,y")]


def test_columns_may_have_types_of_tables(tmp_path: Path) -> None:
    builder = CsvSchema.builder().add_number_column("tiny", DataTypes.TINYINT())
    builder.add_number_column("price", DataTypes.DECIMAL(5, 2)).add_array_column("n", ";", DataTypes.INT())
    (tmp_path / "a.csv").write_text("127,1.005,1;2\n128,12.3,\n")
    assert read(builder.build(), tmp_path) == [
        Row(tiny=127, price=Decimal("1.01"), n=[1, 2]),
        Row(tiny=None, price=Decimal("12.30"), n=None),
    ]


def test_parquet_columns_may_have_types_of_tables(tmp_path: Path) -> None:
    fields = [DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.STRING()))]
    row_type = DataTypes.ROW(fields)
    env = StreamExecutionEnvironment.in_process()
    rows = [Row(id=1, tags=["a"]), Row(id=2, tags=None)]
    sink = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(row_type)).build()
    env.from_collection(rows).sink_to(sink)
    env.execute()
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), str(tmp_path)).build()
    assert list(env.from_source(source, WatermarkStrategy.no_watermarks(), "p").execute_and_collect()) in (
        rows,
        rows[::-1],
    )


def test_a_type_that_no_file_has_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="A column of a file cannot be INTERVAL"):
        CsvSchema.builder().add_number_column("i", DataTypes.INTERVAL(DataTypes.SECOND(3)))


def test_messages_double_quotes_and_escapes_and_take_rows_in_a_field() -> None:
    inner = Types.ROW([Types.STRING(), Types.INT()])
    declared = Types.ROW([Types.STRING(), inner, Types.TUPLE([Types.INT(), Types.INT()])])

    def layout(builder: Any) -> Any:
        signed = builder.set_quote_character("'").set_escape_character("*")
        return signed.set_field_delimiter(";").set_array_element_delimiter(":").build()

    writer = layout(CsvRowSerializationSchema.Builder(declared))
    line = writer.serialize(Row("12'4*", Row("x", 7), (1, 2)))
    assert line == b"'12''4**';'x:7';'1:2'\n"
    reader = layout(CsvRowDeserializationSchema.Builder(declared))
    assert reader.deserialize(line) == Row(f0="12'4*", f1=Row(f0="x", f1=7), f2=(1, 2))
