"""Sources that Spark reads: rows to values, and the calls a file source makes on a session."""

from __future__ import annotations

import glob
import threading
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

from penstock.common.time import Duration
from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.connectors.files.source import glob_of_file
from penstock.connectors.frame_source import FrameSource, batch_to_values
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.formats.csv import CsvReaderFormat, CsvSchema
from penstock.datastream.formats.parquet import ParquetColumnarRowInputFormat
from penstock.errors import ConfigurationError, SourceError

BATCH = pa.RecordBatch.from_pydict({"id": [1, 2], "name": ["a", None]})


@pytest.mark.parametrize(
    ("row_format", "expected"),
    [
        ("row", [Row(id=1, name="a"), Row(id=2, name=None)]),
        ("dict", [{"id": 1, "name": "a"}, {"id": 2, "name": None}]),
        ("tuple", [(1, "a"), (2, None)]),
        (lambda record: record["id"] * 10, [10, 20]),
    ],
)
def test_rows_become_values(row_format, expected):
    assert batch_to_values(BATCH, row_format) == expected


def test_rows_of_one_batch_share_no_values():
    first, second = batch_to_values(BATCH, "row")
    first[0] = 9
    assert second == Row(id=2, name=None) and first.name == "a"


def test_single_values_need_a_single_column():
    assert batch_to_values(BATCH.select(["name"]), "value") == ["a", None]
    with pytest.raises(SourceError, match="has 2 \\(id, name\\)"):
        batch_to_values(BATCH, "value")


def test_empty_batches_and_batches_without_columns():
    assert batch_to_values(BATCH.slice(0, 0), "row") == []
    assert batch_to_values(BATCH.select([]), "tuple") == [(), ()]


def test_unknown_row_format_is_refused_at_once():
    with pytest.raises(ConfigurationError, match="row_format must be one of 'row'"):
        FrameSource(lambda spark: spark, row_format="rows")


class FakeReader:
    """Records what is asked of a DataFrameReader or DataStreamReader."""

    def __init__(self, session: FakeSession, kind: str) -> None:
        self.session = session
        self.asked: dict[str, Any] = {"kind": kind, "options": {}}

    def format(self, name: str) -> FakeReader:
        self.asked["format"] = name
        return self

    def options(self, **options: str) -> FakeReader:
        self.asked["options"] |= options
        return self

    def option(self, key: str, value: str) -> FakeReader:
        return self.options(**{key: value})

    def schema(self, schema: Any) -> FakeReader:
        self.asked["schema"] = schema
        return self

    def load(self, path: Any) -> FakeFrame:
        self.session.loads.append({**self.asked, "path": path})
        if self.session.failure is not None:
            raise self.session.failure
        return FakeFrame([path], self.session.inferred)


class FakeFrame:
    def __init__(self, paths: list[Any], schema: list[str]) -> None:
        self.paths = paths
        self.schema = schema

    def unionByName(self, other: FakeFrame) -> FakeFrame:
        return FakeFrame(self.paths + other.paths, self.schema)


class FakeSession:
    def __init__(self, inferred: tuple[str, ...] = ("id",), failure: Exception | None = None) -> None:
        self.loads: list[dict[str, Any]] = []
        self.inferred = list(inferred)
        self.failure = failure

    @property
    def read(self) -> FakeReader:
        return FakeReader(self, "batch")

    @property
    def readStream(self) -> FakeReader:
        return FakeReader(self, "stream")


def loads_of(source: FileSource) -> list[dict[str, Any]]:
    session = FakeSession()
    source.make_frame(session)
    return session.loads


def test_folders_below_a_path_are_read_unless_told_otherwise():
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in")
    for source in (FileSource.text("/in"), builder.build()):
        assert loads_of(source)[0]["options"].pop("recursiveFileLookup") == "true"


def test_text_needs_no_schema():
    source = FileSource.text("/in", glob="*.log", recursive=False, max_files_per_batch=7)
    assert source.is_bounded() and source.row_format == "value"
    assert loads_of(source) == [
        {
            "kind": "stream",
            "format": "text",
            "path": "/in",
            "options": {"pathGlobFilter": "*.log", "maxFilesPerTrigger": "7"},
        }
    ]


