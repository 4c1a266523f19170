"""Processes that are forked instead of started: they are as started ones, and nobody waits in vain for one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.engine.spark.startup import fork_client, fork_server
from penstock.engine.spark.startup.session_config import QUIET_DAEMON, SOURCE_RUNNER
from penstock.engine.spark.startup.worker_python import worker_python
from tests.spark.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a server on Linux only")

# Stands in for Spark's module, behind the same name: tells what kind of process it is in.
RUNNER = """
import json, os, sys, time
LOADED_BY = os.getpid()

def get_sock_file_to_executor(timeout):
    import contextlib
    return contextlib.nullcontext()

def main(*streams):
    import extra
    told = {"forked": LOADED_BY != os.getpid(), "argv": sys.argv, "cwd": os.getcwd(), "path": extra.__file__,
            "variable": os.environ.get("GIVEN"), "own": os.environ.get("OF_SERVER"), "input": sys.stdin.readline()}
    print(json.dumps(told), flush=True)
    print("complaint", file=sys.stderr, flush=True)
    if os.environ.get("STAYS"):
        time.sleep(600)
    sys.exit(7)

if __name__ == "__main__":
    main()
"""
NAME = SOURCE_RUNNER


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A PySpark with nothing but the modules that the server imports."""
    folder = tmp_path / "made"
    for name in ("", "sql", "sql/streaming", "sql/worker"):
        (folder / "pyspark" / name).mkdir(parents=True, exist_ok=True)
        (folder / "pyspark" / name / "__init__.py").touch()
    (folder / "pyspark/sql/streaming/python_streaming_source_runner.py").write_text(RUNNER)
    for name in ("create_data_source", "lookup_data_sources"):
        (folder / f"pyspark/sql/worker/{name}.py").touch()
    extra = tmp_path / "extra of the process"
    extra.mkdir()
    (extra / "extra.py").touch()
    return folder


