"""What a program may demand of itself: uids given by hand, declared types."""

from __future__ import annotations

from penstock.common.basic_types import PickledBytesTypeInfo
from penstock.errors import GraphError
from penstock.graph.declared_settings import AUTO_GENERATED_UIDS, GENERIC_TYPES
from penstock.graph.nodes import Node, Role
from penstock.graph.settings import JobSettings


def check_demands(nodes: list[Node], settings: JobSettings) -> None:
    """Refuse operators that lack what the settings demand of all."""
    if not settings.auto_generated_uids:
        _refuse(
            [node for node in nodes if node.uid is None],
            f"have no uid, and auto-generated uids are disabled ({AUTO_GENERATED_UIDS}): give each one with .uid(...)",
        )
    if not settings.generic_types:
        _refuse(
            [node for node in nodes if node.role is not Role.SINK and _is_generic(node)],
            f"have no declared type, and generic types are disabled ({GENERIC_TYPES}): declare the output type of "
            "each, as in map(..., output_type=Types.INT())",
        )


def _is_generic(node: Node) -> bool:
    return node.output_type is None or isinstance(node.output_type, PickledBytesTypeInfo)


def _refuse(nodes: list[Node], what: str) -> None:
    if nodes:
        names = ", ".join(repr(node.name) for node in nodes)
        raise GraphError(f"operators {names} {what}.")
