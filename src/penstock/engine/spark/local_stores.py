"""Where workers keep the local stores of a job, and their removal when it has ended.

Stores in Spark's scratch directories go with the executors. Those in a directory of the user's choice would stay for
ever; they are a cache of the checkpoint directory, so nothing is lost with them. Nobody but the user can read either.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from functools import partial

from pyspark.sql import SparkSession

from penstock.engine.spark.shipping import ShippedPlan
from penstock.engine.spark.startup.session_config import is_here
from penstock.engine.spark.worker_orders import run_on_workers
from penstock.runtime.subtask import Subtask
from penstock.scratch import clear_abandoned, hold, make_private, release

HEAP_BACKEND = "heap"
"""The state backend that has no files."""

_log = logging.getLogger(__name__)


def local_folder(chosen: str | None, job_id: str) -> str:
    """The folder of a job on this worker: in Spark's scratch directory of the executor, unless told otherwise."""
    spark_scratch = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return os.path.join(chosen or spark_scratch or tempfile.gettempdir(), "penstock", job_id)


def local_path(plan: ShippedPlan, subtask: Subtask) -> str:
    """Where a worker keeps the state of a subtask; its folder is made."""
    name = f"{subtask.vertex.id}-{subtask.subtask}.{plan.state_backend}"
    folder = local_folder(plan.state_directory, plan.settings.job_id)
    if plan.state_backend != HEAP_BACKEND:
        make_private(folder)
    return os.path.join(folder, name)


class LocalStores:
    """The stores of one job in a directory of the user's choice; on this machine the driver answers for them."""

    def __init__(self, session: SparkSession, chosen: str | None, job_id: str) -> None:
        """Have the folder of the job, and clear away those of jobs that were killed."""
        self._session = session
        self._folder = None if chosen is None else local_folder(chosen, job_id)
        if self._folder is not None and self._is_local():
            while not hold(make_private(self._folder)):
                continue
            clear_abandoned(os.path.dirname(self._folder))

    def remove(self, *, on_workers: bool) -> None:
        """Remove the stores of the job, which has ended: here and, as far as tasks reach them, on workers."""
        if self._folder is None:
            return
        try:
            if on_workers and not self._is_local():
                tasks = list(range(self._session.sparkContext.defaultParallelism))
                what = "Penstock removes local state"
                run_on_workers(self._session, partial(_remove, self._folder), tasks, what=what)
        except Exception as error:  # the job has ended; whatever keeps Spark from tidying up must not change how
            _log.warning("local state in %s of the workers could not be removed: %s", self._folder, error)
        _remove(self._folder, 0)

    def release(self) -> None:
        """The driver needs the stores no longer; another start of the job may."""
        if self._folder is not None:
            release(self._folder)

    def _is_local(self) -> bool:
        return is_here(self._session.sparkContext.master or "local")


def _remove(folder: str, _: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
