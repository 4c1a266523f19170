"""From the logical graph to the physical plan: checks, operator ids, chaining into vertices, levels.

Decides the shape of the job and refuses graphs that cannot run; knows nothing of Spark.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.common.no_effect import level_of_program
from penstock.common.state_identity import identity_of
from penstock.errors import GraphError, LikelyMistakeWarning
from penstock.graph.demands import check_demands
from penstock.graph.nodes import FORWARD, Chaining, Edge, Exchange, LogicalGraph, Node, Partitioning, Role
from penstock.graph.plan import Adopted, ChainedOperator, InEdge, JobPlan, OutEdge, Vertex
from penstock.graph.settings import JobSettings
from penstock.keys.groups import MAX_PARALLELISM_LIMIT, default_max_parallelism

REBALANCE = Partitioning(Exchange.REBALANCE)


def compile_plan(graph: LogicalGraph, settings: JobSettings, adopted: Mapping[str, Adopted] | None = None) -> JobPlan:
    """Check a logical graph and turn it into a plan; `adopted` binds operators, by uid, to state they go on from."""
    nodes = list(graph.nodes.values())
    _check_shape(graph, nodes)
    check_demands(nodes, settings)
    uids = _operator_uids(nodes)
    known = adopted or {}
    drafts = _chain(nodes, settings, {node_id: known.get(uid, Adopted()) for node_id, uid in uids.items()})
    _set_levels(drafts, nodes)
    return JobPlan(settings.job_name, _vertices(drafts, nodes, uids))


@dataclass
class _Draft:
    """A vertex while it is being put together; `members` are nodes, head first."""

    members: list[Node]
    parallelism: int
    max_parallelism: int
    is_driver: bool
    split_count: int | None = None
    level: int = 0
    position: int = -1
    parents: dict[int, int | None] = field(default_factory=dict)

    @property
    def head(self) -> Node:
        return self.members[0]


def _check_shape(graph: LogicalGraph, nodes: list[Node]) -> None:
    if not nodes:
        raise GraphError("the job is empty: add a source and a sink before execute()")
    if not any(node.role is Role.SINK for node in nodes):
        names = ", ".join(repr(node.name) for node in nodes[-3:])
        # As in Flink, such a job runs: its functions may do something by themselves.
        warnings.warn(
            f"The job has no sink, so nobody sees its results (last operators: {names}): end a stream with print(), "
            "sink_to(), add_sink() or execute_and_collect().",
            LikelyMistakeWarning,
            stacklevel=level_of_program(),
        )
    for node in nodes:
        _check_node(graph, node)
    _check_queryable_names(nodes)


def _check_queryable_names(nodes: list[Node]) -> None:
    """Refuse streams that are kept under one queryable name; names that functions give are seen when they run."""
    owner: dict[str, Node] = {}
    for node in nodes:
        name = getattr(node.operator, "queryable_name", None)
        if name is not None and owner.setdefault(name, node) is not node:
            raise GraphError(
                f"queryable state {name!r} exists twice: as_queryable_state() is called with that name for "
                f"operators {owner[name].name!r} and {node.name!r}; give one of them another name"
            )


def _check_node(graph: LogicalGraph, node: Node) -> None:
    if node.role is not Role.SOURCE and not node.inputs:
        raise GraphError(f"operator {node.name!r} has no input")
    for edge in node.inputs:
        if edge.source_id not in graph.nodes:
            raise GraphError(f"operator {node.name!r} reads a stream of another environment or of an executed job")
    if node.parallelism is not None and node.parallelism < 1:
        raise GraphError(f"operator {node.name!r} has parallelism {node.parallelism}; it must be 1 or more")
    limit = node.max_parallelism
    if limit is not None and not 1 <= limit <= MAX_PARALLELISM_LIMIT:
        raise GraphError(f"operator {node.name!r} has max parallelism {limit}; allowed is 1..{MAX_PARALLELISM_LIMIT}")


def _operator_uids(nodes: list[Node]) -> dict[int, str]:
    """Uids by node id: the user's own, or one made from the operator's name and what it reads."""
    uids: dict[int, str] = {}
    owner: dict[str, Node] = {}
    for node in nodes:
        uid = node.uid if node.uid is not None else _generated_uid(node, uids, set(owner))
        if uid in owner:
            raise GraphError(
                f"uid {uid!r} is used by operator {owner[uid].name!r} and again by operator {node.name!r}: "
                "uids must be unique in a job, because they identify state"
            )
        uids[node.id] = uid
        owner[uid] = node
    return uids


def _generated_uid(node: Node, uids: dict[int, str], taken: set[str]) -> str:
    reads = ",".join(f"{uids[edge.source_id]}/{edge.tag}/{edge.input_index}" for edge in node.inputs)
    seed = f"{node.role.value}|{node.name}|{identity_of(node.operator)}|{reads}"
    for attempt in range(len(taken) + 1):
        uid = "auto-" + hashlib.sha256(f"{seed}|{attempt}".encode()).hexdigest()[:12]
        if uid not in taken:
            return uid
    raise AssertionError("more uids taken than there are operators")


def _parallelism(node: Node, settings: JobSettings) -> int:
    if node.is_single:
        if node.parallelism not in (None, 1):
            raise GraphError(f"operator {node.name!r} can only run with parallelism 1, not {node.parallelism}")
        return 1
    return node.parallelism if node.parallelism is not None else settings.parallelism


def _max_parallelism(node: Node, parallelism: int, settings: JobSettings, bound: int | None) -> int:
    chosen = node.max_parallelism or settings.max_parallelism
    if chosen is not None and bound is not None and chosen != bound:
        raise GraphError(
            f"operator {node.name!r} has max parallelism {chosen}, but the state it resumes from was written with "
            f"{bound} "
            f"and cannot change: set it to {bound}, or do not set it"
        )
    limit = chosen or bound or default_max_parallelism(parallelism)
    if parallelism > limit:
        reason = ", taken from the state it resumes from" if chosen is None and bound is not None else ""
        raise GraphError(f"operator {node.name!r} has parallelism {parallelism} but max parallelism {limit}{reason}")
    return limit


def _chain(nodes: list[Node], settings: JobSettings, adopted: dict[int, Adopted]) -> list[_Draft]:
    by_node: dict[int, _Draft] = {}
    drafts: list[_Draft] = []
    for node in nodes:
        parallelism = _parallelism(node, settings)
        bound = adopted[node.id]
        limit = _max_parallelism(node, parallelism, settings, bound.max_parallelism)
        is_driver = bool(getattr(node.operator, "runs_on_driver", False))
        draft = _Draft([], parallelism, limit, is_driver, bound.split_count)
        parent = _chainable_parent(node, draft, by_node, settings)
        if parent is None:
            drafts.append(draft)
        else:
            draft = parent
            draft.parents[node.id] = node.inputs[0].source_id
        draft.members.append(node)
        by_node[node.id] = draft
    return drafts


def _chainable_parent(node: Node, draft: _Draft, by_node: dict[int, _Draft], settings: JobSettings) -> _Draft | None:
    """The vertex that the node may join, by Flink's chaining rules, or None if it starts its own."""
    is_wanted = node.chaining is Chaining.JOINED or (node.chaining is Chaining.ALWAYS and settings.chaining)
    if len(node.inputs) != 1 or not is_wanted or draft.is_driver:
        return None
    edge = node.inputs[0]
    parent = by_node[edge.source_id]
    source = next(member for member in parent.members if member.id == edge.source_id)
    if edge.partitioning.exchange is not Exchange.FORWARD or edge.input_index != 0:
        return None
    if source.chaining is Chaining.NEVER or parent.parallelism != draft.parallelism:
        return None
    if parent.max_parallelism != draft.max_parallelism:
        return None
    # A source's tasks run only for splits that have data, so an operator that must be woken by time or by the
    # end of the job (a sink with files to roll) cannot live in its vertex.
    if parent.head.role is Role.SOURCE and getattr(node.operator, "needs_stable_subtask", False):
        return None
    return parent


