"""`CachedDataStream`: a stream that one job computes and later jobs read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from penstock.common.type_variables import A, T_co
from penstock.datastream.stream import DataStream
from penstock.errors import GraphError
from penstock.graph.nodes import Edge, Node, Role

# The module and not its names: the operators import the vocabulary of this package, so either may be loaded first.
from penstock.runtime import operators

if TYPE_CHECKING:
    from penstock.vocabulary.output_tag import OutputTag


class CachedDataStream(DataStream[T_co]):
    """A stream that the first job of its environment computes and stores for later jobs."""

    def __init__(self, stream: DataStream[T_co]) -> None:
        """Made by `DataStream.cache`."""
        environment = stream.environment
        graph = environment.graph
        settings = _settings_of([graph.nodes[edge.source_id] for edge in stream.edges])
        cache = operators.CacheOperator()
        node = graph.add(Role.OPERATOR, "Cache", cache, stream.edges, output_type=stream.output_type, **settings)
        graph.change(node.id, uid=f"cache-{node.id}")
        super().__init__(environment, (Edge(node.id),), node_id=node.id, output_type=stream.output_type)
        self._cache_id = node.id

    def invalidate(self) -> None:
        """Delete the cached records; the next job that needs them computes and caches them again."""
        self.environment.results.drop(self._cache_id)

    def get_side_output(self, output_tag: OutputTag[A]) -> DataStream[A]:
        """Refused: only the main output is cached."""
        raise GraphError("get_side_output: a cached stream has none; take it from the stream before cache().")

    def _refused(self, method: str) -> NoReturn:
        raise GraphError(f"{method}: not possible for a cached stream; call it before cache(), or on what follows.")

    def set_parallelism(self, parallelism: int) -> NoReturn:
        """Refused, as in Flink: the cache has the parallelism of its stream."""
        self._refused("set_parallelism")

    def set_max_parallelism(self, max_parallelism: int) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("set_max_parallelism")

    def force_non_parallel(self) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("force_non_parallel")

    def name(self, name: str) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("name")

    def get_name(self) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("get_name")

    def uid(self, uid: str) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("uid")

    def set_uid_hash(self, uid_hash: str) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("set_uid_hash")

    def set_buffer_timeout(self, timeout_millis: int) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("set_buffer_timeout")

    def start_new_chain(self) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("start_new_chain")

    def disable_chaining(self) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("disable_chaining")

    def slot_sharing_group(self, slot_sharing_group: Any) -> NoReturn:
        """Refused, as in Flink."""
        self._refused("slot_sharing_group")


def _settings_of(inputs: list[Node]) -> dict[str, Any]:
    """Those of what is cached, so that its records stay where they are and in their order."""
    found = {(node.parallelism, node.max_parallelism, node.is_single) for node in inputs}
    if len(found) > 1:
        return {}
    parallelism, max_parallelism, is_single = found.pop()
    return {"parallelism": parallelism, "max_parallelism": max_parallelism, "is_single": is_single}
