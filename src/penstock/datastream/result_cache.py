"""Which cached streams of an environment have their records already, and what that means for its next job.

A job that computes a cached stream gets a sink that keeps the records, in a folder of its own. Once the job has ended
well, later jobs have a source of these records in the place of the stream and of all that only it needs.
"""

from __future__ import annotations

import logging
import os
import uuid
import weakref
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.job_client import JobClient
from penstock.common.job_status import JobStatus
from penstock.connectors.cached_records import CachedFile, CachedSource, CacheSink, whole_cache
from penstock.errors import GraphError
from penstock.graph.nodes import NAME_PREFIX, Edge, LogicalGraph, Node, Role
from penstock.graph.settings import JobSettings

# The module and not its names: the operators import the vocabulary of this package, so either may be loaded first.
from penstock.runtime import operators
from penstock.scratch import make_scratch, remove_scratch
from penstock.storage.places import Storage

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Kept:
    location: str
    files: tuple[CachedFile, ...]


class ResultCache:
    """The cached records of one environment; they go with it, and with the process."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: dict[int, _Kept] = {}
        self._to_come: list[tuple[int, str, JobClient]] = []
        self._removers: dict[str, weakref.finalize[..., ResultCache]] = {}
        self._jobs: list[tuple[JobClient, set[str]]] = []

    def with_records(self, graph: LogicalGraph) -> LogicalGraph:
        """The graph with sources where records are at hand, without what only they needed."""
        self._look_at_jobs()
        known = {node_id: kept for node_id, kept in self._kept.items() if node_id in graph.nodes}
        if not known:
            return graph
        nodes = dict(graph.nodes)
        nodes.update({node_id: self._source(nodes[node_id], kept) for node_id, kept in known.items()})
        read = {edge.source_id for node in graph.nodes.values() for edge in node.inputs}
        needed = _above(nodes, [node_id for node_id in nodes if node_id not in read])
        return replace(graph, nodes={node_id: node for node_id, node in nodes.items() if node_id in needed})

    def with_sinks(
        self, graph: LogicalGraph, settings: JobSettings | None = None
    ) -> tuple[LogicalGraph, dict[int, str]]:
        """The graph with a sink for each cached stream that it computes, and the folders; without settings to look at.

        A job that goes on from a savepoint does not see all records, so it keeps none.
        """
        cached = [node for node in graph.nodes.values() if isinstance(node.operator, operators.CacheOperator)]
        for node in cached:
            _refuse_endless(node, graph)
        if cached and settings is not None and settings.recovery_path:
            _log.warning("job %r goes on from a savepoint: its streams are not cached", settings.job_name)
            return graph, {}
        folders: dict[int, str] = {}
        nodes = dict(graph.nodes)
        for node in cached:
            folders[node.id] = "" if settings is None else self._new_folder(settings)
            sink = operators.SinkOperator(CacheSink(folders[node.id], self))
            end = _sink_of(node, max(nodes) + 1, sink)
            nodes[end.id] = end
        return replace(graph, nodes=nodes), folders

    def await_records(self, graph: LogicalGraph, folders: dict[int, str], client: JobClient) -> None:
        """A job has been started that reads what is kept of this graph, and fills these folders."""
        used = {kept.location for node_id, kept in self._kept.items() if node_id in graph.nodes}
        used.update(folders.values())
        if used:
            self._jobs.append((client, used))
        self._to_come.extend((node_id, folder, client) for node_id, folder in folders.items())

    def drop(self, node_id: int) -> None:
        """Forget the records of a cached stream, and those that a running job is keeping."""
        self._look_at_jobs()
        self._kept.pop(node_id, None)
        self._to_come = [each for each in self._to_come if each[0] != node_id]
        self.remove_unused()

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._to_come.clear()
        self.remove_unused()

    def remove_unused(self) -> None:
        """Remove the folders that neither this environment nor a running job needs."""
        self._jobs = [(client, used) for client, used in self._jobs if not _has_ended(client)]
        needed = {kept.location for kept in self._kept.values()} | {folder for _, folder, _ in self._to_come}
        needed.update(*(used for _, used in self._jobs))
        for folder in set(self._removers) - needed:
            self._removers.pop(folder)()

    def _look_at_jobs(self) -> None:
        """Take over what jobs have kept that have ended well, each in the form that came first."""
        for node_id, folder, client in [each for each in self._to_come if _has_ended(each[2])]:
            self._to_come.remove((node_id, folder, client))
            files = whole_cache(folder) if _has_read_everything(client) else None
            if files is not None:
                self._kept.setdefault(node_id, _Kept(folder, files))
        self.remove_unused()

    def _source(self, node: Node, kept: _Kept) -> Node:
        source = CachedSource(kept.location, kept.files, node.is_single, self)
        operator = operators.create_source_operator(source, None)
        name = f"{NAME_PREFIX[Role.SOURCE]}Cached"
        return replace(node, role=Role.SOURCE, name=name, operator=operator, inputs=(), uid=f"cached-{node.id}")

    def _new_folder(self, settings: JobSettings) -> str:
        """A folder that every task reaches: beside the checkpoint directory, or in this machine's place for such."""
        beside, is_remote = None, False
        if settings.checkpoint_directory:
            storage = Storage(settings.checkpoint_directory)
            is_remote = not storage.is_local
            beside = os.path.dirname((storage.location if is_remote else storage.base).rstrip("/"))
        if is_remote:
            folder = f"{beside}/penstock-cache-{uuid.uuid4().hex}"
            self._removers[folder] = weakref.finalize(self, _remove_remote, folder)
            return folder
        if beside:
            os.makedirs(beside, exist_ok=True)
        folder = make_scratch("cache", beside)
        self._removers[folder] = weakref.finalize(self, remove_scratch, folder)
        return folder


def _has_ended(client: JobClient) -> bool:
    return client.get_job_status().result().is_globally_terminal_state()


def _has_read_everything(client: JobClient) -> bool:
    return client.get_job_status().result() is JobStatus.FINISHED and not client.was_drained()


def _sink_of(node: Node, node_id: int, operator: Any) -> Node:
    return Node(
        node_id,
        Role.SINK,
        f"{NAME_PREFIX[Role.SINK]}Cache",
        operator,
        (Edge(node.id),),
        uid=f"cache-sink-{node.id}",
        parallelism=node.parallelism,
        max_parallelism=node.max_parallelism,
        is_single=node.is_single,
    )


def _refuse_endless(node: Node, graph: LogicalGraph) -> None:
    for node_id in _above(graph.nodes, [node.id]):
        above = graph.nodes[node_id]
        if above.role is Role.SOURCE and not above.operator.source.is_bounded():
            raise GraphError(
                f"cache: {above.name!r} is unbounded, and only a bounded stream can be cached: use a bounded source, "
                "or remove cache()."
            )


def _above(nodes: dict[int, Node], wanted: list[int]) -> set[int]:
    """These nodes and all that feeds them."""
    reached: set[int] = set()
    while wanted:
        node_id = wanted.pop()
        if node_id not in reached:
            reached.add(node_id)
            wanted.extend(edge.source_id for edge in nodes[node_id].inputs)
    return reached


def _remove_remote(folder: str) -> None:
    Storage(folder).remove_directory("")