def _draft_of(drafts: list[_Draft]) -> dict[int, _Draft]:
    return {member.id: draft for draft in drafts for member in draft.members}


def _set_levels(drafts: list[_Draft], nodes: list[Node]) -> None:
    """A level is one more than the highest level of the inputs; drafts come in topological order."""
    by_node = _draft_of(drafts)
    for draft in drafts:
        draft.level = max((by_node[edge.source_id].level + 1 for edge in draft.head.inputs), default=0)
    deepest = max((draft.level for draft in drafts if not draft.is_driver), default=0)
    for draft in drafts:
        if draft.is_driver:
            draft.level = deepest + 1
    drafts.sort(key=lambda draft: draft.level)
    for position, draft in enumerate(drafts):
        draft.position = position


def _vertices(drafts: list[_Draft], nodes: list[Node], uids: dict[int, str]) -> tuple[Vertex, ...]:
    by_node = _draft_of(drafts)
    outputs: dict[int, list[OutEdge]] = {draft.position: [] for draft in drafts}
    inputs: dict[int, list[InEdge]] = {draft.position: [] for draft in drafts}
    for draft in drafts:
        for edge in draft.head.inputs:
            sender = by_node[edge.source_id]
            out = _out_edge(edge, sender, draft, len(outputs[sender.position]))
            outputs[sender.position].append(out)
            inputs[draft.position].append(_in_edge(edge, sender, out))
    return tuple(_vertex(draft, uids, outputs[draft.position], inputs[draft.position]) for draft in drafts)


