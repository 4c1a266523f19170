"""Counting what a job has left in its store: timers and keyed state, read from the files of its last checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.graph.plan import JobPlan, Vertex
from penstock.state.keyed import KeyedStateBackend
from penstock.state.store import OrderedStore
from penstock.state.timers import EVENT, PROCESSING, InternalTimers
from penstock.state.versions import SubtaskState
from penstock.testing.transcripts import Left


def left_of_branch(directory: CheckpointDirectory, plan: JobPlan, source_names: Collection[str]) -> Left:
    """What is left, at the last version, of everything that some sources feed; what several feed is counted once."""
    sealed = directory.sealed_versions()
    seal = directory.read_seal(sealed[-1]) if sealed else Seal()
    assert seal is not None
    found = [
        _left_of_subtask(directory, seal, vertex, subtask)
        for vertex in _fed_by(plan, source_names)
        for subtask in range(vertex.parallelism)
    ]
    return _total(found)


def _fed_by(plan: JobPlan, source_names: Collection[str]) -> list[Vertex]:
    """The vertices behind sources, themselves included; vertices come in the order of their levels."""
    reached: set[int] = set()
    for vertex in plan.vertices:
        is_source = vertex.is_source and vertex.operators[0].name.removeprefix("Source: ") in source_names
        if is_source or any(edge.source in reached for edge in vertex.inputs):
            reached.add(vertex.id)
    return [vertex for vertex in plan.vertices if vertex.id in reached and not vertex.is_driver]


def _left_of_subtask(directory: CheckpointDirectory, seal: Seal, vertex: Vertex, subtask: int) -> Left:
    keyed = [index for index, chained in enumerate(vertex.operators) if chained.operator.is_keyed]
    if not keyed:
        return Left()
    path = directory.state_path(vertex.uid, subtask)
    version = seal.entry(vertex.uid, subtask).state
    state = SubtaskState.open(directory.filesystem, path, version, local_path=None)
    try:
        return _total(_left_of_operator(state.store, seal.version, vertex, index) for index in keyed)
    finally:
        state.abort()


def _left_of_operator(store: OrderedStore, version: int, vertex: Vertex, index: int) -> Left:
    backend = KeyedStateBackend(vertex.max_parallelism, operator_index=index)
    timers = InternalTimers(backend)
    backend.bind(store, version + 1)
    return Left(timers.count(EVENT), timers.count(PROCESSING), backend.count_entries())


def _total(parts: Iterable[Left]) -> Left:
    counted = list(parts)
    return Left(
        sum(part.event_timers for part in counted),
        sum(part.processing_timers for part in counted),
        sum(part.state_entries for part in counted),
    )
