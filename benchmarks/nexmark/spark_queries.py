"""The queries in Spark's own streaming: Spark SQL on the JVM, over the numbers of Spark's own generator.

A query over it has no end: it is stopped when it has had its batches.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import TimestampType

from benchmarks.nexmark.model import RATE, SIDE_ROWS, VIEWS
from benchmarks.nexmark.queries import TIED
from benchmarks.nexmark.results_of import latest, materialized
from benchmarks.nexmark.spark_sql import SPARK_QUERIES, UPDATED, WATERMARKED, in_spark
from benchmarks.peers import reporting
from benchmarks.peers.spark_jobs import session, wait_for_batch

COLLECTED_BATCHES = 4
BATCHES_TO_CLOSE = 3
"""Further batches whose events only move the watermark on, where results are compared: Flink and Penstock close all
windows at the end of their input, and Spark's generator has no end."""
_DAY_MS = 86_400_000


def create_views(spark: SparkSession, task: reporting.Task, batch: int, end: int | None) -> None:
    """What a query reads; events from number `end` on come a day later and are only seen by the watermark."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", batch)
    millis = f"value * 1000 DIV {RATE}"
    if end is not None:
        millis = f"CASE WHEN value < {end} THEN {millis} ELSE {millis} + {_DAY_MS} END"
    numbers = source.option("numPartitions", task.parallelism).load()
    numbers = numbers.selectExpr("value AS n", f"{millis} AS t", f"TIMESTAMP_MILLIS({millis}) AS ts")
    if task.job in WATERMARKED:
        numbers = numbers.withWatermark("ts", "4 seconds")
    if end is not None:  # a condition on the time stays behind the watermark, one on the number would not
        numbers = numbers.where(f"ts < TIMESTAMP_MILLIS({_DAY_MS})")
    numbers.createOrReplaceTempView("numbers")
    for name, text in VIEWS.items():
        spark.sql(in_spark(text)).createOrReplaceTempView(name)
    timed = spark.sql("SELECT *, CURRENT_TIMESTAMP() AS p_time FROM bid").withWatermark("p_time", "0 seconds")
    timed.createOrReplaceTempView("timed_bid")
    spark.range(SIDE_ROWS).selectExpr("id AS n", "CAST(id AS STRING) AS text").createOrReplaceTempView("side_input")


def run(task: reporting.Task, events: int) -> list[Any] | None:
    """Run a query over so many events; its rows go nowhere, those of q10 to files."""
    if task.collect and task.job in TIED:
        task = dataclasses.replace(task, parallelism=1)
    batch = events // COLLECTED_BATCHES if task.collect else min(task.options["batch"], events)
    assert events % batch == 0, f"{events} events are no whole number of batches of {batch}"
    last = events // batch - 1 + (BATCHES_TO_CLOSE if task.collect else 0)
    spark = session(task)
    create_views(spark, task, batch, events if task.collect else None)
    found: list[list[Any]] = []
    folder = tempfile.mkdtemp(prefix="spark-nexmark-")
    writer = writer_of(spark.sql(SPARK_QUERIES[task.job]), task, found, folder)
    mode = "update" if task.job in UPDATED else "append"
    try:
        wait_for_batch(writer.outputMode(mode).option("checkpointLocation", f"{folder}/checkpoint").start(), last)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not task.collect:
        return None
    changes = [("+I", row) for row in found]
    return latest(changes, UPDATED[task.job]) if task.job in UPDATED else materialized(changes)


def writer_of(result: DataFrame, task: reporting.Task, found: list[list[Any]], folder: str) -> DataStreamWriter:
    """Where the rows go."""
    if task.collect:
        texts = result.select(*[text_of(result, name) for name in result.columns])
        return texts.writeStream.foreachBatch(lambda frame, _: found.extend(map(list, frame.collect())))
    if task.job == "q10":
        return result.writeStream.format("csv").partitionBy("dt", "hm").option("path", f"{folder}/files")
    return result.writeStream.format("noop")


def text_of(frame: DataFrame, name: str) -> Column:
    """A column as Flink writes it: times with milliseconds, where Spark leaves zeros out."""
    if isinstance(frame.schema[name].dataType, TimestampType):
        return F.date_format(name, "yyyy-MM-dd HH:mm:ss.SSS").alias(name)
    return F.col(name).cast("string").alias(name)


if __name__ == "__main__":
    reporting.serve(run, sys.argv[1:])
