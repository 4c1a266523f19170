"""What a job begins with: versions of its own, the state of another job, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.checkpoint import CheckpointDirectory
from penstock.errors import CheckpointError, PenstockError, TakenOverError
from penstock.graph.plan import Adopted, JobPlan, Vertex
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.subtask import Subtask
from penstock.savepoint.matching import check_layouts, check_match
from penstock.savepoint.opening import open_origin
from penstock.savepoint.origin import Origin
from penstock.savepoint.retained import CheckpointOrigin
from penstock.state.declarations import Declared


@dataclass(frozen=True)
class Beginning:
    """`origin` is what the first version is to be made of, if it is not there yet; `adopted` binds the job's plan."""

    origin: Origin | None
    adopted: dict[str, Adopted]

    @classmethod
    def find(cls, directory: CheckpointDirectory, recovery_path: str | None) -> Beginning:
        """A job that has a version of its own goes on from it, and needs nothing of what it once began with."""
        job = directory.read_job()
        if job is not None and directory.sealed_versions():
            return cls(None, {uid: Adopted(*each) for uid, each in job.get("adopted", {}).items()})
        if recovery_path is None:
            return cls(None, {})
        origin = open_origin(recovery_path)
        return cls(origin, origin.adopted())

    def to_plain(self) -> dict[str, Any]:
        """What the checkpoint directory is to remember for later starts."""
        return {uid: [each.split_count, each.max_parallelism] for uid, each in self.adopted.items()}

    def adopt(self, directory: CheckpointDirectory, plan: JobPlan, *, allow_non_restored_state: bool) -> str:
        """Make the directory the job's, once it is clear that it can go on from its origin; returns the job's id."""
        if self.origin is not None:
            check_match(self.origin, plan, allow_non_restored_state=allow_non_restored_state)
        origin = self.origin or _own_version(directory)
        if origin is not None:
            check_layouts(origin, plan)
        return directory.adopt(plan.name, plan.fingerprint(), self.to_plain())


def made_or_abandoned(directory: CheckpointDirectory, make: Callable[[], None]) -> None:
    """Make the first version; a refusal leaves the directory as if nobody had asked."""
    try:
        make()
    except TakenOverError:
        raise  # another start was quicker, and has the directory
    except PenstockError:
        directory.abandon()
        raise


def needs_check(directory: CheckpointDirectory, beginning: Beginning) -> CheckpointOrigin | None:
    """The job's own last version, if it goes on from that and its program may declare other types than it wrote."""
    origin = None if beginning.origin is not None else _own_version(directory)
    if origin is None:
        return None
    return origin if any(record.schemas for record in origin.manifest.operators.values()) else None


def _own_version(directory: CheckpointDirectory) -> CheckpointOrigin | None:
    """The last version of a directory that is a job's already."""
    if directory.read_job() is None or not directory.sealed_versions():
        return None
    try:
        return CheckpointOrigin.newest(directory.uri)
    except CheckpointError:
        # Damaged: whether it can be done without shows when the directory is taken over; a store checks its types, and
        # a subtask its layouts, too.
        return None


def keyed_vertices(plan: JobPlan) -> list[Vertex]:
    """The vertices that have keyed state."""
    return [vertex for vertex in plan.vertices if any(chained.operator.is_keyed for chained in vertex.operators)]


def declared_states(make_subtask: Callable[[], Subtask]) -> Declared:
    """The states that the functions of a subtask ask for when they are opened, found by opening them once.

    A function that cannot be opened tells nothing here, and fails the job where it always would.
    """
    try:
        subtask = make_subtask()
        declared = subtask.declared_states()
        subtask.close()
    except OperatorFailure:
        return {}
    return declared
