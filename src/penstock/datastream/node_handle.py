"""Settings of one node of the graph, shared by streams and sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

from penstock.common.no_effect import SPARK_PLACES, warn_of_no_effect
from penstock.datastream.arguments import check_max_parallelism, check_parallelism, check_uid_hash, non_empty_text
from penstock.errors import GraphError
from penstock.graph.nodes import NAME_PREFIX, Chaining, Node
from penstock.vocabulary.slot_sharing_group import SlotSharingGroup

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment


class NodeHandle:
    """Settings of the operator of a stream or sink."""

    def __init__(self, environment: StreamExecutionEnvironment, node_id: int | None) -> None:
        self.environment = environment
        self._node_id = node_id

    def _node(self, method: str) -> Node:
        """The node that a setting goes to."""
        if self._node_id is None:
            self._refuse(method)
        return self.environment.graph.nodes[self._node_id]

    def _refuse(self, method: str) -> NoReturn:
        raise GraphError(f"{method}() needs an operator, source or sink.")

    def _set(self, method: str, **settings: Any) -> Self:
        self.environment.graph.change(self._node(method).id, **settings)
        return self

    def name(self, name: str) -> Self:
        """Name the operator, for plans, logs and metrics."""
        node = self._node("name")
        return self._set("name", name=NAME_PREFIX[node.role] + non_empty_text("name", name))

    def uid(self, uid: str) -> Self:
        """Set the id that identifies the operator's state; unique in the job."""
        return self._set("uid", uid=non_empty_text("uid", uid))

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Use a hash of 32 hex digits as the operator's uid; the later of this and `uid` counts."""
        return self._set("set_uid_hash", uid=check_uid_hash(uid_hash))

    def set_parallelism(self, parallelism: int) -> Self:
        """Set the parallelism of the operator."""
        node = self._node("set_parallelism")
        check_parallelism(parallelism, f"operator {node.name!r}")
        if node.is_single and parallelism != 1:
            raise GraphError(f"operator {node.name!r} can only run with parallelism 1, not {parallelism}.")
        return self._set("set_parallelism", parallelism=parallelism)

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups, the limit of any later parallelism."""
        node = self._node("set_max_parallelism")
        check_max_parallelism(max_parallelism, f"operator {node.name!r}")
        return self._set("set_max_parallelism", max_parallelism=max_parallelism)

    def set_description(self, description: str) -> Self:
        """Describe the operator at length, for plans."""
        return self._set("set_description", description=non_empty_text("set_description", description))

    def disable_chaining(self) -> Self:
        """Do not chain the operator with its neighbours."""
        return self._set("disable_chaining", chaining=Chaining.NEVER)

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Accepted without effect: Spark places tasks."""
        node = self._node("slot_sharing_group")
        is_group = isinstance(slot_sharing_group, SlotSharingGroup)
        name = slot_sharing_group.get_name() if is_group else slot_sharing_group  # type: ignore[union-attr]
        self.environment.slot_sharing_groups[node.id] = non_empty_text("slot_sharing_group", name)
        warn_of_no_effect("slot_sharing_group", SPARK_PLACES)
        return self


class DataStreamSink(NodeHandle):
    """The end of a stream."""
