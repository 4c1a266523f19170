"""Batches of a job in this process, with the same vertices, blocks, seals and state files as on Spark.

Batch N is version N of the job. What a cluster leaves to chance is decided by `chances`, so that a run can be repeated.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial

from penstock.asynchronous import LoopCallRunner
from penstock.checkpoint import Seal
from penstock.checkpoint.committing import reports_of
from penstock.engine.in_process.chances import Chances, ProcessDied
from penstock.engine.in_process.clock import ManualClock
from penstock.engine.in_process.program_files import unpacked_archives, working_directory
from penstock.engine.in_process.sinks import InProcessSinks
from penstock.errors import JobFailedError
from penstock.graph import Vertex
from penstock.job.operator_warnings import OperatorWarnings
from penstock.job.program import Program
from penstock.job.source_alignment import SourceAlignment
from penstock.job.statistics import JobStatistics
from penstock.job.versions import VersionDriver
from penstock.runtime import rows
from penstock.runtime.batch_run import is_due, source_rows, vertex_rows
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.pickling import pickled_vertex
from penstock.runtime.report import SubtaskEntry
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.source_tasks import Offset
from penstock.runtime.subtask import Subtask
from penstock.savepoint import Origin, Restoration
from penstock.savepoint.restoring import RestoreOrder, restore_state
from penstock.savepoint.starting import declared_states, keyed_vertices
from penstock.savepoint.writing import PartOrder, PartResult, write_part
from penstock.state.backends import BACKENDS, DEFAULT_BACKEND
from penstock.state.declarations import Declared
from penstock.state.versions import StateVersion, SubtaskState
from penstock.storage.disk_space import told_if_full


class _Host:
    """What `batch_run` asks of an engine, for one batch."""

    def __init__(self, runner: BatchRunner, version: int, seal: Seal) -> None:
        self.version = version
        self.attempt = ""
        self._runner = runner
        self.seal = seal

    def subtask(self, vertex: int, number: int) -> Subtask:
        return self._runner.subtask(vertex, number)

    def forget(self, subtask: Subtask) -> None:
        self._runner.forget(subtask)

    def entry(self, vertex_uid: str, number: int) -> SubtaskEntry:
        return self.seal.entry(vertex_uid, number)

    def open_state(self, subtask: Subtask) -> SubtaskState:
        return self._runner.open_state(subtask, self.entry(subtask.vertex.uid, subtask.subtask).state)

    def now_ms(self) -> int:
        return self._runner.clock()


class BatchRunner:
    """Runs batches when it is told to. `begin_process` comes first, and again after the process is said to have died.

    `steps` counts the places at which a process may die, `retried_tasks` the tasks that did.
    """

    seal: Seal
    offset: Offset

    def __init__(
        self,
        program: Program,
        statistics: JobStatistics,
        scratch: Scratch,
        *,
        clock: ManualClock,
        chances: Chances,
        state: str,
        most_waiting: int | None,
    ) -> None:
        """Keep local state in the store `state`; "memory" reads the checkpoint's files for every batch."""
        self.program = program
        self.plan = program.plan
        self.directory = program.directory
        self.clock = clock
        self.chances = chances
        self.steps = 0
        self.retried_tasks = 0
        self.sources = program.sources()
        self.sinks = InProcessSinks(program.plan, most_waiting, collects_at_once=program.settings.collects_at_once)
        self._statistics = statistics
        self._scratch = scratch
        self._state = state
        self.place = unpacked_archives(program.settings, scratch.path)
        self._pickled = {v.id: pickled_vertex(v) for v in self.plan.vertices if not v.is_driver}
        self._operator_warnings = OperatorWarnings(self.plan)
        self._subtasks: dict[tuple[int, int], Subtask] = {}
        self._task_settings = program.task_settings(0, clock())
        self.versions = self._new_versions()
        self._alignment = SourceAlignment(self.plan, statistics)

    # ---- the process that may die ----

    def begin(self) -> None:
        """Make the directory the job's, with a first version if it goes on from another job's."""
        self.program.adopt()
        self._task_settings = self.program.task_settings(0, self.clock())
        self.program.begin(self._make_first_version, self._declared)

    def begin_process(self, attempt: int) -> None:
        """Know nothing but what is in the checkpoint directory."""
        self.directory.take_over()
        self.versions.close()
        self.versions = self._new_versions()
        self._subtasks.clear()
        self.seal = self.versions.last = self.versions.publish_last() or Seal()
        self.offset = self.seal.offset or self.sources.first_offset()
        self._task_settings = self.program.task_settings(attempt, self.clock())

    def _new_versions(self) -> VersionDriver:
        return VersionDriver(
            self.plan,
            self.directory,
            self.sinks,
            self._statistics,
            operator_warnings=self._operator_warnings,
            on_step=self.step,
        )

    def step(self, kind: str, what: object = "") -> None:
        """A place where the process may die; `kind` says what it was about to do."""
        self.steps += 1
        self.chances.step(self.steps, kind, what)

    def close_functions(self) -> None:
        """Close the functions of all subtasks; one that fails keeps no other from being closed."""
        failures: list[OperatorFailure] = []
        with working_directory(self.place):
            while self._subtasks:
                _, subtask = self._subtasks.popitem()
                try:
                    subtask.close()
                except OperatorFailure as failure:
                    failures.append(failure)
        if failures:
            name = self.program.settings.job_name
            raise JobFailedError(f"{failures[0].text}\njob {name!r} has stopped") from failures[0]

    def close(self) -> None:
        """Remove what the job has on disk of its own; functions must be closed."""
        self.versions.close()
        self.sources.close()
        self._scratch.remove()

    # ---- savepoints ----

    def _make_first_version(self, origin: Origin) -> None:
        """Go on from what another job had come to."""

        def restore(order: RestoreOrder) -> StateVersion:
            return restore_state(order, declared_states(partial(self.new_subtask, order.vertex_id, order.subtask)))

        restoration = Restoration(origin, self.plan, self.directory)
        offset = self.sources.resumed_offset(origin.manifest.offset())
        self.directory.write_seal(
            restoration.first_seal(self.program.job_id, lambda orders: [restore(order) for order in orders], offset)
        )

    def _declared(self) -> Declared:
        """What the functions of keyed vertices ask for."""
        declared: Declared = {}
        with working_directory(self.place):
            for vertex in keyed_vertices(self.plan):
                declared |= declared_states(partial(self.new_subtask, vertex.id, 0))
        return declared

    def last_version(self) -> Seal:
        """What a savepoint is made of; before the first batch, it says where the sources begin."""
        return replace(self.seal, offset=self.offset)

    def write_parts(self, orders: list[PartOrder]) -> list[PartResult]:
        """Write the state of subtasks into a savepoint."""
        return [write_part(order) for order in orders]

    # ---- subtasks ----

    def subtask(self, vertex: int, number: int) -> Subtask:
        """The copy of a subtask that runs the next batch; with a seed, now and then that of another process."""
        found = self._subtasks.get((vertex, number))
        if found is None or self.chances.moves_subtask():
            found = self._subtasks[vertex, number] = self.new_subtask(vertex, number)
        return found

    def new_subtask(self, vertex: int, number: int) -> Subtask:
        """A fresh copy of a subtask, its functions opened."""
        plan: Vertex = pickle.loads(self._pickled[vertex])
        return Subtask(plan, number, self._task_settings, self.clock, LoopCallRunner)

    def forget(self, subtask: Subtask) -> None:
        """Drop a subtask."""
        self._subtasks.pop((subtask.vertex.id, subtask.subtask), None)

    def open_state(self, subtask: Subtask, version: StateVersion) -> SubtaskState:
        """The state of a subtask at a version, loaded from the checkpoint's files."""
        uid, number = subtask.vertex.uid, subtask.subtask
        is_kept = self._state in BACKENDS
        return SubtaskState.open(
            self.directory.filesystem,
            self.directory.state_path(uid, number),
            version,
            local_path=os.path.join(self._scratch.path, f"local-{subtask.vertex.id}-{number}") if is_kept else None,
            backend=self._state if is_kept else DEFAULT_BACKEND,
            snapshot_after=self.chances.snapshot_after(),
        )

    # ---- batches ----

    def has_ended(self) -> bool:
        """Whether all sources have ended, and with them the job."""
        return self.versions.have_all_ended(self.seal)

    def run_batch(self, choose_end: Callable[[], Offset | None]) -> bool:
        """Run the next batch and make it final; returns False if `choose_end` finds nothing to do.

        A batch whose end was written down before the process died has that end again.
        """
        version = self.seal.version + 1
        end = self._read_offset(version)
        if end is None:
            end = choose_end()
            if end is None:
                return False
            self.step("plan", version)
            self._write_offset(version, end)
        with self.versions.being_made(version), working_directory(self.place):
            self._run_to(version, end)
        self.step("go on", version)
        return True

    def _run_to(self, version: int, end: Offset) -> None:
        self.step("begin", end.to_json())
        self.set_clock(end)
        arrived = self._run_levels(_Host(self, version, self.seal), self.offset, end)
        reports = reports_of(arrived)
        self.sinks.print_rows(arrived)
        self.seal = self.versions.complete_version(version, reports, end, arrived=arrived)
        self.offset = end

    def paused(self) -> dict[str, list[str]]:
        """The splits that the next batch is not to read, because they are ahead of others."""
        return self._alignment.paused(self.seal)

    def set_clock(self, end: Offset) -> None:
        """Scripted sources say what time it is."""
        now = self.sources.processing_time(end)
        if now is not None and now > self.clock():
            self.clock.set(now)

    def _run_levels(self, host: _Host, start: Offset, end: Offset) -> list[ExchangeRow]:
        """Run the sources and then level after level; returns the rows for the driver's side."""
        travelling: list[ExchangeRow] = []
        for task in self.chances.ordered(self.sources.tasks(start, end)):
            travelling += self._driven(host, "source", task, partial(source_rows, host, task))
        for _, vertices in self.plan.levels():
            here = {vertex.id for vertex in vertices}
            mine = [row for row in travelling if row.vertex in here]
            travelling = [row for row in travelling if row.vertex not in here]
            pairs = [(vertex, number) for vertex in vertices for number in range(vertex.parallelism)]
            for vertex, number in self.chances.ordered(pairs):
                waiting = [row for row in mine if row.vertex == vertex.id and row.target == number]
                if waiting or is_due(host, vertex.uid, number):
                    travelling += self._run_subtask(host, vertex, number, self.chances.interleaved(waiting))
        return travelling

    def _run_subtask(self, host: _Host, vertex: Vertex, number: int, waiting: list[ExchangeRow]) -> list[ExchangeRow]:
        # The order of arrival is part of the trace: it is what a seed chooses.
        order = " ".join(f"{row.src}:{row.seq}" for row in waiting)
        return self._driven(
            host,
            "operator",
            f"{vertex.name}[{number}] {order}",
            lambda: vertex_rows(host, vertex.id, number, list(waiting), ()),
        )

    def _driven(
        self, host: _Host, kind: str, what: object, start: Callable[[], Iterator[ExchangeRow]]
    ) -> list[ExchangeRow]:
        """Run a task to its end, perhaps after it died a few times; the process may die before it or within it."""
        self.step(kind, what)
        produced, first = self._begun(host, start)
        while first.kind != rows.FAILURE and self.chances.loses_task():
            produced.close()
            self.retried_tasks += 1
            produced, first = self._begun(host, start)
        try:
            self.step(f"inside {kind}", what)
        except ProcessDied:
            produced.close()
            raise
        return [first, *produced]

    def _begun(
        self, host: _Host, start: Callable[[], Iterator[ExchangeRow]]
    ) -> tuple[Generator[ExchangeRow, None, None], ExchangeRow]:
        """A task that has given its first row: it has seen some of its input, or all of it and is about to report."""
        host.attempt = f"{host.version}-{self.steps}-{self.retried_tasks}"
        produced = start()
        assert isinstance(produced, Generator)
        return produced, next(produced)

    # ---- the log of offsets, Spark's part on a cluster ----

    def _offset_path(self, version: int) -> str:
        folder = os.path.join(self.directory.path, "offsets")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, str(version))

    def _read_offset(self, version: int) -> Offset | None:
        try:
            with open(self._offset_path(version)) as stream:
                return Offset.from_json(json.load(stream))
        except FileNotFoundError:
            return None

    def _write_offset(self, version: int, offset: Offset) -> None:
        path = self._offset_path(version)
        with told_if_full(path):
            with open(path + ".tmp", "w") as stream:
                json.dump(offset.to_json(), stream)
            os.replace(path + ".tmp", path)


class Scratch:
    """A temporary directory, in memory where the machine has such a place; goes with its owner at the latest."""

    def __init__(self, owner: object) -> None:
        """Make it; jobs that are left unfinished, or refused, leave nothing."""
        shared = "/dev/shm"
        self.path = tempfile.mkdtemp(prefix="penstock-", dir=shared if os.access(shared, os.W_OK) else None)
        self.remove = weakref.finalize(owner, shutil.rmtree, self.path, ignore_errors=True)
