"""What is behind an error of Spark's: a lost Java process, a dead worker, a full disk, or what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from penstock.engine.spark import diagnosis
from penstock.engine.spark.diagnosis import diagnosed
from penstock.engine.spark.failures import failure_text
from penstock.engine.spark.startup import java_process
from penstock.engine.spark.startup.java_process import exit_text, forget_dead_java, java_end, lost_spark
from penstock.engine.spark.worker_deaths import codes_of_deaths
from penstock.errors import CheckpointError, SparkLostError, StorageFullError, WorkerDiedError

DEAD = (
    "An error occurred while calling o87.getResult.\n: org.apache.spark.SparkException: Exception thrown in "
    "awaitResult: \nCaused by: org.apache.spark.SparkException: Job aborted: Task 1 in stage 12.0 failed 4 times, "
    "most recent failure: Lost task 1.3 in stage 12.0: Python worker exited unexpectedly (crashed)."
)


class Mute(Exception):
    """An error of Java's after Java is gone."""

    def __str__(self) -> str:
        raise ConnectionRefusedError("Connection refused")


NOBODY = SimpleNamespace(address="127.0.0.1", port=1)
"""Where nobody listens."""


@pytest.fixture(autouse=True)
def living_java_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = java_process._listens
    monkeypatch.setattr(java_process, "_listens", lambda gateway: gateway.proc is LIVING or ask(gateway))


def process_that_ends(how: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", f"import os, signal; {how}"])


def fake_session(process: Any, *, stopped: bool = False) -> Any:
    context = SimpleNamespace(
        _gateway=SimpleNamespace(proc=process, gateway_parameters=NOBODY),
        _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: stopped)),
        statusTracker=lambda: SimpleNamespace(
            getJobIdsForGroup=lambda group: [4, 5] if group == "run" else [],
            getJobInfo=lambda number: SimpleNamespace(stageIds=[8, 9, 10] if number == 4 else [12, 11, 13]),
        ),
    )
    return SimpleNamespace(sparkContext=context)


LIVING: Any = SimpleNamespace(wait=lambda seconds: (_ for _ in ()).throw(subprocess.TimeoutExpired("java", seconds)))


def vertex(name: str, level: int, parallelism: int = 2) -> Any:
    return SimpleNamespace(name=name, level=level, parallelism=parallelism, is_driver=False, is_source=level == 0)


PLAN: Any = SimpleNamespace(
    vertices=[vertex("Source: a", 0), vertex("one", 1), vertex("narrow", 1, parallelism=1), vertex("two", 2)]
)


def found(error: Exception, session: Any = None) -> Exception:
    return diagnosed(error, session or fake_session(LIVING), PLAN, checkpoint="/tmp", run_id="run")


@pytest.mark.parametrize(
    ("how", "text"),
    [
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "was killed by signal 9 (SIGKILL, as the system does when memory runs out)",
        ),
        ("os._exit(52)", "ended with exit code 52: its memory ran out"),
        ("os._exit(1)", "ended with exit code 1"),
    ],
)
@pytest.mark.parametrize(
    "error", [Py4JNetworkError("x"), ConnectionRefusedError("x"), Mute()], ids=["py4j", "os", "mute"]
)
def test_a_java_process_that_is_gone_is_told_with_its_end(how: str, text: str, error: Exception) -> None:
    told = found(error, fake_session(process_that_ends(how)))
    assert isinstance(told, SparkLostError)
    assert f"Spark's Java process {text} while the job ran" in str(told)
    assert "resumed from its checkpoint" in str(told)


def test_a_stopped_session_is_told() -> None:
    told = found(RuntimeError("Cannot call methods on a stopped SparkContext"), fake_session(LIVING, stopped=True))
    assert isinstance(told, SparkLostError) and "was stopped while the job ran" in str(told)


def test_an_error_of_a_living_java_stays() -> None:
    error = RuntimeError("Path does not exist")
    assert found(error) is error
    own = CheckpointError("damaged")
    assert found(own) is own
    assert lost_spark(fake_session(LIVING), error) is None


def test_a_text_that_cannot_be_had_is_no_second_failure() -> None:
    assert "Mute, whose text could not be read (ConnectionRefusedError)" in failure_text(Mute(), "job")


def test_a_dead_worker_is_told_with_its_operators_and_how_it_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(diagnosis, "scratch_directory", lambda session: str(tmp_path))
    told = found(RuntimeError(DEAD))
    assert isinstance(told, WorkerDiedError)
    # Stage 12 is the second of its job, so level 1; subtask 1 is none of the narrow operator's.
    assert str(told).startswith("a Python worker died in 'one' (subtask 1), 4 times in a row.")
    monkeypatch.setattr(diagnosis, "java_pid", lambda context: 77)
    (tmp_path / "blockmgr-1").mkdir()
    (tmp_path / "blockmgr-1" / "penstock-worker-deaths-78").write_text(f"{time.time()} 5\n")
    (tmp_path / "blockmgr-1" / "penstock-worker-deaths-77").write_text(
        f"{time.time() - 900} 1\n" + f"{time.time()} -9\n" * 3
    )
    assert "was killed by signal 9 (SIGKILL, as the system" in str(found(RuntimeError(DEAD)))
    assert "a Python worker" in str(found(RuntimeError("x: Python worker exited unexpectedly (crashed)")))


