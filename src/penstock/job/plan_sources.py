"""The sources of a plan: sorted by who reads them."""

from __future__ import annotations

from penstock.common.watermark_strategy import WatermarkAlignment
from penstock.connectors.source import PartitionedSource, SplitSource
from penstock.graph.plan import JobPlan, Vertex
from penstock.job.intake import FrameVertex, SourceList, SplitVertex
from penstock.job.partition_intake import PartitionedVertex
from penstock.runtime.operators import SourceOperator


def sources_of(plan: JobPlan, max_records_per_batch: int) -> SourceList:
    """All sources of a plan; a batch takes at most so many records from them together."""
    splits: dict[str, SplitVertex] = {}
    frames: dict[str, FrameVertex] = {}
    partitioned: dict[str, PartitionedVertex] = {}
    for vertex in plan.sources():
        source = source_operator(vertex).source
        if isinstance(source, SplitSource):
            splits[vertex.uid] = SplitVertex(vertex.id, source, vertex.parallelism, _has_idleness(vertex))
        elif isinstance(source, PartitionedSource):
            name = vertex.operators[0].name
            partitioned[vertex.uid] = PartitionedVertex(
                vertex.id, name, source, vertex.parallelism, _has_idleness(vertex)
            )
        else:
            frames[vertex.uid] = FrameVertex(vertex.id, _has_idleness(vertex))
    return SourceList(splits, frames, max_records_per_batch, partitioned)


def source_operator(vertex: Vertex) -> SourceOperator:
    """The head of a source vertex."""
    operator = vertex.operators[0].operator
    assert isinstance(operator, SourceOperator)
    return operator


def alignment_of(vertex: Vertex) -> WatermarkAlignment | None:
    """With which others the splits of a source are to keep together in event time, if with any."""
    strategy = source_operator(vertex).strategy
    return None if strategy is None else strategy.alignment


def _has_idleness(vertex: Vertex) -> bool:
    """Whether the source, or a watermark assigner chained to it, has to notice that nothing comes."""
    strategies = [getattr(chained.operator, "strategy", None) for chained in vertex.operators]
    return any(strategy is not None and strategy.idle_timeout_ms is not None for strategy in strategies)
