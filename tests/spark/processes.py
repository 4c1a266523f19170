"""Programs started by tests: started with a mark, watched, killed whole, and proved to be gone.

What they compute is the business of `tests.spark.jobs`. Every process of a group, however deep, carries the group's
mark in its environment, so that none can be lost when its parent dies before it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from penstock.engine.spark.startup.session_config import WORKER_DAEMON
from tests.spark.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).resolve().parents[2]
# A Java process that lives for minutes spends more on compiling code well than it gets back: measured on the session of
# the tests, a start costs half of it without, and so does every job after.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_MARK = "KILL_TEST_GROUP"


class ProcessGroup:
    """All processes that one test starts, with a scratch folder for what they leave in temporary places."""

    def __init__(self, folder: Path) -> None:
        self.scratch = folder / "scratch"
        self.scratch.mkdir(parents=True)
        self._folder = folder
        self._mark = uuid.uuid4().hex
        self._started: list[Program] = []

    def start(self, command: list[str], name: str, **environment: str) -> Program:
        """Start a program; its output goes to a log in the folder."""
        log = self._folder / f"{name}.log"
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        marked = {
            **inherited,
            **self.variables(),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
            "PYSPARK_PYTHON": sys.executable,
            **environment,
        }
        with log.open("ab") as stream:
            process = subprocess.Popen(
                command, cwd=self.scratch, env=marked, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )
        program = Program(process, log)
        self._started.append(program)
        return program

    def variables(self) -> dict[str, str]:
        """What makes a process, and all that it starts, one of the group."""
        return {_MARK: self._mark, "TMPDIR": str(self.scratch)}

    def alive(self) -> list[psutil.Process]:
        """Every living process of the group, orphans too."""
        return [process for process in psutil.process_iter() if self._is_mine(process)]

    def _is_mine(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(_MARK) == self._mark and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return False

    def kill(self) -> None:
        """SIGKILL the whole group, Java and Python alike, and see it gone."""

        def is_gone() -> bool:
            living = self.alive()
            for process in living:
                kill(process)
            return not living

        wait_until(is_gone, "all killed processes are gone")
        for program in self._started:
            program.process.wait(30)

    def await_end(self) -> None:
        """See that whoever was left without a parent ends by itself."""
        wait_until(lambda: not self.alive(), "no process of the job is left")


class Program:
    """One started process."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition that can only come true while the program lives."""

        def look() -> object:
            met = condition()
            if not met and self.process.poll() is not None:
                raise AssertionError(f"program ended ({self.process.returncode}) before {what}:\n{self.tail()}")
            return met

        wait_until(look, what)

    def runs_for(self, seconds: float) -> bool:
        """Let time pass; tells whether the program is still there."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def finish(self) -> None:
        """Wait for the end, which must be a good one."""
        code = self.process.wait(PATIENCE_SECONDS)
        assert code == 0, f"program failed ({code}):\n{self.tail()}"

    def tail(self, lines: int = 40) -> str:
        """The last lines of the program's output."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    def task_workers(self) -> list[psutil.Process]:
        """Python processes that Spark forked to run tasks, children of its daemon."""
        daemons = {process.pid for process in self.processes(f"{WORKER_DAEMON} pyspark.worker")}
        return [process for process in self.processes("pyspark.worker") if _parent_of(process) in daemons]

    def processes(self, text: str) -> list[psutil.Process]:
        """Descendants of the program with a text in their command."""
        try:
            below = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return [process for process in below if text in command_of(process)]


def spark_settings(group: ProcessGroup) -> dict[str, str]:
    """Settings for a local Spark that starts quickly and keeps its files in the scratch folder of the group."""
    return {
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={group.scratch} {QUICK_JAVA}",
        "spark.local.dir": str(group.scratch),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def quick_spark(folder: Path) -> dict[str, str]:
    """Variables of a program that gives Spark no settings, so that its Java is quick as well."""
    configuration = folder / "spark-conf"
    configuration.mkdir()
    (configuration / "spark-defaults.conf").write_text(f"spark.driver.extraJavaOptions {QUICK_JAVA}\n")
    return {"SPARK_CONF_DIR": str(configuration)}


@contextmanager
def process_group(folder: Path) -> Iterator[ProcessGroup]:
    """A group whose processes do not outlive the block."""
    group = ProcessGroup(folder)
    try:
        yield group
    finally:
        group.kill()


def kill(process: psutil.Process) -> None:
    """SIGKILL; one that is gone already is fine."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


def command_of(process: psutil.Process) -> str:
    """The command line, empty if the process is gone."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def _parent_of(process: psutil.Process) -> int | None:
    try:
        return process.ppid()
    except psutil.NoSuchProcess:
        return None
