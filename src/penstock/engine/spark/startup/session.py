"""The Spark session a job runs on: the one that is there, or one made with what Penstock needs."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession, is_remote

from penstock.common.secret_references import has_reference, resolved
from penstock.engine.spark.continuous.pipelined import SESSION_CONFIG
from penstock.engine.spark.quiet_py4j import hush_py4j
from penstock.engine.spark.startup.class_archive import ClassArchive
from penstock.engine.spark.startup.fast_start import tell_workers
from penstock.engine.spark.startup.forked_processes import forget_other_server, start_fork_server
from penstock.engine.spark.startup.java_process import forget_dead_java, made_by_penstock
from penstock.engine.spark.startup.session_config import (
    BIND_ADDRESS,
    EXTRA_CLASS_PATH,
    JAVA_OPTIONS,
    LOCAL_FOLDER,
    WORKER_PYTHON,
    session_config,
)
from penstock.engine.spark.startup.unix_sockets import unix_socket_settings
from penstock.engine.spark.startup.worker_equipment import equip_workers, let_workers_find_penstock, need_no_equipment
from penstock.engine.spark.startup.worker_python import is_worker_python, worker_python
from penstock.engine.spark.told_to_spark import is_submitted, told_to_spark
from penstock.errors import ConfigurationError
from penstock.graph.settings import JobSettings
from penstock.java import java_home, quiet_java_home
from penstock.scratch import make_scratch

_HADOOP = "spark.hadoop."
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


def get_session(settings: JobSettings, *, continuous_slots: int | None = None) -> SparkSession:
    """The session that is there, which stays as its user made it, or a new one for this job's settings.

    `continuous_slots`: the session is for continuous mode, with so many tasks at the same time.
    """
    if continuous_slots is not None:
        settings = for_continuous(settings, continuous_slots)
    hush_py4j()
    _refuse_connect()
    forget_dead_java()
    # By the context: a session is active for a thread, and the job may be started by another one.
    if SparkContext._active_spark_context is not None:
        session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
        equip_workers(session, fast_start=settings.fast_start)
    else:
        session = _new_session(settings)
    tell_workers(session.sparkContext.environment, fast_start=settings.fast_start)
    return session


def _refuse_connect() -> None:
    """Refuse Spark Connect, and so Databricks Connect: its client has no JVM, where the tasks' code is put together."""
    client = sys.modules.get("pyspark.sql.connect.session")
    has_session = client is not None and client.SparkSession.getActiveSession() is not None
    if has_session or is_remote():
        raise ConfigurationError(
            "Penstock cannot run in a Spark Connect or Databricks Connect session, which has no JVM of its own: use a "
            "classic session (unset SPARK_REMOTE; on Databricks run the program as a job or notebook of a cluster)."
        )


def _new_session(settings: JobSettings) -> SparkSession:
    given = dict(settings.spark_config)
    if settings.spark_master is not None:
        given["spark.master"] = settings.spark_master
    told = told_to_spark()
    fast_start = settings.fast_start
    made = session_config(given, told, is_submitted=is_submitted(), fast_start=fast_start)
    named = given.get(WORKER_PYTHON) or told.get(WORKER_PYTHON)
    _choose_python(named, is_local=made.is_local, fast_start=fast_start)
    home = quiet_java_home() if made.is_local else java_home()
    os.environ["JAVA_HOME"] = str(home)
    let_workers_find_penstock(os.environ)
    archive = class_archive_of(home, fast_start=fast_start)
    config = made.settings
    if archive is not None:
        java_options = config[JAVA_OPTIONS]
        extra_class_path = {**told, **given}.get(EXTRA_CLASS_PATH, "")
        config = {**config, JAVA_OPTIONS: f"{java_options} {archive.options(java_options, extra_class_path)}".strip()}
    forget_other_server()
    if made.is_local and fast_start and is_worker_python(os.environ["PYSPARK_PYTHON"]):
        # Other Pythons would tell of every worker that Java hangs up on.
        config = {**config, **unix_socket_settings({**told, **given})}
        start_fork_server(tempfile.gettempdir())
    if made.needs_folder:
        # What is left of a driver that is killed is found, and removed, by the next one.
        config[LOCAL_FOLDER] = make_scratch("spark")
    builder = SparkSession.builder.master(made.master)
    if "spark.app.name" not in {**told, **given}:
        builder = builder.appName(settings.job_name)
    check_references(config)
    for key, value in config.items():
        if not has_reference(value):
            builder = builder.config(key, value)
    with _web_pages_bound_to(None if BIND_ADDRESS in {**told, **given} else config.get(BIND_ADDRESS)):
        session = builder.getOrCreate()
    made_by_penstock(session)
    jvm: Any = session.sparkContext._jvm
    tell_hadoop(session, config)
    if archive is not None:
        archive.started(jvm.java.lang.System.getProperty("java.class.path"))
    if made.needs_folder:
        jvm.java.io.File(config[LOCAL_FOLDER]).deleteOnExit()  # empty by then: Spark removes its own before
    if made.is_local:
        need_no_equipment(session)
    else:
        equip_workers(session, fast_start=fast_start)
    return session


def check_references(config: Mapping[str, str]) -> None:
    """Refuse secrets where Spark would put them on the command line of Java."""
    for key, value in config.items():
        if has_reference(value) and not key.startswith(_HADOOP):
            raise ConfigurationError(
                f"configuration key {key!r} refers to a secret, {value!r}: of Spark's settings only those that begin "
                f"with {_HADOOP} can, as Spark has the others on a command line; put it into spark-defaults.conf."
            )


def tell_hadoop(session: SparkSession, config: Mapping[str, str]) -> None:
    """Give the settings of file systems that refer to secrets to the Java that runs, and to nobody else."""
    for key, value in config.items():
        if has_reference(value):
            hadoop: Any = session.sparkContext._jsc.hadoopConfiguration()
            hadoop.set(key.removeprefix(_HADOOP), resolved(value, f"configuration key {key!r}"))


def for_continuous(settings: JobSettings, slots: int) -> JobSettings:
    """The settings of a job with what continuous mode needs of a session that is made for it."""
    config = {**SESSION_CONFIG, **settings.spark_config}
    is_free = settings.spark_master is None and "spark.master" not in told_to_spark() and not is_submitted()
    # More threads than cores: the tasks of all levels run at once, and most of them wait most of the time.
    master = f"local[{slots}]" if is_free else settings.spark_master
    return replace(settings, spark_config=config, spark_master=master)


def class_archive_of(home: Path, *, fast_start: bool) -> ClassArchive | None:
    """The archive of Spark's classes for a Java; None where fast start is off."""
    return ClassArchive(home) if fast_start else None


@contextmanager
def _web_pages_bound_to(address: str | None) -> Iterator[None]:
    """Spark's web pages are bound by a variable only; the JVM keeps what it finds when it starts."""
    if address is None or "SPARK_LOCAL_IP" in os.environ:
        yield
        return
    os.environ["SPARK_LOCAL_IP"] = address
    try:
        yield
    finally:
        del os.environ["SPARK_LOCAL_IP"]


def _choose_python(named: str | None, *, is_local: bool, fast_start: bool) -> None:
    """PySpark takes the Python of its workers from a variable, and from nowhere else."""
    if named is not None:
        os.environ["PYSPARK_PYTHON"] = named
    else:
        os.environ.setdefault("PYSPARK_PYTHON", worker_python(is_local=is_local and fast_start))
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", os.environ["PYSPARK_PYTHON"])


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
