"""Damaged and missing files of a checkpoint directory: when a job does without them, and when it refuses to start."""

from __future__ import annotations

import logging
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.checkpoint.directory import SealsOnly
from penstock.checkpoint.seal import decode_seal, encode_seal
from penstock.engine.spark.log_repair import SparkLogs, repair_logs
from penstock.engine.spark.spark_logs import logged, read_offsets
from penstock.errors import CheckpointError
from penstock.runtime.report import SubtaskEntry
from penstock.state.versions import EMPTY, SubtaskState

NEWEST = 3


class Job:
    """The directory of a job that has run four batches: version N gives key 0 the value N; every version has a file."""

    def __init__(self, path: Path, *, done: int, output: bool = False) -> None:
        self.path = path
        self.directory = CheckpointDirectory(str(path))
        self.directory.adopt("job", {"vertices": []})
        self.directory.take_over(SparkLogs())
        state = EMPTY
        for version in range(NEWEST + 1):
            opened = self.state(state)
            opened.store.put(b"k", bytes([version]))
            state = opened.commit()
            self.log("offsets", version)
            committables = {"sink": ["a file"]} if output else {}
            self.directory.write_seal(Seal(version, {("u", 0): SubtaskEntry(state)}, committables))
            if version <= done:
                self.log("commits", version)

    def state(self, base: object) -> SubtaskState:
        folder = self.directory.state_path("u", 0)
        return SubtaskState.open(fs.LocalFileSystem(), folder, base, local_path=None)  # type: ignore[arg-type]

    def log(self, name: str, number: int) -> None:
        folder = self.path / "spark" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).write_text("v1\n{}\n{}")

    def seal_file(self, version: int) -> Path:
        return self.path / "penstock" / "seals" / f"{version:020d}.seal"

    def state_file(self, version: int) -> Path:
        """The file that a version added."""
        seal = self.directory.read_seal(version)
        assert seal is not None
        return Path(self.directory.state_path("u", 0)) / seal.entry("u", 0).state.files[-1].name

    def start(self, *, with_spark: bool = True) -> tuple[int, int]:
        """The version that a new process goes on from, and what its state holds."""
        directory = CheckpointDirectory(str(self.path))
        directory.take_over(SparkLogs() if with_spark else SealsOnly())
        newest = directory.sealed_versions()[-1]
        seal = directory.read_seal(newest)
        assert seal is not None
        with self.state(seal.entry("u", 0).state) as state:
            return newest, (state.store.get(b"k") or b"")[0]


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x01
    file.write_bytes(data)


def deleted(file: Path) -> None:
    file.unlink()


def emptied(file: Path) -> None:
    file.write_bytes(b"")


Damage = Callable[[Path], None]
every_damage = pytest.mark.parametrize("damage", [truncated, flipped, deleted, emptied])


@pytest.fixture
def unfinished(tmp_path: Path) -> Job:
    return Job(tmp_path, done=NEWEST - 1)


@pytest.fixture
def finished(tmp_path: Path) -> Job:
    return Job(tmp_path, done=NEWEST)


def test_without_damage_the_newest_version_is_used(finished: Job) -> None:
    assert finished.start() == (NEWEST, NEWEST)


# The batch is run again anyway


@every_damage
def test_a_damaged_seal_of_a_batch_that_is_run_again_is_set_aside(
    unfinished: Job, damage: Damage, caplog: pytest.LogCaptureFixture
) -> None:
    file = unfinished.seal_file(NEWEST)
    damage(file)
    with caplog.at_level(logging.WARNING, "penstock"):
        assert unfinished.start() == (NEWEST - 1, NEWEST - 1)
    if damage is not deleted:  # a seal that is not there is none
        assert f"version {NEWEST} is damaged ({file}" in caplog.text
        assert f"runs again from version {NEWEST - 1}" in caplog.text


@every_damage
def test_a_damaged_state_file_of_a_batch_that_is_run_again_is_done_without(
    unfinished: Job, damage: Damage, caplog: pytest.LogCaptureFixture
) -> None:
    file = unfinished.state_file(NEWEST)
    damage(file)
    with caplog.at_level(logging.WARNING, "penstock"):
        assert unfinished.start() == (NEWEST - 1, NEWEST - 1)
    assert str(file) in caplog.text and f"version {NEWEST} is damaged" in caplog.text
    assert not file.exists(), "no seal names it any more"
    assert unfinished.start() == (NEWEST - 1, NEWEST - 1), "a later start has nothing to complain of"


def test_the_batch_can_be_sealed_again_after_its_damaged_seal_was_set_aside(unfinished: Job) -> None:
    truncated(unfinished.seal_file(NEWEST))
    directory = CheckpointDirectory(str(unfinished.path))
    directory.take_over(SparkLogs())
    seal = directory.read_seal(NEWEST - 1)
    assert seal is not None
    with unfinished.state(seal.entry("u", 0).state) as state:
        state.store.put(b"k", b"\x09")
        directory.write_seal(Seal(NEWEST, {("u", 0): SubtaskEntry(state.commit())}))
    unfinished.log("commits", NEWEST)
    assert unfinished.start() == (NEWEST, 9)


