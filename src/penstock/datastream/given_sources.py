"""Checks and converts sources given by a program: collections, tables, Spark frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

from penstock.common.typeinfo import TypeInformation
from penstock.errors import GraphError
from penstock.formats.tables import python_values, rows_of_table, values_of_type
from penstock.graph.nodes import LogicalGraph, Node, Role

# The module and not its names: the operators import the vocabulary of this package, so either may be loaded first.
from penstock.runtime import operators
from penstock.vocabulary.functions import SourceFunction


class Table(Protocol):
    """A pandas or polars frame, or an Arrow table."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""


def given_values(collection: Any, type_info: TypeInformation | None) -> tuple[list[Any], TypeInformation | None]:
    """The elements of a collection or the rows of a table, of their type."""
    table = rows_of_table("from_collection", collection)
    if table is not None:
        values, type_info = table[0], type_info or table[1]
    elif isinstance(collection, Iterable) and not hasattr(collection, "isStreaming"):
        values = python_values(collection)
    else:
        hint = "; for a Spark DataFrame use from_spark" if hasattr(collection, "isStreaming") else ""
        raise GraphError(f"from_collection: expected a list or another iterable, got {collection!r:.200}{hint}.")
    return values_of_type("from_collection", type_info, values), type_info


def with_sources_on_engine(graph: LogicalGraph, *, has_spark: bool, is_continuous: bool) -> LogicalGraph:
    """The graph with every source as the engine reads it."""

    def on_engine(node: Node) -> Node:
        if node.role is not Role.SOURCE:
            return node
        operator = operators.source_on_engine(
            node.operator, node.name, has_spark=has_spark, is_continuous=is_continuous
        )
        return node if operator is node.operator else replace(node, operator=operator)

    return replace(graph, nodes={node_id: on_engine(node) for node_id, node in graph.nodes.items()})


class GivenFrame:
    """Returns an existing frame; workers, which do not need it, get it without the frame."""

    def __init__(self, frame: Any) -> None:
        """Take the frame."""
        self._frame = frame

    def __call__(self, spark: Any) -> Any:
        """Return the frame."""
        return self._frame

    def __reduce__(self) -> tuple[type[GivenFrame], tuple[None]]:
        return GivenFrame, (None,)


def frame_factory(frame: Any) -> Callable[[Any], Any]:
    """What makes the streaming frame of a session, from that or from the frame itself."""
    is_streaming = getattr(frame, "isStreaming", None)
    if is_streaming is False:
        raise GraphError("from_spark: the DataFrame is not streaming; make it with spark.readStream.")
    if is_streaming is True:
        return GivenFrame(frame)
    if not callable(frame):
        raise GraphError(
            f"from_spark: expected a streaming DataFrame or a function of the session that makes one, got {frame!r}."
        )
    return frame  # type: ignore[no-any-return]


def unusable_source(method: str, given: Any) -> GraphError:
    """Return the error for an object that is not a source."""
    if isinstance(given, SourceFunction):
        return GraphError(
            f"{method}: a SourceFunction cannot be read again after a failure, so Penstock cannot run it; "
            "write a penstock.connectors.source.SplitSource and pass it to from_source."
        )
    hint = "; call .build() on it first" if callable(getattr(given, "build", None)) else ""
    return GraphError(f"{method}: expected a Source, got {given!r}{hint}.")
