"""With which settings Penstock makes a session of Spark: the user's, and its own where the user has said nothing.

A session that the user made stays as it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WORKER_DAEMON = "penstock.engine.spark.startup.worker_daemon"
"""The module that workers are forked from; by name, for Python warns of a module that is imported before it is run."""
QUIET_DAEMON = "penstock.engine.spark.startup.quiet_daemon"
SOURCE_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
"""Spark's module for the process of a source."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
EXTRA_CLASS_PATH = "spark.driver.extraClassPath"
WORKER_PYTHON = "spark.pyspark.python"
LOCAL_FOLDER = "spark.local.dir"
BIND_ADDRESS = "spark.driver.bindAddress"

_TASK_FAILURES = 4
_MASTER = "spark.master"
_UNNAMED = "local[*]"
"""What spark-submit makes of no master; whether the user gave it cannot be told."""
_LOOPBACK = "127.0.0.1"
_LOG_SETTINGS = Path(__file__).resolve().with_name("log4j2.properties")
_LOG_OPTION = f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"
_EVERYWHERE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_HERE = {
    # All of Spark is in this machine's processes: nobody else has to reach it.
    BIND_ADDRESS: _LOOPBACK,
    "spark.driver.host": _LOOPBACK,
    # Others on this machine reach loopback too. Spark draws the secret, which no command line shows.
    "spark.authenticate": "true",
}
_TOGETHER = {BIND_ADDRESS, "spark.driver.host"}
"""Who sets one of these has thought of an address; the other is Spark's to choose."""


@dataclass(frozen=True)
class SessionConfig:
    """The master, the settings that have to be given to Spark for it, and whether it needs a folder for its files."""

    master: str
    settings: dict[str, str]
    needs_folder: bool = False

    @property
    def is_local(self) -> bool:
        """Whether all of Spark is on this machine."""
        return is_here(self.master)


def session_config(
    given: Mapping[str, str], told: Mapping[str, str], *, is_submitted: bool = False, fast_start: bool = True
) -> SessionConfig:
    """What to make a session with, of the job's own settings (`given`) and of what Spark knows already (`told`)."""
    master = given.get(_MASTER) or _configured_master(told.get(_MASTER), is_submitted) or _own_master()
    own = {**_EVERYWHERE, **(local_config(fast_start=fast_start) if is_here(master) else {})}
    known = {**told, **given}
    if _TOGETHER & known.keys() or os.environ.get("SPARK_LOCAL_IP"):
        own = {key: value for key, value in own.items() if key not in _TOGETHER}
    settings = {**{key: value for key, value in own.items() if key not in told}, **given}
    settings.pop(_MASTER, None)
    # The options of the JVM are added to, so they are needed whoever gave them. The user's come last, and win.
    settings[JAVA_OPTIONS] = f"{_LOG_OPTION} {known.get(JAVA_OPTIONS, '')}".strip()
    has_folder = LOCAL_FOLDER in known or bool(os.environ.get("SPARK_LOCAL_DIRS"))
    return SessionConfig(master, settings, needs_folder=is_here(master) and not has_folder)


def local_config(*, fast_start: bool) -> dict[str, str]:
    """Settings for Spark on this machine alone."""
    # Elsewhere it is not known what is installed, or (not Linux) which threads a fork would leave behind.
    daemon = {"spark.python.daemon.module": WORKER_DAEMON} if fast_start and sys.platform == "linux" else {}
    return {**_HERE, **daemon}


def is_here(master: str) -> bool:
    """Whether all of Spark is in one process on this machine."""
    return master.startswith("local") and not master.startswith("local-cluster")


def _configured_master(told: str | None, is_submitted: bool) -> str | None:
    """The variable comes before a file; what stands on the line of spark-submit comes before it."""
    by_variable = os.environ.get("SPARK_MASTER")
    return told if is_submitted and told != _UNNAMED else by_variable or told


def _own_master() -> str:
    """In local mode Spark retries tasks only if the master says so; a worker that dies must cost a retry only."""
    return f"local[{os.cpu_count() or 1},{_TASK_FAILURES}]"
