"""Sources and sinks end to end: files, generators, Spark frames, printing, collecting, user sinks, Spark writers."""

from __future__ import annotations

import csv
import datetime
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.common import Duration, Row, Types
from penstock.datastream import RuntimeContext, SinkFunction
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, RollingPolicy
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.errors import JobFailedError
from tests.spark.collecting import collect_all
from tests.spark.conftest import NewEnvironment


def write_at_once(path: Path, text: str) -> None:
    """Files must appear whole."""
    draft = path.parent.parent / f".{path.name}"
    draft.write_text(text)
    draft.rename(path)


def folder(parent: Path, name: str, text: str) -> Path:
    made = parent / name
    made.mkdir()
    write_at_once(made / f"one.{name}", text)
    return made


def test_bounded_sources_bring_everything_once_and_end(new_environment: NewEnvironment, tmp_path: Path) -> None:
    text = folder(tmp_path, "text", "a\nb\n\nc\n")
    csvs = folder(tmp_path, "csv", "id,name\n1,ann\n2,bob\n")
    jsons = folder(tmp_path, "json", '{"id": 1, "name": "ann"}\n{"id": 2, "name": "bob"}\n')
    parquet = tmp_path / "parquet"
    parquet.mkdir()
    pq.write_table(pa.table({"id": [1, 2], "name": ["ann", "bob"]}), parquet / "one.parquet")
    environment = new_environment(2, **{"penstock.batch.max-records": 7})

    def files(source: FileSource) -> Any:
        return environment.from_source(source, None, "files")

    generator = DataGeneratorSource(lambda n, random: (n, random.random()), 20, seed=3)
    again = DataGeneratorSource(lambda n, random: (n, random.random()), 20, seed=3)
    limited = DataGeneratorSource(lambda n: n, 10, RateLimiterStrategy.per_second(20))
    found = collect_all(
        {
            "collection": environment.from_collection([1, "a", None]),
            "typed": environment.from_collection([(1, "a")], type_info=Types.TUPLE([Types.INT(), Types.STRING()])),
            "sequence": environment.from_sequence(1, 30),
            "sequence source": environment.from_source(NumberSequenceSource(5, 9), None, "numbers"),
            "generator": environment.from_source(generator, None, "generator"),
            "generator again": environment.from_source(again, None, "generator"),
            "rate limited": environment.from_source(limited, None, "limited"),
            "text": files(FileSource.text(text)),
            "text file": environment.read_text_file(str(text / "one.text")),
            "csv": files(FileSource.csv(csvs, header=True)),
            "json": files(FileSource.json(jsons, schema="id BIGINT, name STRING", row_format="dict")),
            "parquet": files(FileSource.parquet(parquet, row_format="tuple")),
        }
    )
    assert found["collection"] == [1, "a", None]
    assert found["typed"] == [(1, "a")]
    assert sorted(found["sequence"]) == list(range(1, 31))
    assert sorted(found["sequence source"]) == [5, 6, 7, 8, 9]
    assert sorted(n for n, _ in found["generator"]) == list(range(20))
    assert sorted(found["generator"]) == sorted(found["generator again"])
    assert sorted(found["rate limited"]) == list(range(10))
    assert sorted(found["text"]) == ["", "a", "b", "c"] == sorted(found["text file"])
    assert sorted((row.id, row.name) for row in found["csv"]) == [(1, "ann"), (2, "bob")]
    assert sorted(record["name"] for record in found["json"]) == ["ann", "bob"]
    assert sorted(found["parquet"]) == [(1, "ann"), (2, "bob")]


def test_watched_folder_brings_files_that_appear_while_the_job_runs(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    watched = folder(tmp_path, "text", "first\n")
    environment = new_environment(1)
    source = FileSource.text(watched, monitor_interval=Duration.of_millis(100))
    lines = environment.from_source(source, None, "watched").map(lambda line: line).uid("lines")
    results = lines.execute_and_collect()
    assert next(results) == "first"
    write_at_once(watched / "two.text", "second\nthird\n")
    assert sorted([next(results), next(results)]) == ["second", "third"]
    results.close()


def test_spark_stream_is_a_source_also_with_more_partitions_than_parallelism(
    new_environment: NewEnvironment, spark: SparkSession
) -> None:
    environment = new_environment(1)
    frame = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 8)
        .option("numPartitions", 4)
        .load()
        .select("value")
    )
    stream = environment.from_spark(frame, "rate", row_format="value")
    # rescale, because it is the exchange that counts on the sender's number
    numbers = stream.rescale().map(lambda value: value).set_parallelism(3)
    found = numbers.execute_and_collect(limit=16)
    assert sorted(found) == list(range(16))


