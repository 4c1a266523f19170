"""Files that Penstock reads itself: cut anywhere, killed anywhere, watched, gone, cut short."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs as arrow_fs

from penstock.common import Configuration, Duration, Row, WatermarkStrategy
from penstock.connectors.files.lines import lines_of
from penstock.datastream import AggregateFunction, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import ConfigurationError, JobFailedError, SourceError
from penstock.formats.column_types import ddl_to_arrow
from penstock.testing import CollectSink, ManualClock

ROWS = [Row(n=number, text=f"t,{number}" * (number % 5)) for number in range(200)]


def write_all(folder: Path) -> dict[str, FileSource]:
    """The same rows in every format, in three files each."""
    schema = "n BIGINT, text STRING"
    for number, part in enumerate((ROWS[:120], ROWS[120:199], ROWS[199:])):
        columns = pa.table({"n": [row.n for row in part], "text": [row.text for row in part]})
        for kind in ("csv", "json", "parquet", "orc", "gz"):
            (folder / kind).mkdir(exist_ok=True)
        pq.write_table(columns, folder / "parquet" / f"{number}.parquet", row_group_size=13)
        orc.write_table(columns, folder / "orc" / f"{number}.orc")
        lines = "\n".join(json.dumps({"n": row.n, "text": row.text}) for row in part)
        (folder / "json" / f"{number}.json").write_text(lines)
        (folder / "gz" / f"{number}.json.gz").write_bytes(gzip.compress(lines.encode()))
        (folder / "csv" / f"{number}.csv").write_text(
            "n,text\r\n" + "".join(f'{row.n},"{row.text}"\r\n' for row in part)
        )
    return {
        "csv": FileSource.csv(folder / "csv", schema, header=True),
        "json": FileSource.json(folder / "json", schema),
        "gz": FileSource.json(folder / "gz", schema),
        "parquet": FileSource.parquet(folder / "parquet"),
        "orc": FileSource.orc(folder / "orc"),
    }


@pytest.mark.parametrize("kind", ["csv", "json", "gz", "parquet", "orc"])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_every_row_once_whatever_is_cut_and_killed(tmp_path: Path, kind: str, seed: int | None) -> None:
    source = write_all(tmp_path)[kind]
    crashes = {} if seed is None else {"crash_rate": 0.02}
    env = StreamExecutionEnvironment.in_process(seed, **crashes).set_parallelism(2)
    found = sorted(env.from_source(source, None, "files").execute_and_collect(), key=lambda row: row.n)
    wanted = [Row(n=row.n, text=row.text or None) for row in ROWS] if kind == "csv" else ROWS
    assert found == wanted


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", b"\xc3\xa9"]), max_size=40), st.data())
def test_a_line_is_in_exactly_one_range(tmp_path_factory: Any, parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    path = tmp_path_factory.mktemp("lines") / "a"
    path.write_bytes(text)
    files = arrow_fs.LocalFileSystem()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=5)))
    edges = [0, *cuts, len(text)]
    ranges = itertools.pairwise(edges)
    found = [line for start, stop in ranges for line in lines_of(files, str(path), start, stop, None)]
    assert found == list(lines_of(files, str(path), 0, None, None))
    assert found == text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removesuffix(b"\n").split(b"\n")[: len(found)]
    assert b"".join(found) == text.replace(b"\r", b"").replace(b"\n", b"")


def test_files_that_come_later_are_read_once_across_a_savepoint(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a").write_text("1\n2\n")

    def start(sink: CollectSink, savepoint: str | None = None) -> Any:
        settings = Configuration()
        if savepoint is not None:
            settings.set_string("execution.state-recovery.path", savepoint)
        env = StreamExecutionEnvironment.in_process(clock=ManualClock(), configuration=settings).set_parallelism(2)
        source = FileSource.text(folder, monitor_interval=Duration.of_seconds(1), max_files_per_batch=1)
        env.from_source(source, None, "files").uid("files").add_sink(sink)
        return env.execute_async()

    first, second = CollectSink(), CollectSink()
    client = start(first)
    while len(first.results) < 2:
        client.run_batch()
    (folder / "b").write_text("3\n")
    while len(first.results) < 3:
        client.run_batch()
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    (folder / "c").write_text("4\n")
    client = start(second, savepoint)
    while not second.results:
        client.run_batch()
    client.stop()
    assert (first.results, second.results) == (["1", "2", "3"], ["4"])


def test_a_file_that_has_ended_holds_event_time_up_no_longer(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}").write_text(f"{number * 1000}\n")
    clock = ManualClock()
    env = StreamExecutionEnvironment.in_process(clock=clock).set_parallelism(1)
    by_text = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda text, _: int(text))
    source = FileSource.text(tmp_path, monitor_interval=Duration.of_seconds(1), max_files_per_batch=1)
    sink = CollectSink()
    lines = env.from_source(source, by_text, "files")

    class Marks(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timer_service().current_watermark()

    lines.process(Marks()).add_sink(sink)
    client: Any = env.execute_async()
    while len(sink.results) < 3:
        client.run_batch()
    assert [mark for _, mark in sink.results][1:] == [-1, 999]
    client.stop()


def test_a_clock_that_was_set_back_keeps_no_new_file_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    source = FileSource.text(tmp_path, monitor_interval=Duration.of_seconds(1))
    looks = source.on_engine("files", has_spark=False).create_enumerator("files")
    known = dict.fromkeys(looks.discover(None, 1_000_000_000), 0)
    (tmp_path / "b").write_text("2\n")
    assert looks.discover(known, 1_000_000_999) == {}, "the interval is not over"
    assert [Path(name).name for name in looks.discover(known, 5_000)] == ["b"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    def run(source: FileSource) -> None:
        env = StreamExecutionEnvironment.in_process()
        env.from_source(source, None, "files").print()
        env.execute()

    with pytest.raises(SourceError, match="no such file or directory"):
        run(FileSource.csv(tmp_path / "nowhere"))
    with pytest.raises(SourceError, match="no json files to infer columns from"):
        (tmp_path / "empty").mkdir()
        run(FileSource.json(tmp_path / "empty"))
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises((SourceError, JobFailedError), match=r"a\.parquet is not a complete parquet file"):
        run(FileSource.parquet(tmp_path / "a.parquet"))
    (tmp_path / "a.snappy").write_bytes(b"x")
    with pytest.raises((SourceError, JobFailedError), match="only Spark reads"):
        run(FileSource.text(tmp_path / "a.snappy"))


@pytest.mark.parametrize("wrong", ["", "a", "a NONSENSE", "a ARRAY<", "a INT b INT", "a; INT"])
def test_schemas_that_are_none_are_refused(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        ddl_to_arrow(wrong)


def test_schemas_of_every_kind() -> None:
    found = ddl_to_arrow(
        "`a b` STRUCT<x: INT, y MAP<STRING, ARRAY<DOUBLE>>> NOT NULL, d decimal, v varchar(5) COMMENT 'x'"
    )
    inner = pa.struct([("x", pa.int32()), ("y", pa.map_(pa.string(), pa.list_(pa.float64())))])
    assert found == pa.schema([("a b", inner), ("d", pa.decimal128(10, 0)), ("v", pa.string())])


def test_random_files_against_plain_python(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    wanted: list[str] = []
    for number in range(20):
        lines = ["x" * chance.randint(0, 200) for _ in range(chance.randint(0, 40))]
        (tmp_path / f"{number}").write_text("".join(f"{line}\n" for line in lines))
        wanted += lines
    env = StreamExecutionEnvironment.in_process(seed, crash_rate=0.01).set_parallelism(3)
    assert sorted(env.read_text_file(str(tmp_path)).execute_and_collect()) == sorted(wanted)


@pytest.mark.parametrize("parallelism", [1, 2, 5])
@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
def test_subtasks_without_files_do_not_end_time_for_the_others(tmp_path: Path, parallelism: int, mode: str) -> None:
    """Two files in all: a subtask that has none ends before the others have begun, and nothing may be late then."""
    for name, times in (("a", (1_000, 61_000)), ("b", (2_000, 62_000))):
        (tmp_path / name).write_text("".join(f"{time_ms}\n" for time_ms in times))
    settings = Configuration().set_string("penstock.execution.mode", mode)
    environment = StreamExecutionEnvironment.in_process(configuration=settings).set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda line, _: int(line))
    lines = environment.from_source(FileSource.text(str(tmp_path)), strategy, "lines")
    windows = lines.key_by(lambda line: 0).window(TumblingEventTimeWindows.of(Duration.of_minutes(1)))
    counts = windows.aggregate(Counting()).execute_and_collect()
    assert list(counts) == [2, 2]


class Counting(AggregateFunction):
    """How many there are."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b
