"""Which plans cannot run in continuous mode, and why."""

from __future__ import annotations

from penstock.connectors.driver_sinks import SparkWriterSink
from penstock.connectors.source import PartitionedSource
from penstock.graph.plan import JobPlan
from penstock.job.plan_sources import source_operator


def continuous_refusal(plan: JobPlan, *, is_batch_mode: bool) -> str | None:
    """Why a plan cannot run with tasks that stay, in words; None if it can."""
    if is_batch_mode:
        return "the runtime mode is BATCH, whose results come at the end; use STREAMING"
    for vertex in plan.sources():
        if vertex.is_ephemeral:
            return f"Spark reads source {vertex.operators[0].name!r} batch by batch"
        source = source_operator(vertex).source
        if isinstance(source, PartitionedSource) and source.needs_overview() and vertex.parallelism > 1:
            name = vertex.operators[0].name
            return (
                f"the subtasks of source {name!r} cannot tell each other when all of the first source has been read; "
                "set its parallelism to 1"
            )
    for vertex in plan.driver_vertices():
        if isinstance(vertex.operators[0].operator.description, SparkWriterSink):
            return f"Spark writes sink {vertex.name!r} batch by batch"
    return None