def test_declared_schema_is_used_as_it_is():
    declared = Types.ROW_NAMED(["id"], [Types.INT()])
    [load] = loads_of(FileSource.csv("/in", schema=declared, header=True, delimiter=";"))
    assert load["schema"] == "`id` INT"
    assert load["options"] == {"header": "true", "sep": ";", "escape": '"', "recursiveFileLookup": "true"}
    [load] = loads_of(FileSource.json("/in", schema="id BIGINT"))
    assert (load["schema"], load["format"]) == ("id BIGINT", "json")


def test_missing_schema_is_inferred_once_by_a_batch_read():
    first, second = loads_of(FileSource.csv("/in"))
    assert (first["kind"], first["path"]) == ("batch", ["/in"])
    assert first["options"]["inferSchema"] == "true"
    assert (second["kind"], second["schema"]) == ("stream", ["id"])


@pytest.mark.parametrize(
    ("session", "words"),
    [
        (FakeSession(inferred=()), "no parquet files to infer columns from: pass a schema"),
        (FakeSession(failure=ValueError("[UNABLE_TO_INFER_SCHEMA] x")), "no parquet files to infer columns from"),
        (FakeSession(failure=ValueError("[PATH_NOT_FOUND] x")), "cannot read /in: there is no such file"),
        (FakeSession(failure=ValueError("\nodd\ntrace")), "cannot read /in: odd$"),
    ],
)
def test_what_spark_cannot_read_is_said_in_a_sentence(session, words):
    with pytest.raises(SourceError, match=words):
        FileSource.parquet("/in").make_frame(session)


def test_several_paths_are_united():
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format("UTF-16"), "/a", "/b").build()
    session = FakeSession()
    assert source.make_frame(session).paths == ["/a", "/b"]
    assert session.loads[0]["options"] == {"encoding": "UTF-16", "recursiveFileLookup": "true"}


def test_watching_is_unbounded():
    builder = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(), "/a")
    source = builder.monitor_continuously(Duration.of_seconds(2)).build()
    assert not source.is_bounded() and source.discovery_ms == 2000 and source.row_format == "row"
    assert builder.process_static_file_set().build().is_bounded()
    assert not FileSource.text("/a", monitor_interval=Duration.of_millis(5)).is_bounded()


def test_csv_schema_gives_columns_and_layout():
    schema = CsvSchema.builder().add_number_column("id", Types.INT()).add_boolean_column("ok").set_use_header()
    schema = schema.set_allow_comments().disable_quote_char().build()
    [load] = loads_of(FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), "/a").build())
    assert load["schema"] == "`id` INT, `ok` BOOLEAN" and len(schema) == 2
    layout = {"header": "true", "comment": "#", "quote": "", "escape": '"'}
    assert load["options"] == {**layout, "recursiveFileLookup": "true"}


def test_a_single_file_is_given_as_a_glob(tmp_path):
    for name in ("plain.txt", "we{i}rd [1]*.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "plain_txt").write_text("x")
    pattern = loads_of(FileSource.text(tmp_path / "plain.txt"))[0]["path"]
    assert glob.glob(pattern) == [str(tmp_path / "plain.txt")] and pattern != str(tmp_path / "plain.txt")
    assert glob_of_file("/d/we{i}rd [1]*.txt") == "/d/we\\{i\\}rd \\[1\\]\\*.txt"
    assert loads_of(FileSource.text(tmp_path))[0]["path"] == str(tmp_path)


def test_a_source_is_sent_without_its_frame_which_stays_on_the_driver():
    session = threading.Lock()  # like a Spark session, it cannot be pickled
    source = FrameSource(lambda _: session, bounded=True, row_format="dict")
    sent = cloudpickle.loads(cloudpickle.dumps(source))
    assert (sent.bounded, sent.row_format) == (True, "dict")
    assert source.make_frame(None) is session


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FileSource.text(""), "at least one path"),
        (lambda: FileSource.for_record_stream_format(StreamFormat.text_line_format()).build(), "at least one path"),
        (lambda: FileSource.text("/a", max_files_per_batch=0), "max_files_per_batch"),
        (lambda: FileSource.text("/a", monitor_interval=Duration.of_millis(0)), "discovery interval"),
        (lambda: FileSource.json("/a", schema=["id"]), "DDL text"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(ConfigurationError, match=words):
        make()
