"""The Spark engine: a job's attempts as streaming queries. `submit` starts a program as a job."""

from __future__ import annotations

import logging
import pickle
import time
from contextlib import suppress
from functools import partial
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.checkpoint import Seal
from penstock.engine.spark.batches import BatchCommitter
from penstock.engine.spark.cluster_facts import ClusterFacts
from penstock.engine.spark.continuous.attempt import ContinuousAttempt
from penstock.engine.spark.continuous.pipelined import SPARE_SLOTS
from penstock.engine.spark.continuous.pipelined import refusal as session_refusal
from penstock.engine.spark.control import Control
from penstock.engine.spark.diagnosis import diagnosed
from penstock.engine.spark.driver_sinks import SparkDriverSinks
from penstock.engine.spark.failures import failure_text
from penstock.engine.spark.first_version import FirstVersion, declared_on_workers
from penstock.engine.spark.frame_ends import FrameEnds
from penstock.engine.spark.local_stores import HEAP_BACKEND, LocalStores
from penstock.engine.spark.log_repair import SparkLogs
from penstock.engine.spark.program_imports import ProgramImports
from penstock.engine.spark.shipped_files import archives_of, send_files
from penstock.engine.spark.shipping import ShippedPlan, check_picklable, ship
from penstock.engine.spark.spark_logs import log_location
from penstock.engine.spark.spark_names import SparkNames
from penstock.engine.spark.startup.session import get_session, query_config
from penstock.engine.spark.topology import build_frame, count_frame_sources
from penstock.engine.spark.worker_orders import Workers, run_on_workers
from penstock.errors import CheckpointError, ConfigurationError, GraphError
from penstock.graph import JobSettings, LogicalGraph
from penstock.graph.declared_settings import EXECUTION_MODE
from penstock.job.announcing import announce
from penstock.job.backpressure import Backpressure
from penstock.job.client import RunningJobClient
from penstock.job.continuous.admission import continuous_refusal
from penstock.job.continuous.floors import Floors
from penstock.job.driver import JobDriver
from penstock.job.engine_contract import AttemptControl
from penstock.job.observing import observe
from penstock.job.program import Program, checkpoint_place
from penstock.job.requirements import make_requirements_importable
from penstock.job.source_alignment import SourceAlignment
from penstock.job.statistics import JobStatistics
from penstock.job.versions import VersionDriver, publish_last
from penstock.runtime.subtask import TaskSettings
from penstock.savepoint import Origin
from penstock.savepoint.writing import PartOrder, PartResult, write_part
from penstock.scratch import clear_scratch, make_scratch, remove_scratch
from penstock.state.declarations import Declared

_POLL_SECONDS = 0.05
_log = logging.getLogger(__name__)


def submit(graph: LogicalGraph, settings: JobSettings) -> RunningJobClient:
    """Check a program, start it as a job and return the handle to it."""
    clear_scratch()
    place = checkpoint_place(settings)
    temporary = None if place else make_scratch("checkpoint")
    remove = partial(_remove, temporary)
    try:
        program = Program.open(graph, settings, place or str(temporary))
        engine = SparkEngine(program)
        engine.prepare()
        job = JobDriver(program, engine, engine.sinks, engine.statistics)
        observe(job)
    except BaseException:
        remove()
        raise
    job.start(on_end=remove)
    client = RunningJobClient(job)
    announce(
        client,
        job.ended,
        name=settings.job_name,
        checkpoint=program.directory.uri,
        savepoint_directory=settings.savepoint_directory,
    )
    return client


def _remove(temporary: str | None) -> None:
    if temporary is not None:
        remove_scratch(temporary)


