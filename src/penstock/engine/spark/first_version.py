"""The first version of a job on Spark that goes on from the state of another: state, Spark's logs, and their order."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing

from pyarrow import fs
from pyspark.sql import SparkSession

from penstock.checkpoint import CheckpointDirectory
from penstock.checkpoint.committing import VersionCommitter
from penstock.checkpoint.seal import Frames
from penstock.engine.spark.shipping import ShippedPlan, forget, subtask_of
from penstock.engine.spark.spark_logs import commit_beginning, forget_all, write_beginning
from penstock.engine.spark.worker_orders import Workers, run_on_workers
from penstock.errors import CheckpointError
from penstock.graph.plan import JobPlan
from penstock.job.intake import SourceList
from penstock.savepoint import Origin, Restoration
from penstock.savepoint.restoring import RestoreOrder, restore_state
from penstock.savepoint.starting import declared_states, keyed_vertices
from penstock.state.declarations import Declared
from penstock.state.versions import StateVersion


class FirstVersion:
    """Makes the first version of a job out of the state of another.

    `counts` says how many sources of Spark's each frame of the job is made of.
    """

    def __init__(
        self,
        session: SparkSession,
        plan: JobPlan,
        directory: CheckpointDirectory,
        origin: Origin,
        counts: dict[str, int],
    ) -> None:
        self._session = session
        self._plan = plan
        self._directory = directory
        self._origin = origin
        self._counts = counts

    def run(self, shipped: ShippedPlan, sources: SourceList) -> None:
        """Bring state, positions and unfinished output over.

        The seal makes it final: a start that is killed before it begins anew, one that is killed after it has only
        to publish. Then Spark is told that its first batch is done, so that it goes on with the second.
        """
        forget_all(self._directory)
        frames = self._frames()
        offset = sources.resumed_offset(self._origin.manifest.offset())
        restoration = Restoration(self._origin, self._plan, self._directory)
        seal = restoration.first_seal(
            shipped.settings.job_id,
            lambda orders: run_on_workers(self._session, _restoring(shipped), orders, what="Penstock restores state"),
            offset,
            frames,
        )
        self._copy_source_logs(frames)
        offsets = [each for offsets in frames.values() for each in offsets]
        write_beginning(self._directory, [json.dumps(offset.to_json()), *offsets])
        self._directory.write_seal(seal)
        with closing(VersionCommitter(self._plan, self._directory, Workers(self._session))) as committer:
            committer.publish_again(seal)
        commit_beginning(self._directory)

    def _frames(self) -> Frames:
        """Where Spark's sources go on, in the order of the plan; those that are new begin at their beginning."""
        frames: Frames = {}
        for uid, count in self._counts.items():
            known = self._origin.manifest.frames.get(uid)
            if known is not None and len(known) != count:
                raise CheckpointError(
                    f"source {uid!r} reads {count} streams of Spark's, but {len(known)} in {self._origin.place}: keep "
                    "what it reads, or give it another uid"
                )
            frames[uid] = [None] * count if known is None else known
        return frames

    def _copy_source_logs(self, frames: Frames) -> None:
        number = 1  # the first source is Penstock's own
        for uid, offsets in frames.items():
            for position in range(len(offsets)):
                if uid in self._origin.manifest.frames:
                    filesystem, folder = self._origin.source_log(uid, position)
                    _copy_files(filesystem, folder, self._directory.filesystem, self._directory.source_log(number))
                number += 1


def _copy_files(source: fs.FileSystem, folder: str, target: fs.FileSystem, to: str) -> None:
    for info in source.get_file_info(fs.FileSelector(folder, allow_not_found=True)):
        if info.type == fs.FileType.File:
            target.create_dir(to, recursive=True)
            with (
                source.open_input_stream(info.path, compression=None) as reader,
                target.open_output_stream(f"{to}/{info.base_name}", compression=None) as writer,
            ):
                shutil.copyfileobj(reader, writer)


def _restoring(shipped: ShippedPlan) -> Callable[[RestoreOrder], StateVersion]:
    def restore(order: RestoreOrder) -> StateVersion:
        return restore_state(order, _declared_by(shipped, order.vertex_id, order.subtask))

    return restore


def declared_on_workers(session: SparkSession, shipped: ShippedPlan, plan: JobPlan) -> Declared:
    """The states that the functions of keyed vertices ask for, found where they will run."""
    found: Declared = {}
    vertices = [vertex.id for vertex in keyed_vertices(plan)]
    what = "Penstock asks functions which states they have"
    for declared in run_on_workers(session, lambda vertex: _declared_by(shipped, vertex, 0), vertices, what=what):
        found |= declared
    return found


def _declared_by(shipped: ShippedPlan, vertex_id: int, subtask: int) -> Declared:
    declared = declared_states(lambda: subtask_of(shipped, vertex_id, subtask))
    forget(vertex_id, subtask)
    return declared
