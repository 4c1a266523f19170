"""Two drivers on one checkpoint directory: whenever the first is paused, it spoils nothing of the second's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory, Seal, exclusive
from penstock.checkpoint import directory as directory_module
from penstock.checkpoint.committing import VersionCommitter
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.errors import SinkError, TakenOverError
from penstock.runtime.report import SubtaskEntry
from tests.unit.checkpoint.test_directory import adopted, plan


def second_driver(path: Path, *, seals: bool) -> Callable[[], None]:
    """The next driver takes the directory over, and perhaps makes the version final that the first is at."""

    def go_on() -> None:
        second = CheckpointDirectory(str(path))
        second.take_over()
        if seals:
            second.write_seal(Seal(1, {("u", 0): SubtaskEntry(watermark=2)}))

    return go_on


def paused_after_the_check(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Let the first driver see that it holds the directory, and then have it taken away."""
    really = CheckpointDirectory.is_held

    def is_held(directory: CheckpointDirectory) -> bool:
        held = really(directory)
        monkeypatch.setattr(CheckpointDirectory, "is_held", really)
        meanwhile()
        return held

    monkeypatch.setattr(CheckpointDirectory, "is_held", is_held)


def paused_after_the_draft(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Let the first driver have its seal on the disk, and then have the directory taken away."""
    really = exclusive.create_exclusively

    def create(*args: Any) -> None:
        monkeypatch.setattr(directory_module, "create_exclusively", really)
        meanwhile()
        really(*args)

    monkeypatch.setattr(directory_module, "create_exclusively", create)


@pytest.mark.parametrize("seals", [True, False], ids=["it has sealed", "it has not sealed yet"])
@pytest.mark.parametrize("paused", [paused_after_the_check, paused_after_the_draft])
def test_a_driver_that_was_paused_cannot_seal_after_the_next_took_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paused: Callable[..., None], seals: bool
) -> None:
    first = adopted(tmp_path)
    first.write_seal(Seal(0))
    paused(monkeypatch, second_driver(tmp_path, seals=seals))
    with pytest.raises(TakenOverError, match="started a second time"):
        first.write_seal(Seal(1, {("u", 0): SubtaskEntry(watermark=1)}))
    found = CheckpointDirectory(str(tmp_path)).read_seal(1)
    assert found is None if not seals else found is not None and found.entry("u", 0).watermark == 2
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_seal_says_who_made_it_and_is_never_written_over(tmp_path: Path) -> None:
    directory = adopted(tmp_path)
    directory.write_seal(Seal(0))
    seal = directory.read_seal(0)
    assert seal is not None
    assert seal.owner == (tmp_path / "penstock" / "owner").read_text()
    with pytest.raises(TakenOverError, match=r"has a seal of version 0 that this process did not write"):
        directory.write_seal(Seal(0, {("u", 0): SubtaskEntry(watermark=1)}))
    assert directory.read_seal(0) == Seal(0)
    directory.write_seal(Seal(0))  # a store that answers twice: it is the same seal


def test_a_version_whose_seal_was_set_aside_is_sealed_again(tmp_path: Path) -> None:
    first = adopted(tmp_path)
    first.write_seal(Seal(0))
    first.write_seal(Seal(1))
    path = tmp_path / "penstock" / "seals" / f"{1:020d}.seal"
    path.write_bytes(path.read_bytes()[:-2])
    second = CheckpointDirectory(str(tmp_path))
    second.take_over()
    second.write_seal(Seal(1))
    assert second.read_seal(1) == Seal(1)


def test_two_first_starts_at_once_agree_on_the_id_of_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids: list[str] = []
    paused_after_the_draft(monkeypatch, lambda: ids.append(CheckpointDirectory(str(tmp_path)).adopt("job", plan())))
    ids.append(CheckpointDirectory(str(tmp_path)).adopt("job", plan()))
    assert ids[0] == ids[1]
    assert not list(tmp_path.rglob("*.tmp"))


def test_what_killed_drivers_left_goes_at_the_next_start(tmp_path: Path) -> None:
    adopted(tmp_path)
    drivers = tmp_path / "penstock" / "drivers"
    for owner in ("one", "two"):
        (drivers / owner).mkdir()
        (drivers / owner / "x.seal.1.tmp").write_text("half")
    (tmp_path / "penstock" / "seals").mkdir(exist_ok=True)
    (tmp_path / "penstock" / "seals" / "old.seal.2.tmp").write_text("of an earlier Penstock")
    directory = CheckpointDirectory(str(tmp_path))
    directory.take_over()
    assert [path.name for path in drivers.iterdir()] == [(tmp_path / "penstock" / "owner").read_text()]
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("error", ["no links", "other store"])
def test_without_links_a_taken_name_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str) -> None:
    """A disk that has no links, or a file system of pyarrow's that is not local: looked at before and after."""
    filesystem: fs.FileSystem = fs.LocalFileSystem()
    if error == "no links":

        def no_links(*args: Any) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(exclusive.os, "link", no_links)
    else:
        filesystem = fs.SubTreeFileSystem("/", filesystem)
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    exclusive.create_exclusively(filesystem, str(tmp_path / "one"), str(tmp_path / "seal"))
    with pytest.raises(FileExistsError):
        exclusive.create_exclusively(filesystem, str(tmp_path / "two"), str(tmp_path / "seal"))
    assert (tmp_path / "seal").read_text() == "one"
    assert not (tmp_path / "one").exists()


# A whole job that is started twice: what it has published is that of one driver


def numbers_to_files(folder: Path, mark: str) -> Any:
    """A job that writes ten numbers, each with the mark of its driver, a few in each batch."""
    keys = {"penstock.engine": "in-process", "penstock.in-process.seed": "1", "penstock.batch.max-records": "3"}
    environment = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(keys))
    environment.set_parallelism(1)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(folder / "ck"))
    sink = FileSink.json(folder / "out", rolling_policy=RollingPolicy.on_checkpoint_rolling_policy())
    environment.from_sequence(0, 9).map(lambda n: {"n": n, "by": mark}).uid("map").sink_to(sink).uid("sink")
    return environment.execute_async("twice")


def published(folder: Path) -> list[tuple[int, str]]:
    lines = [line for path in (folder / "out").glob("*.json") for line in path.read_text().splitlines()]
    return sorted((record["n"], record["by"]) for record in map(json.loads, lines))


def test_a_driver_that_was_paused_before_its_seal_publishes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = numbers_to_files(tmp_path, "first")
    first.run_batch()
    done = published(tmp_path)
    assert done == [(n, "first") for n in range(len(done))]
    paused_after_the_check(monkeypatch, lambda: numbers_to_files(tmp_path, "second").wait())
    with pytest.raises(TakenOverError, match="started a second time"):
        first.run_batch()
    assert published(tmp_path) == [*done, *((n, "second") for n in range(len(done), 10))]


def test_a_driver_that_was_paused_before_it_published_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = numbers_to_files(tmp_path, "first")
    first.run_batch()
    really = VersionCommitter.publish

    def publish(committer: VersionCommitter, seal: Seal) -> None:
        monkeypatch.setattr(VersionCommitter, "publish", really)
        numbers_to_files(tmp_path, "second").wait()  # publishes what the first has sealed, and goes on
        really(committer, seal)

    monkeypatch.setattr(VersionCommitter, "publish", publish)
    with pytest.raises(SinkError, match="is gone"):
        first.run_batch()
    found = published(tmp_path)
    assert [n for n, _ in found] == list(range(10))
    assert {by for _, by in found} == {"first", "second"}
