"""The in-process runner: a whole job in this process, without Spark or Java. For tests; production is Spark.

Same graph, vertices, runtime, block encoding, seals and state files as on Spark. What a cluster leaves to chance is
chosen by a seed: where batches end, in which order subtasks run and rows of different channels arrive, which subtasks
move to another process, which tasks die and are run again, and where the job crashes; so a failure can be replayed.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import tempfile
import weakref
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from penstock.asynchronous import LoopCallRunner
from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.checkpoint.committing import VersionCommitter, reports_of
from penstock.common.disk_space import told_if_full
from penstock.common.job_failure import JobFailure, log_restart
from penstock.common.job_status import JobStatus
from penstock.errors import ConfigurationError, GraphError, JobFailedError
from penstock.graph import JobSettings, LogicalGraph, Vertex, compile_plan
from penstock.runtime import rows
from penstock.runtime.admission import admit, has_no_end
from penstock.runtime.batch_run import is_due, source_rows, vertex_rows
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.intake import SourceList, Wish, source_operator
from penstock.runtime.pickled_states import PickledStates
from penstock.runtime.pickling import pickled_vertex
from penstock.runtime.report import Report, SubtaskEntry
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.source_tasks import Offset
from penstock.runtime.subtask import Subtask, TaskSettings
from penstock.savepoint import CheckpointOrigin, Origin, Restoration, begin_savepoint, finish_savepoint
from penstock.savepoint.matching import check_declared
from penstock.savepoint.restoring import RestoreOrder, restore_state
from penstock.savepoint.starting import Beginning, declared_states, keyed_vertices, made_or_abandoned, needs_check
from penstock.savepoint.writing import savepoint_place, write_part
from penstock.state.backends import BACKENDS, DEFAULT_BACKEND
from penstock.state.declarations import Declared
from penstock.state.versions import StateVersion, SubtaskState
from penstock.testing.clock import ManualClock
from penstock.testing.cuts import cut_at_random
from penstock.testing.in_process_sinks import InProcessSinks

# How far time may run ahead while nothing can be read: longer than any pause that a test needs.
_PATIENCE_MS = 3_600_000
_STATE = ("memory", *BACKENDS)
# With a seed, so soon that a short test sees chains of change files and snapshots that end them.
_SNAPSHOT_AFTER = 3


class InjectedCrash(Exception):
    """The process of the job died here, as far as the job can tell."""


class StalledJob(JobFailedError):
    """Nothing is left to read, and no time will change that. The job is as it was: it can be stopped."""


@dataclass(frozen=True)
class InProcessOptions:
    """How a job is run in process.

    `seed`: None reads everything at once and takes rows in the order Spark does; a number makes the choices random.
    `crash_rate`: how likely each step of a batch is to be the last of its process; as often a single task dies and is
    run again. `crash_at`: the numbers of the steps (counted over the whole run, from 1) at which the process dies.
    `state`: "memory" reads the checkpoint's files for every batch; "heap", "lmdb" and "rocksdb" are the local stores
    that Spark's workers have.
    """

    seed: int | None = None
    crash_rate: float = 0.0
    crash_at: tuple[int, ...] = ()
    clock: ManualClock | None = None
    state: str = "memory"

    def __post_init__(self) -> None:
        if not 0 <= self.crash_rate < 1:
            raise ConfigurationError(f"crash_rate must be at least 0 and below 1, got {self.crash_rate!r}")
        if self.crash_rate and self.seed is None:
            raise ConfigurationError("crash_rate needs a seed: in_process(seed=1, crash_rate=...)")
        if any(step < 1 for step in self.crash_at):
            raise ConfigurationError(f"crash_at: steps are counted from 1, got {list(self.crash_at)}")
        if self.state not in _STATE:
            raise ConfigurationError(f"state must be one of {', '.join(_STATE)}, got {self.state!r}")


class _Host:
    """What `batch_run` asks of an engine, for one batch."""

    def __init__(self, job: InProcessJob, version: int, seal: Seal) -> None:
        self.version = version
        self.attempt = ""
        self._job = job
        self.seal = seal

    def subtask(self, vertex: int, number: int) -> Subtask:
        return self._job.subtask(vertex, number)

    def forget(self, subtask: Subtask) -> None:
        self._job.forget(subtask)

    def entry(self, vertex_uid: str, number: int) -> SubtaskEntry:
        return self.seal.entry(vertex_uid, number)

    def open_state(self, subtask: Subtask) -> SubtaskState:
        return self._job.open_state(subtask, self.seal)

    def now_ms(self) -> int:
        return self._job.clock()


class InProcessJob:
    """A job that runs when it is told to: `run_batch` runs one batch, `run` all of them.

    `trace` has a line for each step, so that two runs can be compared; `crashed` counts crashes by the kind of step.
    """

    def __init__(self, graph: LogicalGraph, settings: JobSettings, options: InProcessOptions) -> None:
        self.scratch = _fast_directory()
        # Also for jobs that are left unfinished, or refused.
        self._remove_scratch = weakref.finalize(self, shutil.rmtree, self.scratch, ignore_errors=True)
        self.directory = CheckpointDirectory(
            settings.checkpoint_directory or os.path.join(self.scratch, "checkpoint"),
            retained=settings.retained_versions,
        )
        beginning = Beginning.find(self.directory, settings.recovery_path)
        self.plan = compile_plan(graph, settings, beginning.adopted)
        self._is_batch_mode = admit(self.plan, settings.runtime_mode)
        self.settings = settings
        self.status = JobStatus.CREATED
        self.clock = options.clock or ManualClock()
        self.steps = 0
        self.trace: list[str] = []
        self.crashed: Counter[str] = Counter()
        self.retried_tasks = 0
        self.restarts = 0
        self.failure: Exception | None = None
        self.last_failure: JobFailure | None = None
        self._options = options
        self._random = None if options.seed is None else random.Random(options.seed)
        self._sinks = InProcessSinks(self.plan)
        self._pickled_states = PickledStates(self.plan)
        self.collected = self._sinks.collected
        self.sources = SourceList.of(self.plan, settings.max_records_per_batch)
        self._pickled = {v.id: pickled_vertex(v) for v in self.plan.vertices if not v.is_driver}
        self._policy = settings.restart_strategy.create_policy()
        self.job_id = beginning.adopt(
            self.directory, self.plan, allow_non_restored_state=settings.allow_non_restored_state
        )
        self._task_settings = self._new_task_settings()
        if beginning.origin is not None:
            origin = beginning.origin
            made_or_abandoned(self.directory, lambda: self._take_over(origin))
        own = needs_check(self.directory, beginning)
        if own is not None:
            check_declared(own, self.plan, self._declared())
        self.wish = Wish()
        self._subtasks: dict[tuple[int, int], Subtask] = {}
        self._committer = VersionCommitter(self.plan, self.directory)
        self._start_process()

    # ---- savepoints ----

    def _take_over(self, origin: Origin) -> None:
        """Make the first version of what another job had come to."""

        def restore(order: RestoreOrder) -> StateVersion:
            return restore_state(order, declared_states(partial(self._new_subtask, order.vertex_id, order.subtask)))

        restoration = Restoration(origin, self.plan, self.directory)
        offset = self.sources.resumed_offset(origin.manifest.offset())
        self.directory.write_seal(
            restoration.first_seal(self.job_id, lambda orders: [restore(order) for order in orders], offset)
        )

    def _declared(self) -> Declared:
        """What the functions of keyed vertices ask for."""
        declared: Declared = {}
        for vertex in keyed_vertices(self.plan):
            declared |= declared_states(partial(self._new_subtask, vertex.id, 0))
        return declared

    def write_savepoint(self, directory: str | None) -> str:
        """Write a savepoint of the last batch into a new folder below a directory; returns its path."""
        place = savepoint_place(directory, self.settings.savepoint_directory)
        assert self.seal is not None
        seal = replace(self.seal, offset=self.offset)  # before the first batch there is no other
        origin = CheckpointOrigin(self.directory, seal, self.plan.fingerprint(), self.settings.job_name, self.job_id)
        draft = begin_savepoint(origin, self.plan, place)
        return finish_savepoint(draft, lambda orders: [write_part(order) for order in orders], self.clock())

    def stop_with_savepoint(self, directory: str | None, *, drain: bool) -> str:
        """Write a savepoint, and end the job; `drain` ends its sources first and fires everything."""
        if drain:
            self.drain()
            while self._run_batch():
                pass
        path = self.write_savepoint(directory)
        self.end(JobStatus.FINISHED)
        return path

    # ---- the process that may die ----

    def _start_process(self) -> None:
        """A new process of the job, or the first of some that lives: sinks may be made to die while they publish."""
        while True:
            try:
                self._begin_process()
                return
            except InjectedCrash as crash:
                self.crashed[str(crash)] += 1

    def _begin_process(self) -> None:
        """What a process begins with: nothing but the checkpoint directory."""
        self.directory.take_over(with_spark=False)
        self._committer.close()
        self._committer = VersionCommitter(self.plan, self.directory)
        self._subtasks.clear()
        sealed = self.directory.sealed_versions()
        self.seal = self.directory.read_seal(sealed[-1]) if sealed else Seal()
        assert self.seal is not None
        self._committer.publish_again(self.seal)
        self.offset = self.seal.offset or self.sources.first_offset()
        self._task_settings = self._new_task_settings()

    def _new_task_settings(self) -> TaskSettings:
        return TaskSettings(
            self.job_id,
            self.restarts,
            self.clock(),
            self.settings.job_parameters,
            self.settings.watermark_every_records,
            self._is_batch_mode,
            self.directory.staging_uri,
            self.settings.object_reuse,
            has_no_end(self.plan),
        )

    @property
    def batches(self) -> int:
        """How many batches are final."""
        assert self.seal is not None
        return self.seal.version + 1

    @property
    def crashes(self) -> int:
        """How often the process has died."""
        return self.crashed.total()

    def step(self, kind: str, what: object = "") -> None:
        """A place where the process may die; `kind` says what it was about to do."""
        self.steps += 1
        is_struck = self._chance(self._options.crash_rate) or self.steps in self._options.crash_at
        self.trace.append(f"{self.steps} {kind} {what}{' crash' if is_struck else ''}")
        if is_struck:
            self.crashed[kind] += 1
            raise InjectedCrash(f"step {self.steps}")

    def _chance(self, rate: float) -> bool:
        return self._random is not None and self._random.random() < rate

    def subtask(self, vertex: int, number: int) -> Subtask:
        """The copy of a subtask that runs the next batch; with a seed, now and then that of another process."""
        found = self._subtasks.get((vertex, number))
        if found is None or self._chance(0.2):
            found = self._subtasks[vertex, number] = self._new_subtask(vertex, number)
        return found

    def _new_subtask(self, vertex: int, number: int) -> Subtask:
        plan: Vertex = pickle.loads(self._pickled[vertex])
        return Subtask(plan, number, self._task_settings, self.clock, LoopCallRunner)

    def forget(self, subtask: Subtask) -> None:
        """Drop a subtask."""
        self._subtasks.pop((subtask.vertex.id, subtask.subtask), None)

    def open_state(self, subtask: Subtask, seal: Seal) -> SubtaskState:
        """The state of a subtask, loaded from the checkpoint's files."""
        uid, number = subtask.vertex.uid, subtask.subtask
        path = self.directory.state_path(uid, number)
        is_kept = self._options.state in BACKENDS
        return SubtaskState.open(
            self.directory.filesystem,
            path,
            seal.entry(uid, number).state,
            local_path=os.path.join(self.scratch, f"local-{subtask.vertex.id}-{number}") if is_kept else None,
            backend=self._options.state if is_kept else DEFAULT_BACKEND,
            snapshot_after=20 if self._random is None else _SNAPSHOT_AFTER,
        )

    # ---- batches ----

    def run(self) -> None:
        """Run batches until the job has ended."""
        self.refuse_endless()
        while self.run_batch():
            pass

    def refuse_endless(self) -> None:
        """Refuse to run a job to an end that it does not have."""
        for vertex in self.plan.sources():
            if not source_operator(vertex).source.is_bounded() and not self.wish.is_draining:
                raise GraphError(
                    f"{vertex.name!r} never ends, so the job would run for ever: use a bounded "
                    "source, or execute_async() and then run_batch() and stop() of the client"
                )

    def run_batch(self) -> bool:
        """Run one batch, with whatever crashes and restarts it takes; returns whether there may be more."""
        if self.status.is_globally_terminal_state():
            return False
        self.status = JobStatus.RUNNING
        try:
            has_more = self._run_batch()
        except StalledJob:
            raise
        except Exception as failure:
            self.failure = failure
            self.end(JobStatus.FAILED)
            raise
        if not has_more:
            self.end(JobStatus.FINISHED)
        return has_more

    def _run_batch(self) -> bool:
        while True:
            try:
                return self._try_batch()
            except InjectedCrash:
                self._start_process()
            except OperatorFailure as failure:
                delay_ms = self._policy.next_delay_ms(self.clock()) if self.may_restart() else None
                text = f"{failure.text}\njob {self.settings.job_name!r} failed"
                self.last_failure = JobFailure(text, self.restarts, self.clock(), delay_ms)
                if delay_ms is None:
                    raise JobFailedError(text) from failure
                log_restart(self.last_failure, self.settings.job_name)
                self.clock.advance(delay_ms)
                self.restarts += 1
                self._close_functions()
                self._start_process()

    def may_restart(self) -> bool:
        """Whether the job may be started again after a failure, if its strategy says so too."""
        return True

    def drain(self) -> None:
        """End all sources where they are; the next batch is the last."""
        self.wish = Wish(is_draining=True)

    def end(self, status: JobStatus) -> None:
        """The job will run no more: close its functions, remove what it has on disk of its own."""
        self.status = status
        try:
            self._close_functions()
        finally:
            self._committer.close()
            self.sources.close()
            if status is JobStatus.CANCELED and self.settings.deletes_when_cancelled:
                self.directory.discard()
            self._remove_scratch()

    def _close_functions(self) -> None:
        """Close the functions of all subtasks; one that fails keeps no other from being closed."""
        failures: list[OperatorFailure] = []
        while self._subtasks:
            _, subtask = self._subtasks.popitem()
            try:
                subtask.close()
            except OperatorFailure as failure:
                failures.append(failure)
        # What ended the job, if something did, matters more; it is on its way already.
        if failures and self.failure is None:
            raise JobFailedError(f"{failures[0].text}\njob {self.settings.job_name!r} has stopped") from failures[0]

    def _try_batch(self) -> bool:
        assert self.seal is not None
        if self._committer.have_all_ended(self.seal):
            return False
        version = self.seal.version + 1
        end = self._read_offset(version)
        if end is None:
            end = self.next_offset()
            self.step("plan", version)
            self._write_offset(version, end)
        self.step("begin", end)
        self._set_clock(end)
        arrived = self._run_levels(_Host(self, version, self.seal), self.offset, end)
        reports = reports_of(arrived)
        self._pickled_states.look_at(reports)
        self._sinks.before_seal(arrived)
        self.step("seal", version)
        sealed = self._committer.seal(self.seal, version, reports, end)
        self._sinks.after_seal(arrived)
        self.step("publish", version)
        self._committer.publish(sealed)
        self.seal, self.offset = sealed, end
        self.on_sealed(sealed, reports)
        self.step("go on", version)
        return True

    def on_sealed(self, seal: Seal, reports: list[Report]) -> None:
        """A batch is final; for those who keep figures."""

    def next_offset(self) -> Offset:
        """Where the next batch ends; time passes where only time can move the job on."""
        assert self.seal is not None
        due = self.seal.next_deadline()
        wish = Wish(self.wish.is_draining, (), due)
        for now in _moments(self.clock(), due):
            end = self.sources.next_offset(self.offset, wish, now_ms=now, elapsed_ms=now)
            if end != self.offset:
                self.clock.set(now)
                return self._cut(end)
        raise StalledJob(
            f"job {self.settings.job_name!r} waits for data that will not come: its sources give nothing more and have "
            "not ended; stop() it, or use bounded sources"
        )

    def _set_clock(self, end: Offset) -> None:
        """Scripted sources say what time it is."""
        now = self.sources.processing_time(end)
        if now is not None and now > self.clock():
            self.clock.set(now)

    def _cut(self, end: Offset) -> Offset:
        """With a seed, take less than there is."""
        if self._random is None or end["draining"]:
            return end
        shorter = cut_at_random(self.offset, end, self._random)
        return shorter if shorter != self.offset else end

    def _run_levels(self, host: _Host, start: Offset, end: Offset) -> list[ExchangeRow]:
        """Run the sources and then level after level; returns the rows for the driver's side."""
        travelling: list[ExchangeRow] = []
        for task in self._shuffled(self.sources.tasks(start, end)):
            travelling += self._driven(host, "source", task, partial(source_rows, host, task))
        for _, vertices in self.plan.levels():
            here = {vertex.id for vertex in vertices}
            mine = [row for row in travelling if row.vertex in here]
            travelling = [row for row in travelling if row.vertex not in here]
            pairs = [(vertex, number) for vertex in vertices for number in range(vertex.parallelism)]
            for vertex, number in self._shuffled(pairs):
                waiting = [row for row in mine if row.vertex == vertex.id and row.target == number]
                if waiting or is_due(host, vertex.uid, number):
                    travelling += self._run_subtask(host, vertex, number, self._interleaved(waiting))
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
        while first.kind != rows.FAILURE and self._chance(self._options.crash_rate):
            produced.close()
            self.retried_tasks += 1
            produced, first = self._begun(host, start)
        try:
            self.step(f"inside {kind}", what)
        except InjectedCrash:
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

    def _shuffled(self, items: list[Any]) -> list[Any]:
        return items if self._random is None else self._random.sample(items, len(items))

    def _interleaved(self, waiting: list[ExchangeRow]) -> list[ExchangeRow]:
        """Rows in an order that a cluster could bring about: each channel keeps its own."""
        waiting.sort(key=lambda row: (row.seq, row.src))
        if self._random is None:
            return waiting
        channels: dict[int, deque[ExchangeRow]] = {}
        for row in waiting:
            channels.setdefault(row.src, deque()).append(row)
        ordered: list[ExchangeRow] = []
        while channels:
            src = self._random.choice(list(channels))
            ordered.append(channels[src].popleft())
            if not channels[src]:
                del channels[src]
        return ordered

    # ---- the log of offsets, Spark's part on a cluster ----

    def _offset_path(self, version: int) -> str:
        folder = os.path.join(self.directory.path, "offsets")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, str(version))

    def _read_offset(self, version: int) -> Offset | None:
        try:
            with open(self._offset_path(version)) as stream:
                found: Offset = json.load(stream)
                return found
        except FileNotFoundError:
            return None

    def _write_offset(self, version: int, offset: Offset) -> None:
        path = self._offset_path(version)
        with told_if_full(path):
            with open(path + ".tmp", "w") as stream:
                json.dump(offset, stream)
            os.replace(path + ".tmp", path)


def _moments(start: int, due: int | None) -> Iterator[int]:
    """Times at which to look for something to do: now, then every second, and when something is due."""
    now = start
    while now < start + _PATIENCE_MS:
        yield now
        now = min(now + 1000, due) if due is not None and due > now else now + 1000
    if due is not None and due >= now:
        yield due


def _fast_directory() -> str:
    """A temporary directory, in memory where the machine has such a place."""
    shared = "/dev/shm"
    return tempfile.mkdtemp(prefix="penstock-", dir=shared if os.access(shared, os.W_OK) else None)
