"""Plans as text, one line for each node, inputs below and indented as in Flink's EXPLAIN."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.table.algebra.nodes import PlanNode, Sink
from penstock.table.changelog.modes import ChangelogMode

__all__ = ["plan_text"]


def plan_text(root: PlanNode, modes: Mapping[PlanNode, ChangelogMode] | None = None) -> str:
    """The plan; with `modes`, each node shows the kinds of rows it puts out."""
    lines: list[str] = []
    _write(root, "", "", lines, modes)
    return "\n".join(lines)


def _write(
    node: PlanNode, first: str, rest: str, lines: list[str], modes: Mapping[PlanNode, ChangelogMode] | None
) -> None:
    text = node.describe()
    if modes is not None:
        mode = "NONE" if isinstance(node, Sink) else str(modes[node])
        text = f"{text[:-1]}, changelogMode=[{mode}])" if text.endswith(")") else f"{text}(changelogMode=[{mode}])"
    lines.append(first + text)
    for number, each in enumerate(node.inputs):
        is_last = number == len(node.inputs) - 1
        _write(each, rest + ("+- " if is_last else ":- "), rest + ("   " if is_last else ":  "), lines, modes)
