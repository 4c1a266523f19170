"""The Spark session a job runs on: the one that is there, or one made with what Penstock needs."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.engine.spark.class_archive import ClassArchive
from penstock.engine.spark.worker_python import worker_python
from penstock.graph.settings import JobSettings
from penstock.java import java_home

WORKER_DAEMON = "penstock.engine.spark.worker_daemon"
"""The module that workers are forked from; by name, for Python warns of a module that is imported before it is run."""

_TASK_FAILURES = 4
_equipped: set[str] = set()

_FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
QUERY_CONFIG = {
    # The default file manager forks processes for links and permissions: 0.15 s a batch on a local disk.
    "spark.sql.streaming.checkpointFileManagerClass": _FILE_MANAGER,
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    # Hadoop's local file system runs `chmod` for every file it makes, and the layer for checksums above it, which Spark
    # switches off for its logs, once more. SQL settings reach the Hadoop settings of a query; the cache of file systems
    # knows nothing of settings, so it is left out.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
    # Partition i is subtask i: nothing may merge or split partitions behind our back.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
}
"""SQL settings of Penstock's queries; a query keeps those in force when it starts."""

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LOG_SETTINGS = Path(__file__).resolve().with_name("log4j2.properties")
_SESSION_CONFIG = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}",
}


def get_session(settings: JobSettings) -> SparkSession:
    """The active session, or a new one for this job's settings."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return _with_package(active)
    master = _master(settings)
    os.environ.setdefault("PYSPARK_PYTHON", worker_python(is_local=_is_here(master)))
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", os.environ["PYSPARK_PYTHON"])
    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    _let_workers_find_penstock()
    config = {**_SESSION_CONFIG, **daemon_config(master), **settings.spark_config}
    archive = ClassArchive(home)
    java_options = config[_JAVA_OPTIONS]
    config[_JAVA_OPTIONS] = f"{java_options} {archive.options(java_options)}".strip()
    builder = SparkSession.builder.appName(settings.job_name).master(master)
    for key, value in config.items():
        if key != "spark.master":
            builder = builder.config(key, value)
    session = builder.getOrCreate()
    jvm: Any = session.sparkContext._jvm
    archive.started(jvm.java.lang.System.getProperty("java.class.path"))
    return _with_package(session)


def _with_package(session: SparkSession) -> SparkSession:
    """Send Penstock itself to executors, which need not have it installed."""
    context = session.sparkContext
    if not str(context.master).startswith("local") and context.applicationId not in _equipped:
        context.addPyFile(_package_archive())
        _equipped.add(context.applicationId)
    return session


def _let_workers_find_penstock() -> None:
    """A Penstock that runs from a source folder on `sys.path` is not on that of the Python processes Spark starts."""
    folder = str(Path(__file__).resolve().parents[3])
    known = os.environ.get("PYTHONPATH", "")
    if folder not in (sysconfig.get_path("purelib"), *known.split(os.pathsep)):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [known, folder]))


def _master(settings: JobSettings) -> str:
    """In local mode Spark retries tasks only if the master says so; a worker that dies must cost a retry only."""
    if settings.spark_master is not None:
        return settings.spark_master
    return os.environ.get("SPARK_MASTER") or f"local[{os.cpu_count() or 1},{_TASK_FAILURES}]"


def daemon_config(master: str) -> dict[str, str]:
    """Elsewhere it is not known what is installed, or (not Linux) which threads a fork would leave behind."""
    return {"spark.python.daemon.module": WORKER_DAEMON} if _is_here(master) and sys.platform == "linux" else {}


def _is_here(master: str) -> bool:
    """Whether all of Spark is in one process on this machine."""
    return master.startswith("local") and not master.startswith("local-cluster")


def _package_archive() -> str:
    """Penstock itself as a zip, for executors that do not have it installed."""
    package = Path(__file__).resolve().parents[2]
    folder = tempfile.mkdtemp(prefix="penstock-package-")
    # Executors may ask for it as long as the driver lives.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = Path(folder) / "penstock.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*.py")):
            archive.write(path, path.relative_to(package.parent))
    return str(target)


@contextmanager
def query_config(session: SparkSession) -> Iterator[None]:
    """Put Penstock's SQL settings in force while a query is made and started, and the user's back after."""
    before = {key: session.conf.get(key, None) for key in QUERY_CONFIG}
    for key, value in QUERY_CONFIG.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)
