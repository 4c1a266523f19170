"""The logical plan: immutable descriptions of sources, operators, sinks and the edges between them."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

FORWARD_INPUT = 0


class Exchange(enum.Enum):
    """How an edge chooses the subtask of its target that gets a record."""

    FORWARD = "forward"
    KEYED = "keyed"
    REBALANCE = "rebalance"
    RESCALE = "rescale"
    SHUFFLE = "shuffle"
    BROADCAST = "broadcast"
    GLOBAL = "global"
    CUSTOM = "custom"


@dataclass(frozen=True)
class Partitioning:
    """An exchange with what it needs to decide.

    `key_selector` is a plain callable value -> key (keyed and custom exchanges). `partitioner` is a plain
    callable (key, number of targets) -> target (custom exchanges only). `key_type` is the declared
    `TypeInformation` of the key, or None. `is_explicit` tells `forward()` apart from "nothing was said".
    """

    exchange: Exchange
    key_selector: Callable[[Any], Any] | None = None
    partitioner: Callable[[Any, int], int] | None = None
    key_type: Any = None
    is_explicit: bool = False


FORWARD = Partitioning(Exchange.FORWARD)


class Role(enum.Enum):
    """What a node is for."""

    SOURCE = "source"
    OPERATOR = "operator"
    SINK = "sink"


# Flink shows what a node is for in front of its name; users deal in the bare name.
NAME_PREFIX = {Role.SOURCE: "Source: ", Role.OPERATOR: "", Role.SINK: "Sink: "}


class _Named(Protocol):
    @property
    def role(self) -> Role: ...

    @property
    def name(self) -> str: ...


def bare_name(node: _Named) -> str:
    """The name of a node, or of an operator of a plan, without what it is for."""
    return node.name.removeprefix(NAME_PREFIX[node.role])


class Chaining(enum.Enum):
    """Whether a node may share a vertex with its neighbours."""

    ALWAYS = "always"
    HEAD = "head"  # may be followed, but starts a vertex of its own
    JOINED = "joined"  # shares the vertex of its input, even in a job whose operators are not chained
    NEVER = "never"


@dataclass(frozen=True)
class Edge:
    """One input of a node: records of `source_id` (its main output, or its side output `tag`)."""

    source_id: int
    partitioning: Partitioning = FORWARD
    tag: str | None = None
    input_index: int = FORWARD_INPUT


@dataclass(frozen=True)
class Node:
    """A source, operator or sink with its inputs.

    `operator` is an unopened `penstock.runtime` operator (for sources: a source operator; for sinks: a sink
    operator); a fresh copy is opened in every subtask. `parallelism` None means the environment's default.
    `is_single` marks a node that must run with parallelism 1 (a collection source, a non-keyed window). `output_type`
    is what is known of its results; where they come from user code, `checked_type` is what they are made to be, and
    `side_types` the same for its side outputs, by tag. `gives_columns`: of a source, whether its records come as
    columns; None where nobody knows.
    """

    id: int
    role: Role
    name: str
    operator: Any
    inputs: tuple[Edge, ...] = ()
    uid: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    chaining: Chaining = Chaining.ALWAYS
    is_single: bool = False
    output_type: Any = None
    checked_type: Any = None
    side_types: dict[str, Any] = field(default_factory=dict)
    description: str | None = None
    gives_columns: bool | None = None


@dataclass
class LogicalGraph:
    """All nodes of one environment, by id, in the order they were made."""

    nodes: dict[int, Node] = field(default_factory=dict)
    uses: int = 0
    """How often a part of it was asked for, to be run or explained."""
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def add(self, role: Role, name: str, operator: Any, inputs: tuple[Edge, ...] = (), **settings: Any) -> Node:
        """Append a node and return it."""
        node = Node(next(self._ids), role, name, operator, inputs, **settings)
        self.nodes[node.id] = node
        return node

    def change(self, node_id: int, **settings: Any) -> Node:
        """Replace settings of a node (name, uid, parallelism, ...) and return the new version."""
        node = replace(self.nodes[node_id], **settings)
        self.nodes[node_id] = node
        return node

    def part(self, node_ids: set[int]) -> LogicalGraph:
        """These nodes, with all that feeds them."""
        self.uses += 1
        wanted, reached = list(node_ids), set[int]()
        while wanted:
            node_id = wanted.pop()
            if node_id not in reached:
                reached.add(node_id)
                wanted.extend(edge.source_id for edge in self.nodes[node_id].inputs)
        return replace(self, nodes={node_id: node for node_id, node in self.nodes.items() if node_id in reached})
