"""The process of Spark's workers: it ends when nobody wants it any more, and never under somebody who does."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engine.spark.startup.quiet_daemon import IdleEnd

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is forked on Linux only")


class Daemon:
    """A process with a socket that takes connections, whose children are those of this one."""

    def __init__(self, path: Path) -> None:
        self.path, self.ended = path, 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        self.idle = IdleEnd(self._end)
        self.told = io.BytesIO()
        self.idle.noting_path(lambda text, stream: stream.write(text))(os.fsencode(path), self.told)

    def _end(self) -> None:
        self.ended += 1

    def can_be_reached(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            return client.connect_ex(str(self.path)) == 0


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    made = Daemon(tmp_path / "socket")
    yield made
    made.listener.close()


@pytest.fixture
def has_worker(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether there is a worker, as its last item; the run itself may have children of its own."""
    told = [False]
    monkeypatch.setattr("penstock.engine.spark.startup.quiet_daemon._has_children", lambda: told[-1])
    return told


def test_java_is_told_the_path_all_the_same(daemon: Daemon) -> None:
    assert daemon.told.getvalue() == os.fsencode(daemon.path)


def test_it_ends_after_it_has_been_idle_and_out_of_reach(daemon: Daemon, has_worker: list[bool]) -> None:
    daemon.idle.look()
    assert daemon.can_be_reached()
    daemon.idle.look()
    assert (daemon.can_be_reached(), daemon.ended) == (False, 0)
    daemon.idle.look()
    assert daemon.ended == 1


def test_a_worker_keeps_it(daemon: Daemon, has_worker: list[bool]) -> None:
    for is_there in (True, True, False, True, False):
        has_worker.append(is_there)
        daemon.idle.look()
        assert daemon.can_be_reached()


def test_who_connected_before_it_went_out_of_reach_is_served(daemon: Daemon, has_worker: list[bool]) -> None:
    daemon.idle.look()
    daemon.idle.look()
    has_worker.append(True)  # of a connection that was waiting
    for _ in range(3):
        daemon.idle.look()
    has_worker.append(False)
    daemon.idle.look()
    assert daemon.ended == 0, "idle once only"
    daemon.idle.look()
    assert daemon.ended == 1


def test_without_a_path_it_stays(has_worker: list[bool]) -> None:
    ended: list[bool] = []
    idle = IdleEnd(lambda: ended.append(True))
    for _ in range(5):
        idle.look()
    assert not ended


def test_children_are_noticed() -> None:
    code = (
        "import subprocess, sys\n"
        "from penstock.engine.spark.startup.quiet_daemon import _has_children\n"
        "print(_has_children())\n"
        "child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "print(_has_children())\n"
        "child.communicate()\n"
        "print(_has_children())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "True", "False"]
