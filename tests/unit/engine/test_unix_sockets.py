"""Unix sockets between Java and Python: where they are used, and that their folder is closed to others and removed."""

from __future__ import annotations

import atexit
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.engine.spark.startup import unix_sockets
from penstock.engine.spark.startup.unix_sockets import ENABLED, FOLDER, fits, unix_socket_settings

LONG = "/" + "x" * 80


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Callable[[], object]]:
    """What is done when the process ends; sockets have a short folder to be in."""
    asked: list[Callable[[], object]] = []
    monkeypatch.setattr(atexit, "register", lambda function, *given: asked.append(lambda: function(*given)))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(unix_sockets, "fits", lambda parent: True)
    return asked


def test_the_folder_is_private_and_goes_with_the_process(at_exit: list[Callable[[], object]]) -> None:
    settings = unix_socket_settings({})
    assert settings[ENABLED] == "true"
    folder = Path(settings[FOLDER])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / ".left-by-a-killed-daemon.sock").touch()
    for each in at_exit:
        each()
    assert not folder.exists()


def test_what_the_user_has_chosen_stands(at_exit: list[Callable[[], object]]) -> None:
    assert unix_socket_settings({ENABLED: "false"}) == {}
    assert unix_socket_settings({FOLDER: "/run/sockets"}) == {ENABLED: "true", FOLDER: "/run/sockets"}
    assert not at_exit


def test_a_path_that_is_too_long_for_a_socket_means_tcp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", LONG)
    assert unix_socket_settings({}) == {}


def test_the_limit_is_that_of_the_system() -> None:
    assert fits("/tmp")
    longest = max(length for length in range(1, 100) if fits("/" + "x" * length))
    path = f"/{'x' * longest}/penstock-scratch-s-12345678/.00000000-0000-0000-0000-000000000000.sock"
    assert len(os.fsencode(path)) <= 103
