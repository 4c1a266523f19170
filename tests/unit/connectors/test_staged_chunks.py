"""Staged chunks are what their writers left, or nothing is published: cut, changed, gone, before and after a crash."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.files import committer as file_committer
from penstock.connectors.files.committer import PublishFile
from penstock.connectors.files.rolling import RollingPolicy
from penstock.connectors.files.sink import STAGING
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.errors import JobFailedError, SinkError
from penstock.storage import durable_files
from penstock.testing.crashes import InjectedCrash
from tests.unit.connectors.file_sink_job import FileSinkJob, published, staged

ON_CHECKPOINT = RollingPolicy.on_checkpoint_rolling_policy()
FORMATS: dict[str, Callable[..., FileSink]] = {
    "text": FileSink.text,
    "json": FileSink.json,
    "csv": FileSink.csv,
    "parquet": FileSink.parquet,
}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def gone(path: Path) -> None:
    path.unlink()


DAMAGE = [(cut, "bytes instead of"), (emptied, "has 0 bytes"), (longer, "bytes instead of"), (flipped, "checksum")]
DAMAGE += [(gone, "is gone")]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("damage", "words"), DAMAGE, ids=lambda each: getattr(each, "__name__", None))
def test_a_damaged_file_is_not_published_nor_are_the_others(base: Path, kind: str, damage: Any, words: str) -> None:
    job = FileSinkJob(FORMATS[kind](base, rolling_policy=ON_CHECKPOINT))
    committables = job.attempt([[[{"id": 1}]], [[{"id": 2}]]])
    assert committables is not None
    victim = base / committables[1].staged
    saved = victim.read_bytes()
    damage(victim)
    for publish in (job.sink.create_committer().commit, job.sink.create_committer().commit_again):
        with pytest.raises(SinkError, match=words) as refused:
            publish(committables)
        assert str(victim) in str(refused.value) and "Restore" in str(refused.value)
        assert published(base) == []
    victim.write_bytes(saved)  # what the message says
    job.sink.create_committer().commit_again(committables)
    assert len(published(base)) == 2 and staged(base) == []


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("damage", "words"), DAMAGE, ids=lambda each: getattr(each, "__name__", None))
def test_a_damaged_chunk_of_an_earlier_batch_is_not_merged(base: Path, kind: str, damage: Any, words: str) -> None:
    job = FileSinkJob(FORMATS[kind](base, rolling_policy=RollingPolicy.default_rolling_policy()), parallelism=1)
    job.batch([[[{"id": 1}]]])
    (chunk,) = staged(base)
    damage(chunk)
    with pytest.raises(SinkError, match=rf"'orders' cannot finish a file .*{words}"):
        job.attempt([[[{"id": 2}]]], end=True)
    assert published(base) == []


@pytest.mark.parametrize(("damage", "words"), DAMAGE, ids=lambda each: getattr(each, "__name__", None))
def test_a_damaged_chunk_is_not_copied_to_a_savepoint(base: Path, damage: Any, words: str) -> None:
    job = FileSinkJob(FileSink.text(base, rolling_policy=RollingPolicy.default_rolling_policy()), parallelism=1)
    job.batch([[["a"]]])
    (chunk,) = staged(base)
    damage(chunk)
    (file,) = job.sink.unfinished_files("orders", job.loaded(0))
    with pytest.raises(SinkError, match=words):
        file.copy_to(None)


def test_a_copy_that_came_with_a_savepoint_is_compared_too(base: Path, tmp_path: Path) -> None:
    old = FileSinkJob(FileSink.text(tmp_path / "old", rolling_policy=RollingPolicy.default_rolling_policy()), 1)
    old.batch([[["a"]]])
    job = FileSinkJob(FileSink.text(base), parallelism=1)
    (file,) = old.sink.unfinished_files("orders", old.loaded(0))
    copy = job.sink.publication(job.contexts[0], 0, file)
    flipped(base / copy.staged)
    with pytest.raises(SinkError, match="checksum"):
        job.sink.create_committer().commit_again([copy])


def test_after_a_crash_in_the_middle_the_rest_is_still_compared(base: Path) -> None:
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT))
    committables = job.attempt([[["a"]], [["b"]]])
    assert committables is not None
    with pytest.MonkeyPatch.context() as patched, pytest.raises(InjectedCrash):
        patched.setattr(file_committer.PublishFile, "apply", _dies_at_the_second(PublishFile.apply))
        job.sink.create_committer().commit(committables)
    assert len(published(base)) == 1
    cut(base / committables[1].staged)
    with pytest.raises(SinkError, match="bytes instead of"):
        job.sink.create_committer().commit_again(committables)
    assert len(published(base)) == 1


def _dies_at_the_second(apply: Callable[..., None]) -> Callable[..., None]:
    done: list[Any] = []

    def dying(self: PublishFile, storage: Any) -> None:
        if done:
            raise InjectedCrash("between two files")
        done.append(self)
        apply(self, storage)

    return dying


def test_a_published_file_that_a_reader_took_is_told(base: Path, caplog: pytest.LogCaptureFixture) -> None:
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT), parallelism=1)
    committables = job.batch([[["a"]]])
    (file,) = published(base)
    file.unlink()
    with caplog.at_level(logging.WARNING):
        job.sink.create_committer().commit_again(committables)
    assert str(file) in caplog.text


def test_much_is_compared_by_workers(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_committer, "_READ_HERE_BYTES", 3)
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT))
    committables = job.attempt([[["a"]], [["b"]]])
    orders: list[Any] = []

    def run(work: Callable[[Any], Any], given: list[Any]) -> list[Any]:
        orders.extend(given)
        return [work(order) for order in given]

    committer = job.sink.create_committer()
    assert committer is not None and committables is not None
    committer.use_workers(run)
    flipped(base / committables[1].staged)
    with pytest.raises(SinkError, match="checksum"):
        committer.commit(committables)
    assert orders == committables


def test_what_an_older_version_staged_is_published(base: Path) -> None:
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT), parallelism=1)
    committables = job.attempt([[["a"]]])
    assert committables is not None
    older = PublishFile.__new__(PublishFile)
    older.__dict__.update({name: getattr(committables[0], name) for name in ("staged", "final", "merged")})
    job.sink.create_committer().commit_again([older])
    assert len(published(base)) == 1
    job.sink.create_committer().commit_again([older])  # it left no note that it had begun
    assert len(published(base)) == 1


@pytest.mark.parametrize("buckets", [1, 20])
def test_files_are_on_the_disk_before_they_are_reported_and_names_before_the_next_seal(
    base: Path, buckets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr("penstock.storage.places.sync_local", lambda paths: synced.extend(paths))
    assigner = file_sink_buckets(buckets)
    job = FileSinkJob(FileSink.text(base, rolling_policy=ON_CHECKPOINT, bucket_assigner=assigner), parallelism=1)
    committables = job.attempt([[list(range(buckets))]])
    assert committables is not None
    for item in committables:
        assert str(base / item.staged) in synced and str((base / item.staged).parent) in synced
    synced.clear()
    job.sink.create_committer().commit(committables)
    assert {str(path.parent) for path in published(base)} | {str(base)} <= set(synced)


def file_sink_buckets(count: int) -> Any:
    from penstock.datastream.connectors.file_system import BucketAssigner

    return BucketAssigner.by(lambda number: f"bucket={number % count}")


@pytest.mark.parametrize("count", [1, 20])
def test_syncing_works_here(tmp_path: Path, count: int) -> None:
    files = [tmp_path / str(number) for number in range(count)]
    for file in files:
        file.write_text("x")
    durable_files.sync_local([str(tmp_path), *map(str, files)])
    with pytest.raises(FileNotFoundError):
        durable_files.sync_local([str(file) + "?" for file in files])


# ---- in a job ----


@pytest.mark.parametrize(("damage", "words"), DAMAGE, ids=lambda each: getattr(each, "__name__", None))
def test_a_job_that_died_between_seal_and_publication_refuses_a_damaged_file(
    base: Path, monkeypatch: pytest.MonkeyPatch, damage: Any, words: str
) -> None:
    commit = file_committer.FileCommitter.commit

    def dies(self: Any, committables: list[Any]) -> None:
        monkeypatch.setattr(file_committer.FileCommitter, "commit", commit)
        for file in staged(base):
            damage(file)
        raise InjectedCrash("before publishing")

    monkeypatch.setattr(file_committer.FileCommitter, "commit", dies)
    environment = StreamExecutionEnvironment.in_process()
    environment.from_collection(list(range(10))).sink_to(FileSink.text(base, rolling_policy=ON_CHECKPOINT))
    with pytest.raises((JobFailedError, SinkError), match=words):
        environment.execute()
    assert published(base) == []


def test_a_job_that_died_there_publishes_once(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = file_committer.FileCommitter.commit

    def dies(self: Any, committables: list[Any]) -> None:
        monkeypatch.setattr(file_committer.FileCommitter, "commit", commit)
        raise InjectedCrash("before publishing")

    monkeypatch.setattr(file_committer.FileCommitter, "commit", dies)
    environment = StreamExecutionEnvironment.in_process()
    environment.from_collection(list(range(10))).sink_to(FileSink.text(base, rolling_policy=ON_CHECKPOINT))
    environment.execute()
    lines = [int(line) for file in published(base) for line in file.read_text().splitlines()]
    assert sorted(lines) == list(range(10))
    assert not (base / STAGING).exists()
