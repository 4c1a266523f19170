"""Where workers keep the local stores of a job, and their removal when it has ended; owns no store.

Stores in Spark's scratch directories go with the executors. Those in a directory of the user's choice would stay for
ever; they are a cache of the checkpoint directory, so nothing is lost with them.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from functools import partial

from pyspark.sql import SparkSession

from penstock.engine.spark.worker_orders import run_on_workers

_log = logging.getLogger(__name__)


def local_folder(chosen: str | None, job_id: str) -> str:
    """The folder of a job on this worker: in Spark's scratch directory of the executor, unless told otherwise."""
    spark_scratch = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return os.path.join(chosen or spark_scratch or tempfile.gettempdir(), "penstock", job_id)


def remove_local_stores(session: SparkSession, chosen: str | None, job_id: str, *, on_workers: bool) -> None:
    """Remove the stores of an ended job from the chosen directory, here and, as far as tasks reach them, on workers."""
    if chosen is None:
        return
    folder = local_folder(chosen, job_id)
    try:
        context = session.sparkContext
        if on_workers and not (context.master or "local").startswith("local"):
            run_on_workers(session, partial(_remove, folder), list(range(context.defaultParallelism)))
    except Exception as error:  # the job has ended; whatever keeps Spark from tidying up must not change how
        _log.warning("local state in %s of the workers could not be removed: %s", folder, error)
    _remove(folder, 0)


def _remove(folder: str, _: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