def test_the_first_batch_is_run_again_from_the_empty_beginning(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path))
    directory.adopt("job", {"vertices": []})
    directory.take_over(SparkLogs())
    directory.write_seal(Seal(0))
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "0").write_text("v1\n{}\n{}")
    truncated(tmp_path / "penstock" / "seals" / f"{0:020d}.seal")
    CheckpointDirectory(str(tmp_path)).take_over(SparkLogs())
    assert directory.sealed_versions() == []


def test_a_job_that_took_over_state_has_no_empty_beginning(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path))
    directory.adopt("job", {"vertices": []}, {"u": 128})
    directory.take_over()
    directory.write_seal(Seal(0))
    truncated(tmp_path / "penstock" / "seals" / f"{0:020d}.seal")
    with pytest.raises(CheckpointError, match="version 0 is damaged"):
        CheckpointDirectory(str(tmp_path)).take_over()


def test_without_sparks_logs_only_the_newest_version_can_be_run_again(unfinished: Job) -> None:
    shutil.rmtree(unfinished.path / "spark")
    flipped(unfinished.state_file(NEWEST))
    assert unfinished.start(with_spark=False) == (NEWEST - 1, NEWEST - 1)


def test_an_engine_whose_versions_have_gaps_goes_on_from_the_one_before(unfinished: Job) -> None:
    shutil.rmtree(unfinished.path / "spark")
    unfinished.seal_file(NEWEST - 1).unlink()
    flipped(unfinished.state_file(NEWEST))
    assert unfinished.start(with_spark=False) == (NEWEST - 2, NEWEST - 2)


@pytest.mark.parametrize("damage", [truncated, deleted])
def test_two_damaged_versions_are_too_many(unfinished: Job, damage: Damage) -> None:
    truncated(unfinished.seal_file(NEWEST))
    damage(unfinished.state_file(NEWEST - 1))
    with pytest.raises(CheckpointError, match=rf"version {NEWEST} is damaged.*an intact version \(1\)"):
        unfinished.start()


# Its output may be out


@every_damage
def test_a_batch_whose_output_may_be_published_is_not_run_again(tmp_path: Path, damage: Damage) -> None:
    job = Job(tmp_path, done=NEWEST - 1, output=True)
    damage(job.state_file(NEWEST))
    with pytest.raises(CheckpointError, match=r"output may already be published.*an intact version \(1, 2\)"):
        job.start()


@pytest.mark.parametrize("damage", [truncated, flipped, emptied])
def test_a_seal_that_did_not_reach_the_disk_had_nothing_published(tmp_path: Path, damage: Damage) -> None:
    job = Job(tmp_path, done=NEWEST - 1, output=True)
    damage(job.seal_file(NEWEST))
    assert job.start() == (NEWEST - 1, NEWEST - 1)


def test_a_seal_is_on_the_disk_before_anybody_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = CheckpointDirectory(str(tmp_path))
    directory.adopt("job", {"vertices": []})
    directory.take_over(SparkLogs())
    synced: list[tuple[str, bool]] = []
    seal = tmp_path / "penstock" / "seals" / f"{0:020d}.seal"

    def note(descriptor: int) -> None:
        synced.append((os.readlink(f"/proc/self/fd/{descriptor}"), seal.exists()))

    monkeypatch.setattr(os, "fsync", note)
    directory.write_seal(Seal(0, committables={"sink": ["a file"]}))
    (file, was_named), (folder, is_named) = synced
    assert Path(file).name.startswith(f"{seal.name}.") and not was_named, "the content comes first"
    assert folder == str(seal.parent) and is_named, "then the name"
    synced.clear()
    directory.write_seal(Seal(1))
    assert synced == [], "it takes milliseconds, and without output there is nothing to lose"


# The batch is done


@pytest.mark.parametrize("damage", [truncated, flipped, emptied])
def test_a_damaged_seal_of_a_batch_that_is_done_stops_the_start(finished: Job, damage: Damage) -> None:
    file = finished.seal_file(NEWEST)
    damage(file)
    with pytest.raises(CheckpointError) as refused:
        finished.start()
    assert f"version {NEWEST} is damaged: {file}" in str(refused.value)
    assert "an intact version (1, 2)" in str(refused.value)
    assert "restore the files from a copy" in str(refused.value)


def test_a_missing_seal_of_a_batch_that_is_done_stops_the_start(finished: Job) -> None:
    deleted(finished.seal_file(NEWEST))
    with pytest.raises(CheckpointError, match=f"no state for batch {NEWEST}"):
        finished.start()


