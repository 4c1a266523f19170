"""Making a version final: from the reports of its subtasks to the seal, and from the seal to published sinks.

The same for every engine; when each step is taken is theirs to decide.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable

from penstock.checkpoint.described_state import described_keys, merged_descriptions
from penstock.checkpoint.directory import CheckpointDirectory
from penstock.checkpoint.seal import Frames, Seal
from penstock.common.plain_data import loaded
from penstock.connectors.sink import Committer, WorkRunner, run_here
from penstock.connectors.source import PositionListener
from penstock.errors import StorageFullError
from penstock.graph.plan import JobPlan
from penstock.runtime import rows
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import PartitionedSourceOperator, SinkOperator
from penstock.runtime.report import Report
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.source_tasks import Offset


class VersionCommitter:
    """Seals and publishes the versions of a job."""

    def __init__(self, plan: JobPlan, directory: CheckpointDirectory, run_on_workers: WorkRunner = run_here) -> None:
        self._plan = plan
        self._directory = directory
        self._ephemeral = {vertex.uid for vertex in plan.vertices if vertex.is_ephemeral}
        self._committers = _committers(plan)
        for committer in self._committers.values():
            committer.use_workers(run_on_workers)
        self._listeners = _listeners(plan)
        self._keys = described_keys(plan)
        self._names = {chained.uid: chained.name for vertex in plan.vertices for chained in vertex.operators}

    def seal(
        self, previous: Seal, version: int, reports: Iterable[Report], offset: Offset, frames: Frames | None = None
    ) -> Seal:
        """Make a version final; `offset` and `frames` say where its sources stand."""
        seal = previous.followed_by(version, reports, self._ephemeral, offset, frames)
        seal.described = merged_descriptions(seal.described, self._keys, self._names)
        self._directory.write_seal(seal)
        return seal

    def publish(self, seal: Seal) -> None:
        """Make what the sinks staged for a version that was sealed just now visible."""
        for uid, items in seal.committables.items():
            self._committers[uid].commit(list(map(loaded, items)))
        self._tell(seal)

    def publish_again(self, seal: Seal) -> None:
        """The same for a version that a process sealed before it died, and may have published."""
        for uid, items in seal.committables.items():
            self._committers[uid].commit_again(list(map(loaded, items)))
        self._tell(seal)

    def close(self) -> None:
        """Let go of what the sources' listeners hold."""
        while self._listeners:
            self._listeners.popitem()[1].close()

    def _tell(self, seal: Seal) -> None:
        for uid, listener in self._listeners.items():
            positions = None if seal.offset is None else seal.offset.partitions.get(uid)
            if positions:
                listener.on_final(positions)

    def have_all_ended(self, seal: Seal) -> bool:
        """Whether every source has ended; all that they set off ran in the same version."""
        return all(
            seal.entry(vertex.uid, subtask).has_ended
            for vertex in self._plan.sources()
            for subtask in range(1 if vertex.is_ephemeral else vertex.parallelism)
        )


def reports_of(arrived: Iterable[ExchangeRow]) -> list[Report]:
    """The reports among the rows that reached the driver; a failure among them is raised."""
    reports: list[Report] = []
    for row in arrived:
        if row.kind == rows.FAILURE:
            failure: OperatorFailure | StorageFullError = pickle.loads(row.payload)
            raise failure
        if row.kind == rows.REPORT:
            reports.append(pickle.loads(row.payload))
    return reports


def _listeners(plan: JobPlan) -> dict[str, PositionListener]:
    found: dict[str, PositionListener] = {}
    for vertex in plan.sources():
        operator = vertex.operators[0].operator
        if isinstance(operator, PartitionedSourceOperator):
            listener = operator.source.create_listener(vertex.operators[0].name)
            if listener is not None:
                found[vertex.uid] = listener
    return found


def _committers(plan: JobPlan) -> dict[str, Committer]:
    found: dict[str, Committer] = {}
    for vertex in plan.vertices:
        for chained in vertex.operators:
            if isinstance(chained.operator, SinkOperator):
                committer = chained.operator.sink.create_committer()
                if committer is not None:
                    found[chained.uid] = committer
    return found
