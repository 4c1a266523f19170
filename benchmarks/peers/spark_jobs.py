"""The jobs in Spark's own streaming: `transformWithState` (Row API) for Python functions, else built-in operators.

Records come from Spark's own generator. A query over it has no end: it is stopped when it has had its batches.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

from benchmarks.peers import reporting
from benchmarks.peers.drawn import TWIN_SHIFT, VALUES, key_sql
from benchmarks.peers.sql_queries import JOIN_BLOCK, JOIN_STEP

RECORD = StructType([StructField("k", LongType()), StructField("n", LongType())])
LONG = StructType([StructField("value", LongType())])
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class RunningCount(StatefulProcessor):
    """Counts the records of each key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state."""
        self.count = handle.getValueState("count", LONG)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Count; each use of the state is a trip to the JVM, so there are two for all rows of a batch."""
        found = self.count.get()
        count = found[0] if found else 0
        for _ in rows:
            count += 1
            yield Row(k=key[0], n=count)
        self.count.update((count,))

    def close(self) -> None:
        """Nothing to do."""


class MapAndTimer(StatefulProcessor):
    """Counts by the last digit of the time in a map, with a timer for each second of a key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state."""
        self.handle = handle
        self.counts = handle.getMapState("counts", LONG, LONG)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Count, and ask to be called at the end of the second: each entry and each timer once in a batch."""
        added: dict[int, int] = {}
        seconds = set()
        for row in rows:
            added[row.n % 10] = added.get(row.n % 10, 0) + 1
            seconds.add(row.n // 1000 + 1)
        for slot, number in added.items():
            found = self.counts.getValue((slot,))
            self.counts.updateValue((slot,), (number + (found[0] if found else 0),))
        for second in seconds:
            self.handle.registerTimer(second * 1000)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Tell the sum."""
        yield Row(k=key[0], n=sum(count[0] for count in self.counts.values()))

    def close(self) -> None:
        """Nothing to do."""


