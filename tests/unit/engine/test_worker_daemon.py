"""The daemon that Spark's workers are forked from: when it is used, and what it does where it cannot prepare them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.engine.spark.startup import quiet_daemon, worker_daemon
from penstock.engine.spark.startup.session_config import session_config


class Replaced(Exception):
    """Stands for a process that has become another program."""


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened: "one thread" and "manager", or the command that the process became."""
    happened: list[str] = []

    def replace(_: str, command: list[str]) -> None:
        happened.extend(command[1:])
        raise Replaced

    monkeypatch.setattr(os, "execv", replace)
    monkeypatch.setattr(sys, "argv", ["worker_daemon", "pyspark.worker"])
    monkeypatch.setattr(worker_daemon, "gc", SimpleNamespace(collect=lambda: None, freeze=lambda: None))
    monkeypatch.setattr(worker_daemon, "preload", lambda: None)
    modules = SimpleNamespace(
        manage_workers=lambda: happened.append("manager"), read_without_threads=lambda: happened.append("one thread")
    )
    monkeypatch.setattr(worker_daemon, "import_module", lambda name: modules)
    return happened


def test_it_is_the_daemon_when_all_is_well(daemon: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_daemon, "other_threads", list)
    worker_daemon.main()
    assert daemon == ["one thread", "manager"]


def test_threads_that_a_fork_would_leave_behind_make_it_the_plain_one(
    daemon: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_daemon, "other_threads", lambda: ["pool"])
    with pytest.raises(Replaced):
        worker_daemon.main()
    assert daemon == ["-m", "pyspark.daemon", "pyspark.worker"]


def test_a_failing_import_makes_it_the_plain_one(
    daemon: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ImportError("no pandas here")

    monkeypatch.setattr(worker_daemon, "preload", fail)
    with pytest.raises(Replaced):
        worker_daemon.main()
    assert daemon == ["-m", "pyspark.daemon", "pyspark.worker"]
    said = capfd.readouterr()
    assert "no pandas here" in said.err
    assert said.out == ""  # Spark reads a port number there


def test_only_threads_that_survive_a_fork_are_overlooked(tmp_path: Path) -> None:
    for number, name in ((os.getpid(), "python"), (1, "jemalloc_bg_thd"), (2, "pool")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "comm").write_text(f"{name}\n")
    assert worker_daemon.other_threads(tmp_path) == ["pool"]


@pytest.mark.parametrize(
    ("master", "platform", "is_used"),
    [
        ("local[2,4]", "linux", True),
        ("local[2]", "darwin", False),
        ("local-cluster[2,1,1024]", "linux", False),
        ("spark://host:7077", "linux", False),
        ("yarn", "linux", False),
    ],
)
def test_it_is_used_where_workers_have_what_the_driver_has(
    master: str, platform: str, is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    made = session_config({"spark.master": master}, {})
    assert made.settings.get("spark.python.daemon.module") == (worker_daemon.__name__ if is_used else None)


def test_a_worker_whose_java_has_hung_up_ends_without_a_stack() -> None:
    def hung_up(*_: object) -> int:
        raise BrokenPipeError

    assert quiet_daemon.ended_quietly(hung_up)(None, True) == 1
    assert quiet_daemon.ended_quietly(lambda *given: len(given))("socket", "authenticated") == 2


def test_a_worker_that_fails_otherwise_says_so() -> None:
    def failing(*_: object) -> int:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        quiet_daemon.ended_quietly(failing)()
