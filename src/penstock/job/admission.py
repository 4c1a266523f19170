"""A last look at a plan before it starts: what is certain to fail is refused without running anything.

These checks need sources, sinks or records; the shape of the job is checked in `penstock.graph`.
"""

from __future__ import annotations

from typing import Any

from penstock.connectors.source import PartitionedSource, Source, SplitSource
from penstock.errors import GraphError, KeyEncodingError
from penstock.graph.nodes import Exchange
from penstock.graph.plan import JobPlan, OutEdge, Vertex
from penstock.job.plan_sources import alignment_of
from penstock.keys.codec import encode_key
from penstock.runtime.failure import short_repr
from penstock.runtime.operators import SinkOperator, SourceOperator


def admit(plan: JobPlan, runtime_mode: str) -> bool:
    """Refuse a plan that cannot work; returns whether it runs in batch mode (AUTOMATIC: if all sources end)."""
    unbounded = [vertex for vertex in plan.sources() if not _source(vertex).is_bounded()]
    if runtime_mode == "BATCH" and unbounded:
        raise GraphError(
            f"source {unbounded[0].operators[0].name!r} does not end, but the runtime mode is BATCH: use STREAMING, "
            "or a bounded source"
        )
    _check_alignment(plan)
    for vertex in plan.sources():
        _source(vertex).validate(vertex.operators[0].name)
    for vertex in plan.vertices:
        for chained in vertex.operators:
            if isinstance(chained.operator, SinkOperator):
                chained.operator.sink.validate(chained.name)
    check_first_keys(plan)
    return runtime_mode == "BATCH" or (runtime_mode == "AUTOMATIC" and not unbounded)


def has_no_end(plan: JobPlan) -> bool:
    """Whether a source of the plan gives records for ever."""
    return not all(_source(vertex).is_bounded() for vertex in plan.sources())


def _source(vertex: Vertex) -> Source:
    operator = vertex.operators[0].operator
    assert isinstance(operator, SourceOperator)
    return operator.source


def _check_alignment(plan: JobPlan) -> None:
    """Refuse to promise that sources keep together whose batches Spark decides."""
    for vertex in plan.sources():
        if alignment_of(vertex) is not None and not isinstance(_source(vertex), SplitSource | PartitionedSource):
            raise GraphError(
                f"source {vertex.operators[0].name!r} is read by Spark, which decides what a batch takes of it: it "
                "cannot keep to with_watermark_alignment; leave that out, or use a source that Penstock reads itself"
            )


def check_first_keys(plan: JobPlan) -> None:
    """Refuse a key_by directly behind a source whose first records have keys that cannot be encoded."""
    for vertex in plan.sources():
        for edge in vertex.outputs:
            if edge.operator == 0 and edge.partitioning.exchange is Exchange.KEYED:
                _check(edge, vertex, _source(vertex).sample())


def _check(edge: OutEdge, vertex: Vertex, sample: list[Any]) -> None:
    selector = edge.partitioning.key_selector
    assert selector is not None
    for value in sample:
        try:
            encode_key(selector(value))
        except KeyEncodingError as error:
            raise GraphError(
                f"key_by after {vertex.operators[0].name!r} fails for record {short_repr(value)}: {error}"
            ) from None
        except Exception:
            return  # the selector itself failed: the job will say so with the user's traceback