@pytest.mark.parametrize(
    "text",
    [
        "[STREAM_FAILED] Query numbers terminated with exception: Python worker failed to connect back.",
        "java.net.SocketTimeoutException: Timed out while waiting for the Python worker to connect back after 10000 ms",
    ],
)
def test_a_worker_that_does_not_answer_in_time_is_not_called_dead(text: str) -> None:
    told = found(Exception(text))
    assert isinstance(told, WorkerDiedError)
    assert "the machine is too busy" in str(told)
    assert "os._exit" not in str(told)


def test_a_full_disk_that_java_found_is_told_with_the_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(diagnosis, "scratch_directory", lambda session: str(tmp_path))
    told = found(RuntimeError("java.io.IOException: No space left on device\n\tat java.io.FileOutputStream"))
    assert isinstance(told, StorageFullError)
    assert "the checkpoint directory /tmp: " in str(told) and f"Spark's scratch directory {tmp_path}: " in str(told)


def test_ends_in_words() -> None:
    assert exit_text(-signal.SIGSEGV) == "was killed by signal 11 (SIGSEGV)"
    assert exit_text(-200) == "was killed by signal 200 (unknown)"


def test_a_gateway_that_nobody_answers_is_a_java_that_has_ended() -> None:
    assert java_end(fake_session(None).sparkContext) == "Spark's Java process has ended"


def test_a_java_process_that_has_closed_its_sockets_is_waited_for() -> None:
    process = process_that_ends("import time; time.sleep(0.3); os._exit(1)")
    assert java_end(fake_session(process).sparkContext) == "Spark's Java process ended with exit code 1"


def test_a_java_process_that_listens_no_more_and_does_not_end_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(java_process, "_DYING_SECONDS", 0.05)
    process = process_that_ends("import time; time.sleep(600)")
    try:
        assert java_end(fake_session(process).sparkContext) == "Spark's Java process has ended"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def dead_session(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A session that the program made, and whose Java process has been killed."""
    context = fake_session(process_that_ends("os.kill(os.getpid(), 9)")).sparkContext
    context._gateway.proc.wait()
    for name in ("_active_spark_context", "_gateway", "_jvm"):
        monkeypatch.setattr(
            java_process.SparkContext, name, context if name.startswith("_active") else context._gateway
        )
    for name in ("_instantiatedSession", "_activeSession"):
        monkeypatch.setattr(java_process.SparkSession, name, object())
    monkeypatch.setattr(java_process, "_own", None)
    monkeypatch.setattr(java_process, "_lost_of_user", "")
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    return context


def test_a_session_of_the_programs_is_not_replaced_in_silence(
    dead_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with pytest.raises(
            SparkLostError, match=r"session of this program has ended: .*signal 9.*SparkSession\.builder"
        ):
            forget_dead_java()
    assert java_process.SparkContext._gateway is None  # PySpark may start another Java process
    monkeypatch.setattr(java_process.SparkContext, "_active_spark_context", fake_session(LIVING).sparkContext)
    forget_dead_java()
    monkeypatch.setattr(java_process.SparkContext, "_active_spark_context", None)
    forget_dead_java()  # the program's own is stopped, so that the next job may have one of Penstock's


def test_a_session_of_penstocks_is_replaced(dead_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_process, "_own", dead_session._gateway)
    forget_dead_java()
    assert java_process.SparkContext._active_spark_context is None


def test_under_spark_submit_java_cannot_be_started_again(dead_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_process, "_own", dead_session._gateway)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with pytest.raises(SparkLostError, match=r"Start the program again$"):
        forget_dead_java()


FORKING = """
import os, signal, sys, time
from penstock.engine.spark.worker_deaths import note_deaths, codes_of_deaths
scratch = sys.argv[1]
os.mkdir(os.path.join(scratch, "blockmgr-1"))
note_deaths(os.path.join(scratch, "blockmgr-1"))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
start, go = os.pipe()
for how in (lambda: os._exit(3), lambda: os.kill(os.getpid(), 9), lambda: os._exit(0)):
    if os.fork() == 0:
        os.read(start, 1)  # the parent watches by now
        how()
os.write(go, b"xxx")
give_up = time.time() + 20
while len(codes_of_deaths(scratch, os.getppid())) < 2 and time.time() < give_up:
    time.sleep(0.01)
"""


def test_the_daemon_notes_how_its_workers_died(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKING, str(tmp_path)], check=True, env={**os.environ})
    assert sorted(codes_of_deaths(str(tmp_path), os.getpid())) == [-9, 3]
    assert codes_of_deaths(str(tmp_path), 1) == codes_of_deaths(str(tmp_path / "nothing"), os.getpid()) == []
