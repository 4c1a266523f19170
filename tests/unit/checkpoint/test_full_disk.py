"""A disk that is full: told with the path, the space that is left and what to do, and nothing half-written stays."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.common import Configuration
from penstock.common.restart_strategy import RestartStrategies
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobFailedError, StorageFullError
from penstock.state.files import write_entries
from penstock.storage.disk_space import full_disk, is_full_disk, told_if_full
from tests.unit.checkpoint.test_directory import adopted


class FullDisk:
    """A file system on which nothing can be written any more; what is opened is there, and empty."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def open_output_stream(self, path: str, **options: Any) -> Any:
        self._real.open_output_stream(path).close()
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")


def test_a_seal_that_finds_no_space_names_its_path_and_leaves_nothing(tmp_path: Path) -> None:
    directory = adopted(tmp_path)
    directory.write_seal(Seal(0))
    directory.filesystem = FullDisk(directory.filesystem)  # type: ignore[assignment]
    with pytest.raises(
        StorageFullError, match=rf"no space is left to write {tmp_path}.*seal.* are free.*Free some space"
    ):
        directory.write_seal(Seal(1))
    assert not list(tmp_path.rglob("*.tmp"))
    assert CheckpointDirectory(str(tmp_path)).sealed_versions() == [0]


def test_a_directory_on_a_full_disk_is_refused_with_its_path(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path / "ck"))
    directory.filesystem = FullDisk(directory.filesystem)  # type: ignore[assignment]
    with pytest.raises(StorageFullError, match=r"job\.json"):
        directory.adopt("job", {"vertices": []})


def test_a_state_file_that_finds_no_space_names_its_path_and_leaves_nothing(tmp_path: Path) -> None:
    directory = adopted(tmp_path)
    folder = tmp_path / "state"
    folder.mkdir()
    with pytest.raises(StorageFullError, match=rf"no space is left to write {folder}/x\.changes "):
        write_entries(FullDisk(directory.filesystem), f"{folder}/x.changes", [(b"k", b"v")])
    assert not list(folder.iterdir())


def test_other_errors_pass_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), told_if_full(str(tmp_path)):
        raise PermissionError(errno.EACCES, "no")
    assert is_full_disk(RuntimeError("java.io.IOException: No space left on device"))
    assert is_full_disk(OSError(errno.EDQUOT, "quota"))
    assert not is_full_disk(OSError(errno.EIO, "broken"))
    assert "the free space is unknown" not in str(full_disk(f"file://{tmp_path}/a/b"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of half a megabyte, where this machine lets us have one."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only the superuser can mount a disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def build(checkpoint: Path) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"penstock.engine": "in-process", "penstock.in-process.seed": "1"})
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(1)
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 10))
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(checkpoint))
    stream = environment.from_collection([(n, n % 7) for n in range(200)])
    stream.key_by(lambda each: each[1]).reduce(lambda a, b: (a[0] + b[0], a[1])).print()
    return environment


def test_a_job_on_a_full_disk_ends_at_once_and_goes_on_when_there_is_space(small_disk: Path) -> None:
    checkpoint = small_disk / "ck"
    client: Any = build(checkpoint).execute_async("full")
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as stream, pytest.raises(OSError, match="No space left"):
        while True:
            stream.write(b"x" * 1024)
    with pytest.raises((StorageFullError, JobFailedError), match=r"no space is left to write .*/small/ck/.*0 bytes of"):
        client.wait()
    assert not list((checkpoint / "penstock").rglob("*.tmp"))
    ballast.unlink()
    build(checkpoint).execute("full")
    assert CheckpointDirectory(str(checkpoint)).sealed_versions()
