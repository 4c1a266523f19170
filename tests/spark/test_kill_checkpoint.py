"""What a process that is killed while it writes to the checkpoint directory leaves there harms nobody after it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.engine.spark.log_repair import SparkLogs
from penstock.errors import CheckpointError

FINGERPRINT: dict[str, Any] = {"vertices": []}


class _DyingFileSystem:
    """Kills the process when a file is to get its final name."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def move(self, source: str, target: str) -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("a process survived SIGKILL")


def _work_and_die(work: Callable[[CheckpointDirectory], object], path: str) -> None:
    directory = CheckpointDirectory(path)
    directory.filesystem = _DyingFileSystem(directory.filesystem)
    work(directory)


def die_in(work: Callable[[CheckpointDirectory], object], path: Path) -> None:
    """Do some work on a checkpoint directory in a process that dies at its first rename."""
    process = multiprocessing.get_context("spawn").Process(target=_work_and_die, args=(work, str(path)))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def adopt(directory: CheckpointDirectory) -> str:
    return directory.adopt("job", FINGERPRINT)


def take_over(directory: CheckpointDirectory) -> None:
    directory.take_over(SparkLogs())


def seal_first(directory: CheckpointDirectory) -> None:
    directory.write_seal(Seal(0))


def torn_files(path: Path) -> list[Path]:
    return list(path.rglob("*.tmp"))


def test_a_job_killed_while_it_makes_its_directory_can_be_started_again(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    die_in(adopt, path)
    assert torn_files(path)
    directory = CheckpointDirectory(str(path))
    assert adopt(directory)
    directory.take_over(SparkLogs())
    assert torn_files(path) == []


def test_torn_files_of_seals_and_owners_are_not_read_and_go_with_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    job_id = adopt(CheckpointDirectory(str(path)))
    die_in(take_over, path)
    die_in(seal_first, path)
    assert len(torn_files(path)) == 2
    directory = CheckpointDirectory(str(path))
    assert adopt(directory) == job_id
    directory.take_over(SparkLogs())
    assert directory.read_seal(0) is None
    assert directory.sealed_versions() == []
    assert torn_files(path) == []


@pytest.mark.parametrize("name", ["notes.tmp", "penstock/seals/0.seal", "penstock/owner.1.tmp"])
def test_a_directory_with_anything_else_in_it_is_still_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(CheckpointError, match="is not empty and contains no Penstock job"):
        adopt(CheckpointDirectory(str(tmp_path)))
