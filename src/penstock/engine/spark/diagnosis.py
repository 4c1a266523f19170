"""Finds out what is behind an error of a job's attempt: user code, a lost Java process, a dead worker, a full disk.

From Python they look alike: a call to Java that failed, with a text of many pages or, if Java is gone, none.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from penstock.engine.spark.startup.java_process import exit_text, java_pid, lost_spark
from penstock.engine.spark.worker_deaths import codes_of_deaths
from penstock.errors import PenstockError, StorageFullError, WorkerDiedError
from penstock.graph.plan import JobPlan, Vertex
from penstock.job.failures import error_text
from penstock.runtime.failure import OperatorFailure
from penstock.storage.disk_space import is_full_disk, space_text

_DEAD_WORKER = re.compile(r"Python worker exited unexpectedly")
_SILENT_WORKER = re.compile(r"Python worker (failed )?to connect back")
_SILENT = (
    "Spark started a Python process and did not hear from it for ten seconds, so it gave up. Most likely the machine "
    "is too busy: run fewer programs next to the job, or lower its parallelism. If it is not busy, see above "
    "what the process printed: its Python may not start"
)
_TASK = re.compile(r"Task (\d+) in stage (\d+)\.\d+ failed (\d+) times")


def diagnosed(error: Exception, session: SparkSession, plan: JobPlan, *, checkpoint: str, run_id: str) -> Exception:
    """The error that tells most; the one given if it tells enough, or nothing better is known.

    `run_id` is the query's, by which Spark knows its stages.
    """
    if isinstance(error, (OperatorFailure, PenstockError)):
        return error
    lost = lost_spark(session, error)
    if lost is not None:
        return lost
    text = error_text(error)
    if is_full_disk(error) or is_full_disk(Exception(text)):
        return _full_disk(session, checkpoint)
    if _SILENT_WORKER.search(text):
        return WorkerDiedError(_SILENT)
    if _DEAD_WORKER.search(text):
        return _dead_worker(text, session, plan, run_id)
    return error


def _full_disk(session: SparkSession, checkpoint: str) -> StorageFullError:
    places = {"the checkpoint directory": checkpoint}
    with suppress(Exception):
        places["Spark's scratch directory"] = scratch_directory(session)
    told = "; ".join(f"{name} {path}: {space_text(path)}" for name, path in places.items())
    return StorageFullError(
        f"Spark found no space left on a disk ({told}). Free some space or choose other directories, then start the "
        "job again: it resumes from its last checkpoint and ignores unfinished files"
    )


def _dead_worker(text: str, session: SparkSession, plan: JobPlan, run_id: str) -> WorkerDiedError:
    task = _TASK.search(text)
    where, times = "", ""
    if task is not None:
        subtask, stage, tries = map(int, task.groups())
        times = f", {tries} times in a row" if tries > 1 else ""
        vertices = _vertices_of(_level_of(stage, session, run_id), plan)
        names = [vertex.name for vertex in vertices if subtask < vertex.parallelism or vertex.is_source]
        if names:
            where = f" in {' or '.join(map(repr, names))}" + (f" (subtask {subtask})" if vertices[0].level else "")
    codes: list[int] = []
    with suppress(Exception):
        codes = codes_of_deaths(scratch_directory(session), java_pid(session.sparkContext))
    how = "died" if not codes else exit_text(Counter(codes).most_common(1)[0][0])
    return WorkerDiedError(
        f"a Python worker {how}{where}{times}. A function may have ended the process (os._exit, a signal, a crash of "
        "native code), or the machine may have run out of memory: then use smaller batches "
        "(penstock.batch.max-records), a lower parallelism, or a machine with more"
    )


def _level_of(stage: int, session: SparkSession, run_id: str) -> int | None:
    """The level whose stage it is: a batch is one job, whose stages are numbered in the order of the levels."""
    with suppress(Exception):
        tracker = session.sparkContext.statusTracker()
        for number in tracker.getJobIdsForGroup(run_id):
            job: Any = tracker.getJobInfo(number)
            if job is not None and stage in job.stageIds:
                return sorted(job.stageIds).index(stage)
    return None


def _vertices_of(level: int | None, plan: JobPlan) -> list[Vertex]:
    return [vertex for vertex in plan.vertices if vertex.level == level and not vertex.is_driver]


def scratch_directory(session: SparkSession) -> str:
    """Where Spark's workers on this machine keep what they need while they run."""
    # Spark makes a folder there for itself, and PySpark one in that.
    return os.path.dirname(os.path.dirname(str(session.sparkContext._temp_dir)))
