"""Say at the end of a program that it built streams and never ran them."""

from __future__ import annotations

import sys
import weakref
from typing import TYPE_CHECKING

from penstock.graph.nodes import LogicalGraph, Role, bare_name

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment


def watch(environment: StreamExecutionEnvironment) -> None:
    """Write a line to standard error if the environment goes away, or the program ends, without a single use."""
    # The graph outlives the environment, which may be gone long before the program ends.
    weakref.finalize(environment, _tell, environment.graph)


def _tell(graph: LogicalGraph) -> None:
    operators = [bare_name(node) for node in graph.nodes.values() if node.role is not Role.SOURCE]
    if not operators or graph.uses or _is_tried_out():
        return
    names = ", ".join(map(repr, operators[-3:]))
    sys.stderr.write(
        f"penstock: this program built streams (last operators: {names}) and never ran them; "
        "call env.execute() at its end\n"
    )


def _is_tried_out() -> bool:
    """Return whether somebody is at work who knows: at a prompt, in a test, or with a traceback on the screen."""
    return hasattr(sys, "ps1") or "pytest" in sys.modules or getattr(sys, "last_type", None) is not None
