"""Everything about continuous mode that Spark does not promise: its pipelined shuffle, reached through py4j.

Spark 4.3 has a shuffle whose readers run while its writers do; it was made for Spark's Real-Time Mode, which cannot run
Python sources. `run_pipelined` rebuilds the physical plan of an ordinary frame with it. If another version of Spark
names or orders things differently, it shows here and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.serializers import ArrowStreamSerializer

KNOWN_VERSIONS = ("4.3.",)
"""The versions of Spark whose plans were tried."""

SPARE_SLOTS = 2
"""Slots beside those of the job's own tasks: for savepoints, and for sinks that publish with Spark's tasks."""

_NETWORK_BUFFER_BYTES = 4096

SENT_AT_ONCE_BYTES = _NETWORK_BUFFER_BYTES * 9 // 10 + 1
"""The shuffle holds rows back until there are so many bytes for a target; a row of that size takes the others along."""

SESSION_CONFIG = {
    # A task asks Python for more while Python is still being fed.
    "spark.python.udf.pipelined.enabled": "true",
    # How long rows are held back at the most. Ours never are, so a thread that looks for them need not hurry.
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "50",
    "spark.shuffle.streaming.networkBufferSize": str(_NETWORK_BUFFER_BYTES),
    "spark.buffer.size": "128",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings that must be there when the session is made."""

ROWS_TOGETHER = 2
"""Java hands rows to Python in batches of so many, and a batch only when the row behind it has come."""

_TASK_PROPERTIES = {
    # Few rows of Arrow at a time, and small buffers: what is sent must not wait for more.
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_TOGETHER),
    "spark.sql.execution.pandas.udf.buffer.size": "128",
}
_EXCHANGE = "ShuffleExchangeExec"


_PIPELINED = "SPARK_PIPELINED_UDF"


def read_without_threads() -> None:
    """In the process that workers are forked from: have tasks read their input when they ask for it.

    Where Java feeds a worker while it asks for more, Spark's own worker reads ahead in a thread, and hands each piece
    over through a queue. Tasks that stay have such a thread of their own, and others gain nothing by it.
    """
    if os.environ.pop(_PIPELINED, None) == "1":
        ArrowStreamSerializer.__init__ = _flushing(ArrowStreamSerializer.__init__)  # type: ignore[method-assign]


def _flushing(init: Callable[..., None]) -> Callable[..., None]:
    """What Spark does in such workers: Java gets each piece of output when it is there."""

    def flushing(self: Any, *arguments: Any, **named: Any) -> None:
        init(self, *arguments, **named)
        self._flush_per_batch = True

    return flushing


def refusal(session: SparkSession, tasks: int) -> str | None:
    """Why a session cannot run a job of so many tasks at once in continuous mode, in words; None if it can."""
    context = session.sparkContext
    if not session.version.startswith(KNOWN_VERSIONS):
        known = ", ".join(f"{each}x" for each in KNOWN_VERSIONS)
        return f"it is known to work with Spark {known}, and this is {session.version}"
    missing = [key for key, value in SESSION_CONFIG.items() if context.getConf().get(key) != value]
    if missing:
        wanted = f"{missing[0]}={SESSION_CONFIG[missing[0]]}"
        return f"the Spark session was made without {wanted}; let Penstock make the session, or set it"
    if context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
        return "Spark's dynamic allocation is on, and all tasks must have a slot all the time"
    if context.defaultParallelism < tasks + SPARE_SLOTS:
        return (
            f"its {tasks} tasks run at the same time and {SPARE_SLOTS} slots are needed beside them, but Spark has "
            f"{context.defaultParallelism}; lower the parallelism, or raise the cores of the master"
        )
    return None


def run_pipelined(session: SparkSession, frame: DataFrame, group: str, name: str) -> None:
    """Run a frame with all its stages at once; returns when all its tasks have ended, raises when one failed."""
    context = session.sparkContext
    # Nodes of a plan ask for the session of their thread, and this is one that the session was not made in.
    context._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # type: ignore[union-attr]
    context.setJobGroup(group, name, interruptOnCancel=True)
    for key, value in _TASK_PROPERTIES.items():
        context.setLocalProperty(key, value)
    plan = frame._jdf.queryExecution().executedPlan()
    _pipelined(session, plan).execute().count()


def cancel(session: SparkSession, group: str) -> None:
    """End the tasks of `run_pipelined`."""
    session.sparkContext.cancelJobGroup(group)


def _pipelined(session: SparkSession, plan: Any) -> Any:
    children = plan.children()
    if children.size() == 0:
        return plan
    child = _pipelined(session, children.apply(0))
    if plan.getClass().getSimpleName() == _EXCHANGE:
        return plan.copy(plan.outputPartitioning(), child, plan.shuffleOrigin(), plan.advisoryPartitionSize(), True)
    return plan.withNewChildren(_sequence(session, child))


def _sequence(session: SparkSession, item: Any) -> Any:
    jvm: Any = session.sparkContext._jvm
    items = jvm.java.util.ArrayList()
    items.add(item)
    return jvm.scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq()