@pytest.mark.parametrize("damage", [truncated, deleted, emptied])
@pytest.mark.parametrize("version", [0, NEWEST])
def test_a_damaged_state_file_of_a_batch_that_is_done_stops_the_start(
    finished: Job, damage: Damage, version: int
) -> None:
    seal = finished.directory.read_seal(NEWEST)
    assert seal is not None
    file = Path(finished.directory.state_path("u", 0)) / seal.entry("u", 0).state.files[version].name
    damage(file)
    with pytest.raises(CheckpointError) as refused:
        finished.start()
    assert f"state file {file}" in str(refused.value)
    # All versions need the snapshot that version 0 wrote.
    assert ("an intact version (1, 2)" in str(refused.value)) == (version == NEWEST)
    assert file.exists() or damage is deleted, "a refused start deletes nothing"


def test_a_flipped_bit_in_the_state_of_a_batch_that_is_done_is_found_when_it_is_read(finished: Job) -> None:
    flipped(finished.state_file(NEWEST))
    with pytest.raises(CheckpointError, match=r"its checksum does not match.*restore it from a copy"):
        finished.start()


def test_going_back_as_the_text_says_works(finished: Job) -> None:
    deleted(finished.state_file(NEWEST))
    for file in (
        finished.seal_file(NEWEST),
        finished.path / "spark" / "commits" / str(NEWEST),
        finished.path / "spark" / "offsets" / str(NEWEST),
    ):
        file.unlink()
    assert finished.start() == (NEWEST - 1, NEWEST - 1)


# Older versions


def test_damage_of_an_older_version_is_no_reason_not_to_start(finished: Job, caplog: pytest.LogCaptureFixture) -> None:
    flipped(finished.seal_file(NEWEST - 1))
    with caplog.at_level(logging.WARNING, "penstock"):
        assert finished.start() == (NEWEST, NEWEST)
    assert f"version {NEWEST - 1} cannot be restored" in caplog.text


def test_a_damaged_older_seal_goes_in_its_turn(finished: Job) -> None:
    flipped(finished.seal_file(NEWEST - 1))
    directory = CheckpointDirectory(str(finished.path))
    directory.take_over(SparkLogs())
    for version in range(NEWEST + 1, NEWEST + 4):
        directory.write_seal(Seal(version))
    assert directory.sealed_versions() == [NEWEST + 1, NEWEST + 2, NEWEST + 3]


# Deleting


def test_a_discarded_directory_can_be_used_by_another_job(finished: Job) -> None:
    directory = CheckpointDirectory(str(finished.path))
    directory.take_over(SparkLogs())
    directory.discard()
    assert list(finished.path.iterdir()) == []
    CheckpointDirectory(str(finished.path)).adopt("other", {"vertices": []})


def test_a_directory_that_was_taken_over_is_not_discarded(finished: Job) -> None:
    assert finished.start() == (NEWEST, NEWEST)
    finished.directory.discard()
    assert finished.start() == (NEWEST, NEWEST)


@pytest.mark.parametrize("is_adopting", [True, False])
def test_a_flipped_bit_in_the_job_file_is_found(tmp_path: Path, is_adopting: bool) -> None:
    directory = CheckpointDirectory(str(tmp_path))
    plan = {"vertices": [{"uid": "u", "name": "n", "parallelism": 1, "max_parallelism": 128, "operators": []}]}
    directory.adopt("job", plan)
    path = tmp_path / "penstock" / "job.json"
    whole = path.read_bytes()
    job = directory.read_job()
    unseen: list[dict[str, Any] | None] = []
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 7
        path.write_bytes(damaged)
        try:
            if is_adopting:
                directory.adopt("job", plan)
            unseen.append(directory.read_job())
        except CheckpointError as error:
            assert "job.json" in str(error)
    # What goes unseen is a blank between values, or the name of the checksum itself.
    assert job is not None
    kept = [job[key] for key in ("format", "job_id", "job_name", "plan")]
    for found in unseen:
        assert found is not None
        assert [found[key] for key in ("format", "job_id", "job_name", "plan")] == kept


@pytest.mark.parametrize("size", [2**63, 2**62, 10**12, 1])
def test_a_seal_that_claims_another_size_is_refused(size: int) -> None:
    data = encode_seal(Seal(1, {}))
    content = size.to_bytes(8, "big") + data[20:]
    forged = data[:8] + zlib.crc32(content).to_bytes(4, "big") + content
    with pytest.raises(CheckpointError, match=r"7\.seal is damaged"):
        decode_seal(forged, "7.seal")


def test_positions_that_are_no_text_are_refused_with_their_file(tmp_path: Path) -> None:
    job = Job(tmp_path, done=2)
    path = tmp_path / "spark" / "offsets" / "3"
    path.write_bytes(b"v1\n{}\n\xff\xfe")
    with pytest.raises(CheckpointError, match=r"offsets/3 is damaged: it is no text"):
        read_offsets(job.directory, 3)


def test_torn_positions_of_a_batch_that_is_not_sealed_are_left_out(tmp_path: Path) -> None:
    job = Job(tmp_path, done=2)
    path = tmp_path / "spark" / "offsets" / str(NEWEST + 1)
    path.write_bytes(b'v1\n{}\n{"a": [1, \xff')
    repair_logs(job.directory)
    assert not path.exists()
    assert logged(job.directory, "offsets") == list(range(NEWEST + 1))
