"""Spark's Java classes in the shape the JVM has them in memory, in a file of the user's cache: a driver that maps it
starts in two thirds of the time.

The JVM makes it when a driver without one ends. By itself it refuses a file of another JVM or of other jars; one that
was cut short would bring it down, so a new file is used only after the JVM has checked all of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home
from pyspark.version import __version__ as spark_version

from penstock.process_ids import process_exists
from penstock.user_cache import user_cache

_OWN_CHOICE = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit", "AutoCreateSharedArchive")
"""Options of the user's that say how it is to be done: then nothing is added."""
_QUIET = "-Xlog:cds*=off -Xlog:class+path=off"
# Spark adds them to its class path, as it does the folder of its own settings.
_FOLDER_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_NEEDED_BYTES = 1 << 30
# Each environment with a PySpark of its own has one, of up to 170 MB. Those used last stay: who finds none makes it
# again, which costs the end of a driver 15 s.
_KEPT_ARCHIVES = 6
_GIVEN_UP_SECONDS = 3600.0
# Drivers that start together would each spend their end on one. A driver that lives longer keeps no other from it.
_ONE_MAKES_IT_SECONDS = 120.0
_KEPT_DRIVERS = 8
_CHECK_SECONDS = 60.0


class ClassArchive:
    """The archive for one JVM and one Spark."""

    def __init__(self, java_home: Path, jars: Path | None = None, folder: Path | None = None) -> None:
        self._java = java_home / "bin" / "java"
        jars = jars or Path(_find_spark_home()) / "jars"
        self._folder = folder or user_cache() / "classes"
        told = [spark_version, str(jars.resolve()), str(self._java.resolve())]
        told += [str(path.stat().st_mtime_ns) for path in (jars, self._java.resolve()) if path.exists()]
        self._name = sha256("\n".join(told).encode()).hexdigest()[:16]
        self.path = self._folder / f"{self._name}.jsa"
        self._draft: Path | None = None

    def is_ready(self) -> bool:
        """Whether there is one; what an earlier driver has left becomes it."""
        return self.path.exists() or self._adopt()

    def options(self, given: str = "", extra_class_path: str = "") -> str:
        """JVM options of a driver: with the archive if there is one, or so that there is one the next time.

        `given`: what the user has of such options; `extra_class_path`: `spark.driver.extraClassPath`.
        """
        # Under spark-submit the driver is there before the program.
        if "PYSPARK_GATEWAY_PORT" in os.environ or any(option in given for option in _OWN_CHOICE):
            return ""
        try:
            if self.is_ready():
                with suppress(PermissionError):  # of a cache that is shared
                    os.utime(self.path)  # used now: others make room first
                return f'-XX:SharedArchiveFile="{self.path}" {_QUIET}'
            if _has_folder_with_files(extra_class_path) or self._is_in_the_making():
                return ""
            self._folder.mkdir(parents=True, exist_ok=True)
            self._forget_old_drivers()
            if shutil.disk_usage(self._folder).free < _NEEDED_BYTES:
                return ""
            self._draft = self._folder / f"{self._name}.{os.getpid()}.{time.time_ns()}.draft"
            self._arguments(self._draft).touch()
        except OSError:  # a cache that cannot be written to costs time and nothing else
            return ""
        return f'-XX:ArchiveClassesAtExit="{self._draft}" {_QUIET}'

    def started(self, class_path: str) -> None:
        """Remember what the classes of the driver that has started were found by: its archive is only good for that."""
        if self._draft is not None:
            # Java takes options from files, where a class path of any length has room.
            self._arguments(self._draft).write_text(f'-cp "{class_path}"\n')

    def _adopt(self) -> bool:
        """Use what an earlier driver has left, if it is whole."""
        for draft in self._drafts():
            if self._is_whole(draft):
                draft.replace(self.path)
                self._clear()
                return True
            if time.time() - draft.stat().st_mtime > _GIVEN_UP_SECONDS:  # else it may be in the making
                self._remove(draft)
        return False

    def _is_in_the_making(self) -> bool:
        """Whether a driver that makes it has just started, or has just ended and writes it."""
        youngest = time.time() - _ONE_MAKES_IT_SECONDS
        for arguments in self._folder.glob(f"{self._name}.*.args"):
            driver, draft = int(arguments.name.split(".")[1]), arguments.with_suffix(".draft")
            if draft.exists():
                if draft.stat().st_mtime > youngest:
                    return True
            elif driver != os.getpid() and process_exists(driver) and arguments.stat().st_mtime > youngest:
                return True
        return False

    def _forget_old_drivers(self) -> None:
        """A driver that is killed makes no archive: what is remembered of the oldest makes room."""
        waiting = [path for path in self._folder.glob("*.args") if not path.with_suffix(".draft").exists()]
        for path in _from_the_youngest(waiting)[_KEPT_DRIVERS:]:
            path.unlink(missing_ok=True)

    def _drafts(self) -> Iterator[Path]:
        return iter(sorted(self._folder.glob(f"{self._name}.*.draft")))

    def _is_whole(self, draft: Path) -> bool:
        arguments = self._arguments(draft)
        if not arguments.exists() or not arguments.read_text():  # of a driver that never started
            return False
        check = ["-Xshare:on", "-XX:+VerifySharedSpaces", f"-XX:SharedArchiveFile={draft}", "-version"]
        command = [str(self._java), f"@{arguments}", *check]
        try:
            # In the folder of the draft: a JVM that fell over it leaves a note where it stands.
            done = subprocess.run(
                command, capture_output=True, timeout=_CHECK_SECONDS, check=False, cwd=self._folder, env=_plain()
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    def _clear(self) -> None:
        """Remove other drafts, and archives of JVMs and Sparks that were here before."""
        for draft in self._drafts():
            self._remove(draft)
        for path in self._folder.glob(f"{self._name}.*.args"):
            path.unlink(missing_ok=True)
        for path in self._folder.glob("hs_err_pid*"):
            path.unlink(missing_ok=True)
        for path in _from_the_youngest(self._folder.glob("*.jsa"))[_KEPT_ARCHIVES:]:
            path.unlink(missing_ok=True)
        for draft in _from_the_youngest(self._folder.glob("*.draft"))[_KEPT_ARCHIVES:]:
            self._remove(draft)  # of environments that are gone

    def _remove(self, draft: Path) -> None:
        draft.unlink(missing_ok=True)
        self._arguments(draft).unlink(missing_ok=True)

    @staticmethod
    def _arguments(draft: Path) -> Path:
        return draft.with_suffix(".args")


def _from_the_youngest(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)


def _plain() -> dict[str, str]:
    """Variables without options for every JVM, which may name another archive."""
    return {key: value for key, value in os.environ.items() if key not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")}


def _has_folder_with_files(extra_class_path: str) -> bool:
    """Whether Spark puts a folder that is not empty on the class path, such as one with its settings.

    Java makes no archive then: it ends with an error that says its start has failed.
    """
    settings = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    named = [settings, *(os.environ.get(name, "") for name in _FOLDER_VARIABLES)]
    named += f"{extra_class_path}{os.pathsep}{os.environ.get('SPARK_DIST_CLASSPATH', '')}".split(os.pathsep)
    return any(os.path.isdir(path) and os.listdir(path) for path in named if path)
