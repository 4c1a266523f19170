"""A look at the data before a job starts: what is certain to fail is refused without running anything.

Owns checks of records that are at hand; the shape of the job is checked in `penstock.graph`.
"""

from __future__ import annotations

from typing import Any

from penstock.errors import GraphError, KeyEncodingError
from penstock.graph.nodes import Exchange
from penstock.graph.plan import JobPlan, OutEdge, Vertex
from penstock.runtime.failure import short_repr
from penstock.runtime.operators import SourceOperator
from penstock.state.keys import encode_key


def check_first_keys(plan: JobPlan) -> None:
    """Refuse a key_by directly behind a source whose first records have keys that cannot be encoded."""
    for vertex in plan.sources():
        source = vertex.operators[0].operator
        assert isinstance(source, SourceOperator)
        for edge in vertex.outputs:
            if edge.operator == 0 and edge.partitioning.exchange is Exchange.KEYED:
                _check(edge, vertex, source.source.sample())


def _check(edge: OutEdge, vertex: Vertex, sample: list[Any]) -> None:
    selector = edge.partitioning.key_selector
    assert selector is not None
    for value in sample:
        try:
            encode_key(selector(value))
        except KeyEncodingError as error:
            raise GraphError(
                f"key_by behind {vertex.operators[0].name!r} cannot work, as record {short_repr(value)} shows: {error}"
            ) from None
        except Exception:
            return  # the selector itself failed: the job will say so with the user's traceback