class SparkEngine:
    """Runs one job on Spark, each attempt as one query. A batch of the query is a version of the job."""

    _session: SparkSession
    _stores: LocalStores
    _cluster: ClusterFacts

    def __init__(self, program: Program) -> None:
        """Take a program; nothing is started or written until `prepare`."""
        self._program = program
        self._plan = program.plan
        self._settings = program.settings
        self._directory = program.directory
        self._backpressure = Backpressure(program.sources(), program.settings)
        self._versions: VersionDriver | None = None
        self._is_continuous = False
        self._run_id = ""
        self.statistics = JobStatistics(program.plan)
        self.sinks = SparkDriverSinks(program.plan, collects_at_once=program.settings.collects_at_once)

    # ---- before the job runs: everything that can be refused is refused here ----

    def prepare(self) -> None:
        """Make everything ready; what cannot work is refused before the caller gets a handle.

        Functions that cannot be pickled, no Java and no session are told before a file is written; a directory of
        another job before it is touched.
        """
        check_picklable(self._plan, self._settings.max_plan_bytes)
        make_requirements_importable(self._settings.python_requirements)
        self._open_session()
        self._program.adopt()
        self._program.begin(self._make_first_version, self._declared_states)
        self._open_stores()

    def _open_session(self) -> None:
        if self._settings.execution_mode == "micro-batch":
            self._session = get_session(self._settings)
        else:
            self._open_for_continuous()
        self._cluster = ClusterFacts(self._session)
        send_files(self._session.sparkContext, self._settings)

    def _open_for_continuous(self) -> None:
        """Make a session with a slot for every task; in auto mode micro-batches are what is left where it cannot be."""
        reason = continuous_refusal(self._plan, is_batch_mode=self._program.is_batch_mode)
        if reason is not None:
            self._fall_back(GraphError, reason)
            self._session = get_session(self._settings)
            return
        tasks = Floors.of(self._plan).task_count
        self._session = get_session(self._settings, continuous_slots=tasks + SPARE_SLOTS)
        reason = session_refusal(self._session, tasks)
        if reason is not None:
            self._fall_back(ConfigurationError, reason)
        self._is_continuous = reason is None

    def _fall_back(self, error: type[Exception], reason: str) -> None:
        """Say why the job runs in micro-batches, or raise the error unless that was left to us."""
        name = self._settings.job_name
        if self._settings.execution_mode == "continuous":
            raise error(
                f"job {name!r} cannot run with {EXECUTION_MODE}=continuous: {reason}. Or use micro-batch; auto chooses "
                "by itself"
            )
        _log.warning("job %r runs in micro-batches: %s", name, reason)

    def _make_first_version(self, origin: Origin) -> None:
        """Go on from what another job had come to."""
        counts = count_frame_sources(self._session, self._plan)
        first = FirstVersion(self._session, self._plan, self._directory, origin, counts)
        first.run(self._shipped_now(), self._program.sources())

    def _declared_states(self) -> Declared:
        """What the functions ask for, found where they will run."""
        return declared_on_workers(self._session, self._shipped_now(), self._plan)

    def _open_stores(self) -> None:
        has_stores = self._settings.state_backend != HEAP_BACKEND
        place = self._settings.state_directory if has_stores else None
        self._stores = LocalStores(self._session, place, self._program.job_id)

    def _shipped_now(self) -> ShippedPlan:
        """The plan for work outside of a query."""
        return self._ship(self._program.task_settings(0, time.time_ns() // 1_000_000), None)

    def _ship(self, settings: TaskSettings, clock_file: str | None) -> ShippedPlan:
        backend, place = self._settings.state_backend, self._settings.state_directory
        has_archives = bool(archives_of(self._settings))
        return ship(self._plan, settings, self._directory.uri, backend, clock_file, place, has_archives=has_archives)

    # ---- attempts ----

    def run_attempt(self, attempt: int, control: AttemptControl) -> None:
        """Run from the last version on: a query of micro-batches, or tasks that stay."""
        if self._is_continuous:
            self._run_continuous(attempt, control)
        else:
            self._run_batches(attempt, control)

    def _run_continuous(self, attempt: int, control: AttemptControl) -> None:
        self._directory.take_over(SparkLogs(is_continuous=True))
        shipped = self._ship(self._program.task_settings(attempt, time.time_ns() // 1_000_000), None)
        versions = self._versions = VersionDriver(
            self._plan, self._directory, self.sinks, self.statistics, run_on_workers=Workers(self._session)
        )
        try:
            last = versions.publish_last()
            if last is None or not versions.have_all_ended(last):
                alignment = SourceAlignment(self._plan, self.statistics)
                ContinuousAttempt(self._session, self._program, shipped, versions, self.sinks, alignment).run(control)
        finally:
            versions.close()

    def _run_batches(self, attempt: int, control: AttemptControl) -> None:
        self._directory.take_over(SparkLogs())
        file = Control(self._program.sources())
        shipped = self._ship(self._program.task_settings(attempt, file.now_ms()), file.clock_file)
        file.write_plan(pickle.dumps(shipped))
        committer = BatchCommitter(
            self._plan,
            self._directory,
            file,
            self.sinks,
            self.statistics,
            Workers(self._session),
            self._backpressure,
            SourceAlignment(self._plan, self.statistics),
        )
        self._versions = committer.versions
        try:
            if not committer.finish_if_ended():
                self._run_query(shipped, file, committer, control)
        except Exception as error:
            # A query that is stopped from outside leaves an error of its own in the committer, which explains nothing.
            raise (error if isinstance(error, CheckpointError) else committer.error or error) from None
        finally:
            committer.close()
            file.remove()

    def _run_query(
        self, shipped: ShippedPlan, file: Control, committer: BatchCommitter, control: AttemptControl
    ) -> None:
        names = SparkNames(self._session, self._plan, self._settings.job_name, self._program.job_id)
        with names.query_name() as name:
            query = self._start_query(shipped, file, committer, names, name)
            self._run_id = str(query.runId)
            control.on_running()
            try:
                self._watch(query, committer, file, control)
            except Exception:
                with suppress(Exception):  # with Java gone, the first error tells more
                    query.stop()
                raise
            query.stop()

    def _start_query(
        self, shipped: ShippedPlan, file: Control, committer: BatchCommitter, names: SparkNames, name: str
    ) -> StreamingQuery:
        with query_config(self._session):
            frame, committer.frame_counts = build_frame(self._session, self._plan, shipped, file.directory)
            writer = frame.writeStream.queryName(name).foreachBatch(names.given_to(committer.on_batch))
            writer = writer.option("checkpointLocation", log_location(self._directory))
            if self._settings.batch_interval_ms:
                writer = writer.trigger(processingTime=f"{self._settings.batch_interval_ms} milliseconds")
            return writer.start()

    def _watch(self, query: StreamingQuery, committer: BatchCommitter, file: Control, control: AttemptControl) -> None:
        """Wait for the end of a query, and let it know what is wanted of it meanwhile."""
        frame_ends = FrameEnds(self._plan, committer.frame_counts)
        while not control.is_cancelled():
            if not query.isActive:
                query.awaitTermination()  # raises what ended it
                if committer.finished_batch is None:
                    raise self._stopped_from_outside()
                return
            if committer.finished_batch is not None:
                _await_commit(query, committer.finished_batch)
                return
            if control.is_stopping() and not file.state.is_draining:
                file.drain()
                control.on_draining()
            if control.serve_savepoints(committer.versions):
                return
            for uid in frame_ends.newly_ended(query):
                file.end_frame(uid)
            committer.changed.wait(_POLL_SECONDS)
            committer.changed.clear()

    def _stopped_from_outside(self) -> CheckpointError:
        return CheckpointError(
            f"the query of job {self._settings.job_name!r} was stopped from outside: by another start of it "
            f"on checkpoint {self._directory.uri}, or by somebody who stopped Spark's queries"
        )

    # ---- what else the driver asks for ----

    def publish_last(self) -> Seal | None:
        """The last version, its output published, while no query runs."""
        return publish_last(self._plan, self._directory, Workers(self._session))

    def write_parts(self, orders: list[PartOrder]) -> list[PartResult]:
        """Write the state of subtasks into a savepoint, in tasks of Spark's."""
        imports = ProgramImports.of_this_process()

        def write(order: PartOrder) -> PartResult:
            imports.install()  # keys of the user's own classes are decoded
            return write_part(order)

        return run_on_workers(self._session, write, orders, what="Penstock writes a savepoint")

    def stop(self) -> None:
        """Let no batch become final any more."""
        if self._versions is not None:
            self._versions.stop()

    def explained(self, error: Exception) -> Exception:
        """Why Spark failed, as far as it can be found out."""
        return diagnosed(error, self._session, self._plan, checkpoint=self._directory.uri, run_id=self._run_id)

    def failure_text(self, error: BaseException, job_name: str) -> str:
        """An error in words for users, without the stacks of Java."""
        return failure_text(error, job_name)

    def finish(self) -> None:
        """Spark's tasks have closed their functions."""

    def cluster(self) -> dict[str, Any]:
        """Driver and executors of Spark, and where its pages are."""
        return self._cluster.now()

    def close(self, *, is_well: bool, is_held: bool) -> None:
        """Remove the local stores, unless another start of the job may use them."""
        if is_held:
            with suppress(OSError):
                self._stores.remove(on_workers=is_well)
        self._stores.release()


def _await_commit(query: StreamingQuery, batch: int) -> None:
    """Let Spark log the commit of the last batch, so that a later start has nothing to repeat.

    Not needed for correctness (the batch is sealed), so it is not waited for at any price.
    """
    give_up = time.monotonic() + 10
    while query.isActive and time.monotonic() < give_up:
        progress = query.lastProgress
        if progress is not None and progress["batchId"] >= batch:
            return
        time.sleep(0.01)