def session(task: reporting.Task) -> SparkSession:
    """A session with the state store that Spark recommends."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(task.parallelism),
        "spark.sql.streaming.stateStore.providerClass": STORE,
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    builder = SparkSession.builder.master(f"local[{task.parallelism}]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def numbers(task: reporting.Task, batch: int, *, twin: bool = False) -> DataFrame:
    """Key k, value v, and event time in milliseconds (n) and as a timestamp (t)."""
    source = session(task).readStream.format("rate-micro-batch").option("rowsPerBatch", batch)
    frame = source.option("numPartitions", task.parallelism).load()
    key = key_sql(f"(value + {TWIN_SHIFT})" if twin else "value", task.keys, task.zipf)
    if task.job == "sql_join":
        key = f"value - value % {JOIN_BLOCK} + value * {JOIN_STEP} % {JOIN_BLOCK}" if twin else "value"
    millis = f"value * 1000 div {task.rate}"
    return frame.selectExpr(f"{key} k", f"value % {VALUES} v", f"{millis} n", f"timestamp_millis({millis}) t")


def map_filter(frame: DataFrame) -> DataFrame:
    """Expressions in place of the lambdas."""
    return frame.selectExpr("k", "n + 1 n").where("n % 2 = 0")


def filtered(frame: DataFrame) -> DataFrame:
    """The even ones."""
    return frame.where("v % 2 = 0").selectExpr("k", "n + 1 n")


def count(frame: DataFrame) -> DataFrame:
    """A count for each key that a batch has met."""
    return frame.select("k").groupBy("k").count()


def grouped(frame: DataFrame) -> DataFrame:
    """Count and sum for each key that a batch has met."""
    return frame.groupBy("k").agg(F.count("*").alias("c"), F.sum("v").alias("s"))


def stateful_count(frame: DataFrame) -> DataFrame:
    """A running count in Python."""
    return frame.select("k", "n").groupBy("k").transformWithState(RunningCount(), RECORD, "Append", "None")


def stateful_timers(frame: DataFrame) -> DataFrame:
    """A map and timers in Python."""
    timed = frame.select("k", "n", "t").withWatermark("t", "0 seconds")
    return timed.groupBy("k").transformWithState(MapAndTimer(), RECORD, "Append", "EventTime")


def tumbling_fields(frame: DataFrame) -> DataFrame:
    """Count and sum by key and window."""
    windows = frame.withWatermark("t", "0 seconds").groupBy("k", F.window("t", f"{reporting.WINDOW_S} seconds"))
    return windows.agg(F.count("*").alias("c"), F.sum("v").alias("s")).select("k", "c", "s")


def sliding(frame: DataFrame) -> DataFrame:
    """Counts of a minute, each second."""
    window = F.window("t", f"{reporting.SLIDING_S} seconds", "1 second")
    return frame.withWatermark("t", "0 seconds").groupBy("k", window).count().select("k", "count")


def hopping(frame: DataFrame) -> DataFrame:
    """Counts and sums of a minute, each second."""
    window = F.window("t", f"{reporting.SLIDING_S} seconds", "1 second")
    windows = frame.withWatermark("t", "0 seconds").groupBy("k", window)
    return windows.agg(F.count("*").alias("c"), F.sum("v").alias("s")).select("k", "c", "s")


def sessions(frame: DataFrame) -> DataFrame:
    """Counts by session."""
    window = F.session_window("t", f"{reporting.SESSION_GAP_S} seconds")
    return frame.withWatermark("t", "0 seconds").groupBy("k", window).count().select("k", "count")


def interval_join(frame: DataFrame, twins: DataFrame) -> DataFrame:
    """Pairs that are at most a second apart."""
    # The first watermark is the epoch, and a row of that very time would be late.
    left, right = (
        side.withColumn("t", F.expr("t + INTERVAL 1 DAY")).withWatermark("t", "0 seconds").alias(name)
        for side, name in ((frame, "a"), (twins, "b"))
    )
    near = F.expr("a.k = b.k AND a.t BETWEEN b.t - INTERVAL 1 SECOND AND b.t + INTERVAL 1 SECOND")
    return left.join(right, near).select("a.k", "a.n", F.col("b.n").alias("m"))


def regular_join(frame: DataFrame, twins: DataFrame) -> DataFrame:
    """Pairs of equal keys, whenever they come: all rows are kept for ever, as in Flink."""
    left, right = frame.select("k", "n"), twins.selectExpr("k", "n m")
    return left.join(right, "k").select("k", "n", "m")


TWO_SIDED = (interval_join, regular_join)
JOBS: dict[str, tuple[Callable[..., DataFrame], str]] = {
    "map_filter": (map_filter, "append"),
    "count": (count, "update"),
    "stateful_count": (stateful_count, "append"),
    "stateful_timers": (stateful_timers, "append"),
    "tumbling_fields": (tumbling_fields, "append"),
    "sliding": (sliding, "append"),
    "session": (sessions, "append"),
    "interval_join": (interval_join, "append"),
    "sql_filter": (filtered, "append"),
    "sql_tumble": (tumbling_fields, "append"),
    "sql_hop": (hopping, "append"),
    "sql_group": (grouped, "update"),
    "sql_join": (regular_join, "append"),
}


def run(task: reporting.Task, records: int) -> list[Any] | None:
    """Run a query over so many records; of a join each side has half of them."""
    build, mode = JOBS[task.options.get("query", task.job)]
    sides = 2 if build in TWO_SIDED else 1
    batch = min(task.options["batch"], records) // sides
    frames = [numbers(task, batch, twin=twin) for twin in (False, True)[:sides]]
    results: list[Any] = []
    folder = tempfile.mkdtemp(prefix="spark-bench-")
    writer = build(*frames).writeStream.outputMode(mode).option("checkpointLocation", folder)
    last = records // sides // batch - 1

    def take(frame: DataFrame, number: int) -> None:
        if number <= last:  # the query runs on until it is stopped
            results.extend(list(row) for row in frame.collect())

    writer = writer.foreachBatch(take) if task.collect else writer.format("noop")
    try:
        wait_for_batch(writer.start(), last)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return results if task.collect else None


def wait_for_batch(query: Any, last: int) -> None:
    """Stop a query when it has finished a batch."""
    while query.isActive:
        # Parsing the whole progress would cost the query a share of a core.
        done = query._jsq.lastProgress()
        if done is not None and done.batchId() >= last:
            break
        time.sleep(0.02)
    failure = query.exception()
    query.stop()
    if failure is not None:
        raise failure


if __name__ == "__main__":
    reporting.serve(run, sys.argv[1:])