@pytest.fixture
def variables(package: Path, tmp_path: Path) -> dict[str, str]:
    """What Java has; the server's own are a little different."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    source = str(Path(__file__).parents[3] / "src")
    return {**kept, "PYTHONPATH": os.pathsep.join([str(package), source]), "PENSTOCK_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def server(
    tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    path = str(tmp_path_factory.mktemp("s") / "fork")
    # Without Penstock's own modules, which would want the whole of PySpark.
    code = (
        f"import sys; import {fork_server.__name__} as f; "
        f"f._PRELOADED_OWN = (); sys.argv = ['fork_server', {path!r}]; f.main()"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        env={**variables, "OF_SERVER": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        wait_until(lambda: os.path.exists(path) or started.poll() is not None, "the server listens")
        assert started.poll() is None
        yield path, started
    finally:
        assert started.stdin is not None
        started.stdin.close()
        started.wait(30)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(fork_client.__file__), sys.executable, *words]


def _given(path: str, variables: dict[str, str], **more: str) -> dict[str, str]:
    extra = str(Path(variables["PENSTOCK_CACHE"]).parent / "extra of the process")
    python_path = os.pathsep.join([variables["PYTHONPATH"], extra])
    return {**variables, "PYTHONPATH": python_path, fork_client.VARIABLE: path, "GIVEN": "x", **more}


def _told(path: str, variables: dict[str, str], folder: Path, **more: str) -> tuple[dict[str, object], int, str]:
    ended = subprocess.run(
        _command("-m", NAME, "word"),
        env=_given(path, variables, **more),
        cwd=folder,
        input="typed\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return json.loads(ended.stdout), ended.returncode, ended.stderr


@contextmanager
def _staying(path: str, variables: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A client whose process has begun, and stays."""
    with subprocess.Popen(
        _command("-m", NAME),
        env=_given(path, variables, STAYS="1"),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline()
        yield client


def test_a_forked_process_is_as_a_started_one(
    server: tuple[str, subprocess.Popen[bytes]], variables: dict[str, str], tmp_path: Path
) -> None:
    told, code, complaint = _told(server[0], variables, tmp_path)
    assert told.pop("forked")
    plain, plain_code, plain_complaint = _told("/nowhere", variables, tmp_path)
    assert not plain.pop("forked"), "without a server it is started"
    assert (code, complaint) == (plain_code, plain_complaint) == (7, "complaint\n")
    for each in (told, plain):
        each["argv"] = each["argv"][1:]  # type: ignore[index]  # before them is the name of the program
    assert told == plain
    assert (told["input"], told["variable"], told["own"], told["cwd"]) == ("typed\n", "x", None, str(tmp_path))


def test_one_after_another_and_at_once(
    server: tuple[str, subprocess.Popen[bytes]], variables: dict[str, str], tmp_path: Path
) -> None:
    running = [
        subprocess.Popen(
            _command("-m", NAME),
            env=_given(server[0], variables),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(5)
    ]
    assert [each.wait(60) for each in running] == [7] * 5
    assert _told(server[0], variables, tmp_path)[0]["forked"]


@pytest.mark.parametrize("more", [{"PYTHONHASHSEED": "3"}, {"PYTHONUTF8": "1"}])
def test_what_python_reads_at_its_start_has_to_be_the_same(
    server: tuple[str, subprocess.Popen[bytes]], variables: dict[str, str], tmp_path: Path, more: dict[str, str]
) -> None:
    assert not _told(server[0], variables, tmp_path, **more)[0]["forked"]


def test_other_programs_are_started(server: tuple[str, subprocess.Popen[bytes]], variables: dict[str, str]) -> None:
    command = _command("-c", "print('by itself')")
    assert subprocess.check_output(command, env=_given(server[0], variables), text=True) == "by itself\n"


def test_the_end_of_a_client_is_that_of_its_process(
    server: tuple[str, subprocess.Popen[bytes]], variables: dict[str, str], tmp_path: Path
) -> None:
    with _staying(server[0], variables, tmp_path) as client:
        assert client.stdout is not None
        client.send_signal(signal.SIGTERM)
        assert client.stdout.read() == b"", "the process has the other end until it is gone"
    assert _told(server[0], variables, tmp_path)[0]["forked"], "the server goes on"


def test_a_process_that_is_killed_tells_its_client(
    server: tuple[str, subprocess.Popen[bytes]], variables: dict[str, str], tmp_path: Path
) -> None:
    with _staying(server[0], variables, tmp_path) as client:
        assert client.stdout is not None
        (forked,) = Path(f"/proc/{server[1].pid}/task/{server[1].pid}/children").read_text().split()
        os.kill(int(forked), signal.SIGKILL)
        assert client.wait(60) == 128 + signal.SIGKILL


def test_nonsense_does_not_end_the_server(
    server: tuple[str, subprocess.Popen[bytes]], variables: dict[str, str], tmp_path: Path
) -> None:
    for words in (b"", b"x", b"\0" * 8, b"\0\0\0\0\0\0\0\3abc"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
            stranger.connect(server[0])
            stranger.sendall(words)
    assert _told(server[0], variables, tmp_path)[0]["forked"]


def test_it_ends_with_whoever_started_it(server: tuple[str, subprocess.Popen[bytes]]) -> None:
    assert server[1].stdin is not None
    server[1].stdin.close()
    assert server[1].wait(30) == 0


def test_the_script_of_the_workers_asks_for_what_can_be_forked(
    server: tuple[str, subprocess.Popen[bytes]],
    variables: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", variables["PENSTOCK_CACHE"])
    script = worker_python(is_local=True)

    def is_forked(**more: str) -> bool:
        shown = subprocess.run(
            [script, "-m", NAME],
            env=_given(server[0], variables, **more),
            cwd=tmp_path,
            input="",
            capture_output=True,
            text=True,
            check=False,
        )
        return bool(json.loads(shown.stdout)["forked"])

    assert is_forked()
    assert not is_forked(**{fork_client.VARIABLE: ""})
    text = Path(script).read_text()
    assert f'"-m {NAME}" | "-m {QUIET_DAEMON}"' in text
