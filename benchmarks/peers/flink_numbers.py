"""Records of the comparison made inside Flink's JVM, and the settings that PyFlink and Flink SQL share.

`pyflink_jobs` and `flink_sql_jobs` have the jobs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyflink.common import Configuration, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.table import Schema, StreamTableEnvironment, Table

from benchmarks.peers import reporting
from benchmarks.peers.sql_queries import records_sql


def environment(task: reporting.Task) -> StreamExecutionEnvironment:
    """A local environment, tuned as the Python side is at its best."""
    # PyFlink starts `python` from the path for its workers.
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    settings = {
        "python.execution-mode": task.options.get("mode", "process"),
        "python.fn-execution.bundle.size": "1000000",
        "python.fn-execution.bundle.time": "10000",
        "python.state.cache-size": "1000000",
        "python.map-state.read-cache-size": "1000000",
        "python.map-state.write-cache-size": "1000000",
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "pipeline.object-reuse": "true",
        "taskmanager.memory.managed.size": "512m",
        "taskmanager.numberOfTaskSlots": str(task.parallelism),
    }
    if task.checkpoint_ms:
        settings["execution.checkpointing.interval"] = f"{task.checkpoint_ms}ms"
    settings.update(task.options.get("settings", {}))
    if "execution.checkpointing.interval" in settings:
        settings.setdefault("execution.checkpointing.dir", Path(tempfile.mkdtemp()).as_uri())
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    found = StreamExecutionEnvironment.get_execution_environment(configuration)
    return found.set_parallelism(task.parallelism)


def interleaved(count: int, parallelism: int) -> str:
    """The number of a record, of its place f0 in the range of the source.

    The source gives each subtask half of the range: the halves become the even and the odd numbers, so that event time
    goes on in both at once.
    """
    half = (count + 1) // 2 if parallelism == 2 else count
    return f"CASE WHEN f0 < {half} THEN f0 * 2 ELSE (f0 - {half}) * 2 + 1 END" if half < count else "f0"


def create_numbers(
    tables: StreamTableEnvironment,
    env: StreamExecutionEnvironment,
    view: str,
    count: int,
    *,
    parallelism: int,
    rate: int,
    watermark: str,
) -> None:
    """A view of `count` numbers n, with event time t in milliseconds and as rowtime ts; `rate` of them are a second."""
    source = NumberSequenceSource(0, count - 1)
    sequence = env.from_source(source, WatermarkStrategy.no_watermarks(), view)
    number = interleaved(count, parallelism)
    schema = (
        Schema.new_builder()
        .column("f0", "BIGINT NOT NULL")
        .column_by_expression("n", number)
        .column_by_expression("t", f"({number}) * 1000 / {rate}")
        .column_by_expression("ts", f"TO_TIMESTAMP_LTZ(({number}) * 1000 / {rate}, 3)")
        .watermark("ts", watermark)
        .build()
    )
    tables.create_temporary_view(view, tables.from_data_stream(sequence, schema))


def numbers(
    tables: StreamTableEnvironment,
    env: StreamExecutionEnvironment,
    task: reporting.Task,
    count: int,
    twin: bool = False,
) -> Table:
    """Key k, value v, event time t in milliseconds and as rowtime ts, of `count` records; `twin` has other keys."""
    view = "twin_numbers" if twin else "numbers"
    create_numbers(tables, env, view, count, parallelism=task.parallelism, rate=task.rate, watermark="ts")
    return tables.sql_query(records_sql(task, view, twin=twin))
