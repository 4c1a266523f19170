"""A plan as text for people: levels from the sources to the sinks, and who sends what to whom."""

from __future__ import annotations

from penstock.graph.column_flow import Place, forms_of
from penstock.graph.plan import ChainedOperator, JobPlan, OutEdge, Vertex


def explain(plan: JobPlan) -> str:
    """Describe every level, vertex, chained operator and exchange of a plan."""
    lines, forms = [f"Job {plan.name!r}: {len(plan.vertices)} vertices"], forms_of(plan)
    lines += _section("Level 0 (sources)", plan.sources(), forms)
    for level, vertices in plan.levels():
        lines += _section(f"Level {level}", vertices, forms)
    lines += _section("Driver", plan.driver_vertices(), forms)
    lines.append("")
    lines.append("* the uid was generated; give the operator one with .uid(...) so that its state is found again")
    return "\n".join(lines)


def _section(title: str, vertices: list[Vertex], forms: dict[Place, str]) -> list[str]:
    lines: list[str] = []
    for vertex in vertices:
        where = "" if vertex.is_driver else f", parallelism {vertex.parallelism} (max {vertex.max_parallelism})"
        lines.append(f"  [{vertex.id}] {vertex.name}{where}")
        for index, op in enumerate(vertex.operators):
            lines.append(_operator_line(op))
            if (vertex.id, index) in forms:
                lines.append(f"            {forms[vertex.id, index]}")
        lines += [_edge_line(edge) for edge in vertex.outputs]
    return ["", title, *lines] if lines else []


def _operator_line(op: ChainedOperator) -> str:
    kind = type(op.operator).__name__
    tag = f" on side output {op.tag!r}" if op.tag is not None else ""
    return f"        {op.name} <{kind}> uid={op.uid}{'*' if is_generated(op.uid) else ''}{tag}"


def _edge_line(edge: OutEdge) -> str:
    tag = f" side output {edge.tag!r}" if edge.tag is not None else ""
    index = f" (input {edge.target_input + 1})" if edge.target_input else ""
    way = "to driver" if edge.to_driver else edge.partitioning.exchange.value
    return f"        --{way}--> [{edge.target}]{index}{tag}"


def is_generated(uid: str) -> bool:
    """Whether a uid was made by Penstock rather than given by the user."""
    return uid.startswith("auto-")