def test_print_shows_subtask_and_identifier_as_flink_does(
    new_environment: NewEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = new_environment(2)
    single = environment.from_collection([1, 2])
    single.print()
    single.print("named")
    parallel = single.map(lambda value: value)
    parallel.print()
    parallel.print("both")
    single.print_to_err("error")
    environment.execute()
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert {"1", "2", "named> 1", "named> 2"} <= set(lines)
    dealt = sorted(line for line in lines if line[:3] in ("1> ", "2> "))
    assert dealt in (["1> 1", "2> 2"], ["1> 2", "2> 1"])
    assert sorted(line.replace("both:", "") for line in lines if line.startswith("both:")) == dealt
    assert len(lines) == 8
    assert {"error> 1", "error> 2"} <= set(captured.err.splitlines())


def test_collect_with_a_limit_stops_an_endless_job(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    endless = environment.from_source(DataGeneratorSource(lambda n: n, None), None, "endless")
    found = endless.execute_and_collect(limit=3)
    assert len(found) == 3


def test_collect_of_a_keyed_stream_shows_key_and_value(new_environment: NewEnvironment) -> None:
    environment = new_environment(2)
    keyed = environment.from_collection([1, 2, 3]).key_by(lambda value: value % 2)
    found = list(keyed.execute_and_collect())
    assert sorted(found, key=lambda row: row[1]) == [Row(f0=1, f1=1), Row(f0=0, f1=2), Row(f0=1, f1=3)]


class Appending(SinkFunction):
    """Appends to a file of its subtask; tells of open and close."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, runtime_context: RuntimeContext) -> None:
        self.path = os.path.join(self.directory, f"subtask-{runtime_context.get_index_of_this_subtask()}")
        self.note("open")

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        assert context.current_processing_time() > 0
        self.note(f"{value} {context.timestamp()}")

    def close(self) -> None:
        self.note("close")

    def note(self, text: str) -> None:
        with open(self.path, "a") as stream:
            stream.write(text + "\n")


def files_of(directory: Path, suffix: str) -> list[Path]:
    return sorted(directory.rglob(f"*{suffix}"))


def json_lines(paths: Iterable[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def test_sinks_write_everything_once(new_environment: NewEnvironment, tmp_path: Path) -> None:
    environment = new_environment(2, **{"penstock.batch.max-records": 4})
    types = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    rows = environment.from_collection(list(range(12))).map(lambda n: Row(id=n, name=f"n{n % 3}"), output_type=types)
    user = tmp_path / "user"
    user.mkdir()
    parquet_by_spark = str(tmp_path / "by_spark")
    rows.sink_to(
        FileSink.json(
            tmp_path / "json", bucket_assigner=BucketAssigner.by(lambda row: f"name={row.name}"), part_prefix="out"
        )
    )
    rows.sink_to(
        FileSink.csv(tmp_path / "csv", header=True, rolling_policy=RollingPolicy.on_checkpoint_rolling_policy())
    )
    rows.sink_to(FileSink.parquet(tmp_path / "parquet", type_info=types))
    rows.map(lambda row: row.id).add_sink(Appending(str(user)))
    rows.write_with_spark(
        lambda frame, batch: frame.write.mode("append").parquet(parquet_by_spark), schema="id BIGINT, name STRING"
    )
    environment.execute()

    expected = [{"id": n, "name": f"n{n % 3}"} for n in range(12)]
    jsons = files_of(tmp_path / "json", ".json")
    assert sorted(json_lines(jsons), key=lambda each: each["id"]) == expected
    assert {path.parent.name for path in jsons} == {"name=n0", "name=n1", "name=n2"}
    assert all(path.name.startswith("out") for path in jsons)
    for path in jsons:
        assert {f"name={each['name']}" for each in json_lines([path])} == {path.parent.name}

    csvs = files_of(tmp_path / "csv", ".csv")
    assert len(csvs) >= 3  # one for each batch and subtask
    read = [record for path in csvs for record in csv.DictReader(path.read_text().splitlines())]
    assert sorted(read, key=lambda each: int(each["id"])) == [{k: str(v) for k, v in each.items()} for each in expected]

    for directory in (tmp_path / "parquet", tmp_path / "by_spark"):
        tables = [pq.read_table(path) for path in files_of(directory, ".parquet")]
        found = [record for table in tables for record in table.to_pylist()]
        assert sorted(found, key=lambda each: each["id"]) == expected

    for name in ("json", "csv", "parquet"):
        assert not any((tmp_path / name / ".penstock-staging").rglob("*")), name

    notes = [path.read_text().splitlines() for path in sorted(user.iterdir())]
    assert sorted(note for subtask in notes for note in subtask if " " in note) == sorted(
        f"{n} None" for n in range(12)
    )
    assert all(subtask[0] == "open" for subtask in notes)
    assert all("close" in subtask for subtask in notes)


def test_a_spark_writer_keeps_values_or_refuses_them(new_environment: NewEnvironment, tmp_path: Path) -> None:
    def write(frame: Any, batch: int) -> None:
        frame.write.mode("append").parquet(str(tmp_path / "out"))

    noon = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    environment = new_environment()
    environment.from_collection([{"a": 1, "b": noon}]).write_with_spark(write)
    environment.execute()
    assert pq.read_table(tmp_path / "out").to_pylist() == [{"a": 1, "b": noon.replace(tzinfo=None)}]

    environment = new_environment()
    environment.from_collection([{"a": 1}, {"a": 2.5}]).write_with_spark(write, schema="a LONG").name("lake")
    with pytest.raises(JobFailedError, match=r"^Spark writer 'Sink: lake' cannot write the field 'a' with the value 2"):
        environment.execute()
