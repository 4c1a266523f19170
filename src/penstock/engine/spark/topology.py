"""A plan as one Spark streaming frame: sources united, then one exchange and one function per level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.connectors.frame_source import FrameSource
from penstock.engine.spark import tasks
from penstock.engine.spark.native_source import NAME, PenstockSource
from penstock.engine.spark.rows_arrow import SPARK_SCHEMA
from penstock.engine.spark.shipping import ShippedPlan
from penstock.engine.spark.spark_names import operators_of
from penstock.errors import GraphError
from penstock.graph.plan import JobPlan, Vertex
from penstock.job.plan_sources import source_operator

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def build_frame(
    session: SparkSession, plan: JobPlan, shipped: ShippedPlan, control_directory: str
) -> tuple[DataFrame, dict[str, int]]:
    """The streaming frame whose rows, in the end, are reports and records for the driver's side.

    With it, of how many sources of Spark's each source that Spark reads is made, by operator uid, in their order.
    """
    session.dataSource.register(PenstockSource)
    native = session.readStream.format(NAME).option("control", control_directory).load()
    frames = [native]
    counts: dict[str, int] = {}
    for vertex in plan.sources():
        if vertex.is_ephemeral:
            made = _frame_of(session, vertex)
            counts[vertex.uid] = _count_sources(made)
            frames.append(made.mapInArrow(_frame_task(shipped, vertex), SPARK_SCHEMA))
    frame = reduce(DataFrame.union, frames)
    ephemeral = {vertex.id for vertex in plan.sources() if vertex.is_ephemeral}
    for _, vertices in plan.levels():
        partitions = max(vertex.parallelism for vertex in vertices)
        frame = frame.repartitionById(partitions, "target")
        frame = frame.mapInArrow(_level_task(shipped, vertices, ephemeral), SPARK_SCHEMA)
    return frame, counts


def count_frame_sources(session: SparkSession, plan: JobPlan) -> dict[str, int]:
    """Of how many sources of Spark's each source that Spark reads is made, without making the job."""
    return {each.uid: _count_sources(_frame_of(session, each)) for each in plan.sources() if each.is_ephemeral}


def _count_sources(frame: DataFrame) -> int:
    """Spark logs an offset for every streaming leaf of a plan: a frame that is a union has several."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    return sum(bool(leaves.apply(index).isStreaming()) for index in range(leaves.size()))


def _frame_of(session: SparkSession, vertex: Vertex) -> DataFrame:
    source = source_operator(vertex).source
    assert isinstance(source, FrameSource)
    frame = source.make_frame(session)
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        raise GraphError(
            f"source {vertex.operators[0].name!r} returns no streaming DataFrame: read it with spark.readStream"
        )
    return frame


# Spark pickles these functions by value: they hold nothing but what they pass on.


def _frame_task(shipped: ShippedPlan, vertex: Vertex) -> Task:
    vertex_id, source = vertex.id, source_operator(vertex).source
    assert isinstance(source, FrameSource)

    def frame_source(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return tasks.run_frame_source(shipped, vertex_id, source, batches)

    frame_source.__name__ = operators_of([vertex])  # Spark shows it as the name of the step
    return frame_source


def _level_task(shipped: ShippedPlan, vertices: list[Vertex], ephemeral: set[int]) -> Task:
    here = {vertex.id: (vertex.uid, vertex.parallelism) for vertex in vertices}

    def level(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return tasks.run_level(shipped, here, ephemeral, batches)

    level.__name__ = operators_of(vertices)
    return level
