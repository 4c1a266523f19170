"""A checkpoint as something another job can go on from: the newest seal of a directory, read and never changed."""

from __future__ import annotations

from typing import Any

from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.common.constants import MIN_WATERMARK
from penstock.connectors.sink import Sink, UnfinishedFile
from penstock.errors import CheckpointError
from penstock.runtime.layouts import Layout
from penstock.runtime.operators import SinkOperator, writer_state
from penstock.runtime.report import SubtaskEntry, decode_inline
from penstock.runtime.source_tasks import Offset
from penstock.savepoint.manifest import Manifest, OperatorRecord
from penstock.savepoint.origin import Origin
from penstock.savepoint.row_sources import CheckpointRows
from penstock.state.declarations import merged
from penstock.state.operator_state import OperatorSnapshot

FIRST_VERSION = 0
"""The version of a job that holds what it has taken over; its first batch makes the next."""


class CheckpointOrigin(Origin):
    """A version of a job, by its seal and the plan of the job (as `JobPlan.fingerprint` gives it)."""

    def __init__(
        self, directory: CheckpointDirectory, seal: Seal, plan: dict[str, Any], job_name: str, job_id: str
    ) -> None:
        self.place = directory.uri
        self._directory = directory
        self._seal = seal
        self._vertex_of: dict[str, tuple[str, int, int]] = {}
        self._inline: dict[tuple[str, int], dict[str, Any]] = {}
        records: dict[str, OperatorRecord] = {}
        for vertex in plan["vertices"]:
            # What Spark cuts anew in every batch has one entry, see `Seal.followed_by`.
            count = 1 if vertex["uid"] in seal.frames else vertex["parallelism"]
            is_bound = any(self._entry(vertex["uid"], subtask).state.files for subtask in range(count))
            for index, operator in enumerate(vertex["operators"]):
                self._vertex_of[operator["uid"]] = vertex["uid"], index, count
                records[operator["uid"]] = self._record(operator, vertex["max_parallelism"], is_bound=is_bound)
        offset = seal.offset or Offset()
        stood: dict[str, Any] = {
            "positions": offset.positions,
            "partitions": offset.partitions,
            "stops": offset.stops,
        }
        self.manifest = Manifest(job_name, job_id, seal.version, 0, "", records, frames=seal.frames, **stood)

    @classmethod
    def newest(cls, uri: str) -> CheckpointOrigin:
        """The last version that is final in a directory."""
        directory = CheckpointDirectory(uri)
        job = directory.read_job()
        seal = directory.last_seal()
        if job is None or seal is None:
            raise CheckpointError(f"{uri} is neither a savepoint nor a checkpoint with a finished version")
        return cls(directory, seal, job["plan"], str(job["job_name"]), str(job["job_id"]))

    def row_source(self, uid: str, subtask: int) -> CheckpointRows | None:
        """The state files of the vertex, where there are any."""
        vertex, index, _ = self._vertex_of[uid]
        version = self._entry(vertex, subtask).state
        folder = self._directory.state_path(vertex, subtask).removeprefix(f"{self._directory.path}/")
        return CheckpointRows(self._directory.uri, folder, version, index) if version.files else None

    def states_of(self, uid: str) -> dict[str, str]:
        """Found in the files of all subtasks that may have some; what else is in their vertex is told by the seal."""
        found: dict[str, str] = {}
        for subtask in range(self.manifest.operators[uid].parallelism):
            source = self.row_source(uid, subtask) if self._may_be_keyed(uid, subtask) else None
            found.update({} if source is None else source.states())
        return found

    def _may_be_keyed(self, uid: str, subtask: int) -> bool:
        """Whether an operator may have rows in the files of its vertex.

        A subtask that has run noted the schemas of all operators that have keyed state, be they none. Before the first
        batch of a restored job there are only those of typed states.
        """
        vertex, _, _ = self._vertex_of[uid]
        noted = self._plain(vertex, subtask)["schemas"]
        return uid in noted or not noted or self._seal.version == FIRST_VERSION

    def snapshots(self, uid: str) -> list[Any]:
        """From the seal."""
        vertex, _, count = self._vertex_of[uid]
        return [self._plain(vertex, subtask)["operators"].get(uid) for subtask in range(count)]

    def unfinished_files(self, uid: str, name: str, sink: Sink) -> list[UnfinishedFile]:
        """From the sink's own staging area, by the states of its writers."""
        return [
            file for state in self.snapshots(uid) for file in sink.unfinished_files(name, writer_state(own_part(state)))
        ]

    def committables(self, uid: str) -> list[Any]:
        """From the seal: a job that was killed had perhaps not come to publish them."""
        is_published = self._directory.is_done(self._seal.version)
        return [] if is_published else self._seal.committables.get(uid, [])

    def source_log(self, uid: str, number: int) -> tuple[fs.FileSystem, str]:
        """Spark numbers its sources in the order of the plan; the first is Penstock's own."""
        first = 1
        for other, offsets in self._seal.frames.items():
            if other == uid:
                break
            first += len(offsets)
        return self._directory.filesystem, self._directory.source_log(first + number)

    def _entry(self, vertex: str, subtask: int) -> SubtaskEntry:
        return self._seal.entry(vertex, subtask)

    def _plain(self, vertex: str, subtask: int) -> dict[str, Any]:
        if (vertex, subtask) not in self._inline:
            self._inline[vertex, subtask] = decode_inline(self._entry(vertex, subtask).inline)
        return self._inline[vertex, subtask]

    def _record(self, operator: dict[str, str], max_parallelism: int, *, is_bound: bool) -> OperatorRecord:
        uid = operator["uid"]
        vertex, _, count = self._vertex_of[uid]
        snapshots = self.snapshots(uid)
        states = [found.states for found in map(OperatorSnapshot.from_plain, snapshots) if found is not None]
        is_sink = operator["kind"] == SinkOperator.kind
        return OperatorRecord(
            name=operator["name"],
            kind=operator["kind"],
            parallelism=count,
            max_parallelism=max_parallelism,
            is_bound=is_bound,
            watermarks=[self._plain(vertex, each)["watermarks"].get(uid, MIN_WATERMARK) for each in range(count)],
            operator_states={name: kind for each in states for name, (kind, _) in each.items()},
            output=["" for kept in map(own_part, snapshots) if is_sink and kept is not None and kept[0]],
            schemas=merged(self._plain(vertex, each)["schemas"].get(uid, {}) for each in range(count)),
            layouts=self._layouts(vertex, uid, count),
        )

    def _layouts(self, vertex: str, uid: str, count: int) -> list[Layout]:
        found: list[Layout] = []
        for subtask in range(count):
            layout = self._plain(vertex, subtask)["layouts"].get(uid)
            if layout is not None and layout not in found:
                found.append(layout)
        return found


def own_part(snapshot: Any) -> Any:
    """Of what an operator handed to its next batch, what is its own and not state of a user's function."""
    found = OperatorSnapshot.from_plain(snapshot)
    return snapshot if found is None else found.own
