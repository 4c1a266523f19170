"""Text and HTML representations of a stream, for shells and notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from penstock.graph.nodes import NAME_PREFIX, Node

if TYPE_CHECKING:
    from penstock.datastream.stream import DataStream

_ARROW = " -> "
_MOST_STEPS = 6


def stream_text(stream: DataStream) -> str:
    """One line: the kind of stream, the steps up to it, and the type of its elements if it is known."""
    steps = [_bare(node) for node in _path(stream)]
    if len(steps) > _MOST_STEPS:
        steps = [steps[0], "...", *steps[1 - _MOST_STEPS :]]
    kind = type(stream).__name__
    several = f"of {len(stream.edges)} streams: " if len(stream.edges) > 1 else ""
    told = "" if stream.output_type is None else f", elements {stream.output_type!r}"
    return f"<{kind} {several}{_ARROW.join(steps)}{told}>"


def stream_html(stream: DataStream) -> str:
    """A table for notebooks: one row for each step up to the stream."""
    default = stream.environment.get_parallelism()
    rows = [
        f"<tr><td>{escape(node.name)}</td><td>{node.parallelism or (1 if node.is_single else default)}</td>"
        f"<td>{escape(repr(node.output_type)) if node.output_type is not None else ''}</td></tr>"
        for node in _path(stream)
    ]
    head = "<tr><th>step</th><th>parallelism</th><th>elements</th></tr>"
    note = "nothing has run yet: add a sink and call <code>execute()</code>, or <code>execute_and_collect()</code>"
    return f"<b>{type(stream).__name__}</b><table>{head}{''.join(rows)}</table><small>{note}</small>"


def _path(stream: DataStream) -> list[Node]:
    """The steps from a source to the stream; where several streams come together, along the first of them."""
    nodes = stream.environment.graph.nodes
    path: list[Node] = []
    edges = stream.edges
    while edges:
        node = nodes[edges[0].source_id]
        path.append(node)
        edges = node.inputs
    return path[::-1]


def _bare(node: Node) -> str:
    return node.name.removeprefix(NAME_PREFIX[node.role])
