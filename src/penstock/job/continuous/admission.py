"""Which plans cannot run in continuous mode, and why."""

from __future__ import annotations

from penstock.connectors.driver_sinks import SparkWriterSink
from penstock.graph.plan import JobPlan


def continuous_refusal(plan: JobPlan, *, is_batch_mode: bool) -> str | None:
    """Why a plan cannot run with tasks that stay, in words; None if it can."""
    if is_batch_mode:
        return "the runtime mode is BATCH, whose results come at the end; use STREAMING"
    for vertex in plan.sources():
        if vertex.is_ephemeral:
            return f"Spark reads source {vertex.operators[0].name!r} batch by batch"
    for vertex in plan.driver_vertices():
        if isinstance(vertex.operators[0].operator.description, SparkWriterSink):
            return f"Spark writes sink {vertex.name!r} batch by batch"
    return None
