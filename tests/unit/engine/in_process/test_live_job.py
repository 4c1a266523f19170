"""`penstock.engine=in-process`: whole programs in one process, in real time, without Spark and Java."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration, JobStatus, Row, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSink, FileSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import ConfigurationError, GraphError, JobCancelledError, JobFailedError
from tests.spark.waiting import wait_until

ROOT = Path(__file__).resolve().parents[4]


def environment(parallelism: int = 2, **settings: object) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    for key, value in settings.items():
        configuration.set_string(key, str(value))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)


def wait_for(condition: Any) -> None:
    wait_until(condition, "nothing happened")


def texts(folder: Path) -> list[str]:
    return sorted(line for part in folder.rglob("part-*") for line in part.read_text().splitlines())


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def readme_program() -> str:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return next(block for block in blocks if "MinuteVolume" in block)


# What stops a program that reaches for Java or Spark.
GUARD = """
import sys
class NoSpark:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ImportError(f"{name} must not be needed")
sys.meta_path.insert(0, NoSpark())
"""


def test_the_program_of_the_readme_runs_without_spark(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(GUARD + readme_program())
    command = [sys.executable, "-m", "penstock", "run", "-D", "penstock.engine=in-process", "program.py"]
    surroundings = {**os.environ, "JAVA_HOME": "/nowhere", "PENSTOCK_HOME": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found = sorted((row["symbol"], row["volume"]) for row in map(json.loads, texts(tmp_path / "volumes")))
    assert found == [("ACME", 7), ("ACME", 7), ("EMCA", 1)]


def test_execute_prints_and_tells_how_it_went(capsys: pytest.CaptureFixture[str]) -> None:
    env = environment()
    env.from_collection(["a", "b", "a"]).key_by(lambda word: word).process(Count()).print("counted")
    result = env.execute("counts")
    assert result.get_net_runtime() >= 0
    assert sorted(line.partition("> ")[2] for line in capsys.readouterr().out.splitlines()) == [
        "('a', 1)",
        "('a', 2)",
        "('b', 1)",
    ]


def test_records_are_collected_as_they_come_and_closing_stops_an_endless_job() -> None:
    env = environment()
    numbers = env.from_source(DataGeneratorSource(lambda n: n, None), None, "endless")
    assert len(numbers.execute_and_collect(limit=3)) == 3
    with env.from_source(DataGeneratorSource(lambda n: n, None), None, "again").execute_and_collect() as found:
        assert next(found) == 0


def test_a_job_runs_by_itself_and_can_be_asked(tmp_path: Path) -> None:
    env = environment(1)
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(200))
    env.from_source(source, None, "ticks").uid("ticks").sink_to(FileSink.text(tmp_path / "out"))
    client = env.execute_async("ticks")
    wait_for(lambda: client.progress().records > 20)
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.get_accumulators().result()["ticks"]["records_in"] > 0
    savepoint = client.trigger_savepoint(str(tmp_path / "savepoints")).result(60)
    assert Path(savepoint.removeprefix("file://")).is_dir()
    client.stop().result(60)
    assert client.get_job_status().result() is JobStatus.FINISHED
    written = sorted(map(int, texts(tmp_path / "out")))
    assert written == list(range(len(written)))
    assert client.trigger_savepoint(str(tmp_path)).exception() is not None


def test_stop_with_savepoint_and_go_on(tmp_path: Path) -> None:
    def counting(**settings: object) -> tuple[StreamExecutionEnvironment, Any]:
        env = environment(1, **settings)
        source = DataGeneratorSource(lambda n: n, 400, RateLimiterStrategy.per_second(2000))
        counted = env.from_source(source, None, "n").uid("n").key_by(lambda n: n % 3).process(Count()).uid("count")
        counted.sink_to(FileSink.json(tmp_path / "out", Types.TUPLE([Types.LONG(), Types.LONG()]))).uid("out")
        return env, env.execute_async()

    _, client = counting()
    wait_for(lambda: client.progress().records > 10)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(60)
    client.wait(60)
    _, client = counting(**{"execution.state-recovery.path": path})
    client.wait(60)
    counts = sorted(tuple(json.loads(line).values()) for line in texts(tmp_path / "out"))
    assert counts == sorted((key, nth) for key in range(3) for nth in range(1, len(range(key, 400, 3)) + 1))


def test_cancel_ends_a_job_and_wait_says_so() -> None:
    env = environment()
    env.from_source(DataGeneratorSource(lambda n: n, None), None, "endless").filter(lambda n: False).print()
    client = env.execute_async()
    client.cancel().result(60)
    with pytest.raises(JobCancelledError):
        client.wait(60)
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_a_failure_is_told_with_the_operator_and_the_record() -> None:
    env = environment(**{"restart-strategy.type": "none"})
    env.from_collection([1, 0]).map(lambda n: 1 / n).name("dividing").print()
    with pytest.raises(JobFailedError, match=r"(?s)dividing.*ZeroDivisionError"):
        env.execute()


def test_processing_time_passes_by_itself() -> None:
    class Later(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 100)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            yield "fired"

    env = environment()
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(1))
    fired = env.from_source(source, None, "slow").key_by(lambda n: 0).process(Later())
    assert fired.execute_and_collect(limit=1) == ["fired"]


def test_a_watched_folder_brings_files_that_come_later(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("1,x\n")
    env = environment()
    source = FileSource.csv(folder, schema="id BIGINT, name STRING", monitor_interval=Duration.of_millis(20))
    found: list[Any] = []
    with env.from_source(source, None, "files").execute_and_collect() as records:
        found.append(next(records))
        (tmp_path / "draft").write_text("2,y\n")
        (tmp_path / "draft").rename(folder / "b.csv")
        found.append(next(records))
    assert found == [Row(id=1, name="x"), Row(id=2, name="y")]


def test_a_job_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("".join(f"{n}\n" for n in range(1000)))

    def run(fail_at: int | None) -> None:
        env = environment(1, **{"restart-strategy.type": "none", "penstock.batch.max-records": 10})
        env.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "checkpoint"))

        def passed(text: str) -> str:
            if fail_at is not None and int(text) >= fail_at:
                raise ValueError("enough")
            return text

        lines = env.from_source(FileSource.text(tmp_path / "in"), None, "in").uid("in").map(passed).uid("map")
        lines.sink_to(FileSink.text(tmp_path / "out")).uid("out")
        env.execute()

    with pytest.raises(JobFailedError, match="enough"):
        run(700)
    run(None)
    assert sorted(map(int, texts(tmp_path / "out"))) == list(range(1000))


def test_modules_that_are_added_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "added_by_hand.py").write_text("def twice(n):\n    return n * 2\n")
    package = tmp_path / "added_package"
    package.mkdir()
    (package / "__init__.py").write_text("FACTOR = 3\n")
    for make in (environment, lambda: StreamExecutionEnvironment.in_process()):
        env = make()
        env.add_python_file(str(tmp_path / "added_by_hand.py"))
        env.add_python_file(str(package))

        def calculate(n: int) -> int:
            from added_by_hand import twice  # type: ignore[import-not-found]
            from added_package import FACTOR  # type: ignore[import-not-found]

            return int(twice(n) * FACTOR)

        assert list(env.from_collection([7]).map(calculate).execute_and_collect()) == [42]


def test_what_needs_spark_says_so(tmp_path: Path) -> None:
    env = environment()
    env.from_spark(lambda spark: spark).print()
    with pytest.raises(GraphError, match=r"Spark Source.* is read by Spark: it cannot run in process"):
        env.execute()
    env = environment()
    env.from_collection([1]).write_with_spark(lambda frame, batch: None, schema="a long")
    with pytest.raises(GraphError, match="is written by Spark: it cannot run in process"):
        env.execute()
    env = environment()
    table = tmp_path / "t.csv"
    table.write_bytes(b"")
    env.register_cached_file(str(table), "table")
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="register_cached_file needs Spark"):
        env.execute()


def test_nothing_is_left_running() -> None:
    env = environment()
    env.from_collection([1]).map(lambda n: n, Types.LONG()).print()
    env.execute("brief")
    wait_for(lambda: not [thread for thread in threading.enumerate() if thread.name == "penstock-brief"])


def test_event_time_over_files(tmp_path: Path) -> None:
    """Many files, most of them not begun: those that are read decide how far event time is."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(150):
        (folder / f"{number:03}.json").write_text(json.dumps({"at": number * 1000, "n": number}) + "\n")
    env = environment(1)
    by_field = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.at)
    rows = env.from_source(FileSource.json(folder, schema="at BIGINT, n BIGINT"), by_field, "rows")
    assert sorted(row.n for row in rows.execute_and_collect()) == list(range(150))


def test_continuous_mode_is_refused_where_a_job_runs_by_itself_in_process() -> None:
    configuration = Configuration()
    configuration.set_string("penstock.engine", "in-process")
    configuration.set_string("penstock.execution.mode", "continuous")
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="has micro-batches only"):
        environment.execute()


def test_aligned_sources_of_a_live_job_keep_together_and_end() -> None:
    env = environment(1, **{"penstock.batch.max-records": 20})
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    strategy = strategy.with_watermark_alignment("g", Duration.of_seconds(20))
    sources = {step: DataGeneratorSource(lambda n, step=step: n * step, 100) for step in (1_000, 10_000)}
    streams = [env.from_source(each, strategy, f"by {step}").uid(str(step)) for step, each in sources.items()]

    class Ahead(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield value - max(0, ctx.timer_service().current_watermark())

    ahead = list(streams[0].union(streams[1]).process(Ahead()).execute_and_collect())
    assert len(ahead) == 200
    assert max(ahead) < 300_000, "without alignment, 900,000"