def _out_edge(edge: Edge, sender: _Draft, target: _Draft, number: int) -> OutEdge:
    index = next(i for i, member in enumerate(sender.members) if member.id == edge.source_id)
    return OutEdge(
        number=number,
        operator=index,
        tag=edge.tag,
        partitioning=FORWARD if target.is_driver else _resolved(edge.partitioning, sender, target),
        target=target.position,
        target_input=edge.input_index,
        target_parallelism=sender.parallelism if target.is_driver else target.parallelism,
        target_max_parallelism=target.max_parallelism,
        to_driver=target.is_driver,
        is_from_ephemeral=_is_ephemeral(sender),
    )


def _resolved(partitioning: Partitioning, sender: _Draft, target: _Draft) -> Partitioning:
    """Flink's rule: forward where the parallelism is equal, rebalance where nothing was said and it is not."""
    if partitioning.exchange is not Exchange.FORWARD or sender.parallelism == target.parallelism:
        return partitioning
    if partitioning.is_explicit:
        raise GraphError(
            f"forward() from {sender.head.name!r} (parallelism {sender.parallelism}) to {target.head.name!r} "
            f"(parallelism {target.parallelism}): forward needs equal parallelism; use rebalance() or rescale()"
        )
    return REBALANCE


def _in_edge(edge: Edge, sender: _Draft, out: OutEdge) -> InEdge:
    return InEdge(
        source=sender.position,
        number=out.number,
        input_index=edge.input_index,
        channels=_channels(sender),
        is_ephemeral=_is_ephemeral(sender),
        is_pointwise=out.is_pointwise(_channels(sender)),
    )


def _channels(sender: _Draft) -> int:
    if sender.split_count is not None:
        return sender.split_count
    count = getattr(sender.head.operator, "split_count", None)
    return int(count(sender.parallelism)) if count is not None else sender.parallelism


def _is_ephemeral(draft: _Draft) -> bool:
    return draft.head.role is Role.SOURCE and bool(getattr(draft.head.operator, "is_ephemeral", False))


def _vertex(draft: _Draft, uids: dict[int, str], outputs: list[OutEdge], inputs: list[InEdge]) -> Vertex:
    index = {member.id: position for position, member in enumerate(draft.members)}
    operators = []
    for member in draft.members:
        parent_id = draft.parents.get(member.id)
        parent = None if parent_id is None else index[parent_id]
        tag = member.inputs[0].tag if parent is not None else None
        place = (uids[member.id], member.name, member.operator, parent, tag, member.role)
        operators.append(ChainedOperator(*place, member.checked_type, member.side_types, member.gives_columns))
    name = " -> ".join(member.name for member in draft.members)
    return Vertex(
        id=draft.position,
        uid=uids[draft.head.id],
        name=name,
        level=draft.level,
        parallelism=_channels(draft) if draft.head.role is Role.SOURCE else draft.parallelism,
        max_parallelism=draft.max_parallelism,
        operators=tuple(operators),
        outputs=tuple(outputs),
        inputs=tuple(inputs),
        is_driver=draft.is_driver,
        is_ephemeral=_is_ephemeral(draft),
    )
