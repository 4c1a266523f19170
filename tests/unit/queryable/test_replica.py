"""A replica follows its job through retention, damage, restarts and rescaling, and never shows half a version."""

from __future__ import annotations

import os
import shutil
import threading
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.checkpoint import CheckpointDirectory
from penstock.errors import CheckpointError, QueryError, StateError
from penstock.queryable import Replica, StateQuery, answer
from penstock.queryable import following as following_module
from penstock.queryable.store import ReplicaStore
from tests.unit.queryable.jobs import (
    counting_job,
    is_as_expected,
    position_in,
    queried_state,
    records_of,
    run_all,
)

KEYS = [f"k{number}" for number in range(6)]


def state_files(directory: Path) -> list[Path]:
    return sorted(path for path in (directory / "penstock" / "state").rglob("*.*") if path.is_file())


def test_a_replica_that_looks_seldom_catches_up(tmp_path: Path) -> None:
    """Versions between two looks are gone, and snapshots have replaced the files that it had read."""
    records = records_of(700)
    directory = tmp_path / "checkpoint"
    client = counting_job(directory, records, batch=7, state="lmdb")
    rng = Random(5)
    with Replica(str(directory)) as replica:
        seen = []
        while client.run_batch():
            if rng.random() < 0.1:
                assert replica.refresh()
                version, found = queried_state(replica, KEYS)
                is_as_expected(found, records[: position_in(directory, version)])
                seen.append(version)
        replica.refresh()
        is_as_expected(queried_state(replica, KEYS)[1], records)
    assert any(later - earlier > 3 for earlier, later in pairwise(seen)), "retention was never met"


def test_files_that_vanish_while_they_are_read_cost_nothing_but_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job seals, and removes old files, between the seal that is read and its files."""
    records = records_of(400)
    directory = tmp_path / "checkpoint"
    client = counting_job(directory, records)
    for _ in range(3):
        client.run_batch()
    read, overtaken = following_module.read_entries, []

    def overtaken_read(filesystem: Any, path: str) -> Any:
        while not overtaken and os.path.exists(path):
            assert client.run_batch(), "the job has ended before the file was removed"
        overtaken.append(path)
        return read(filesystem, path)

    with Replica(str(directory)) as replica:
        monkeypatch.setattr(following_module, "read_entries", overtaken_read)
        assert not replica.refresh()
        assert "removed while it was read" in str(replica.problem)
        with pytest.raises(QueryError, match="no sealed version that can be read yet"):
            queried_state(replica, KEYS)
        assert replica.refresh()
        assert replica.problem is None
        version, found = queried_state(replica, KEYS)
        is_as_expected(found, records[: position_in(directory, version)])


def test_a_damaged_file_leaves_the_last_good_version_and_is_told(tmp_path: Path) -> None:
    records = records_of(200)
    directory = tmp_path / "checkpoint"
    client = counting_job(directory, records)
    for _ in range(4):
        client.run_batch()
    with Replica(str(directory)) as replica:
        replica.refresh()
        good, found = queried_state(replica, KEYS)
        before = set(state_files(directory))
        client.run_batch()
        (damaged, *_) = set(state_files(directory)) - before
        whole = damaged.read_bytes()
        damaged.write_bytes(whole[:-3] + b"xyz")
        assert not replica.refresh()
        assert queried_state(replica, KEYS) == (good, found)
        problem = answer(replica, StateQuery(keys=["k1"], queryable="counts"))["problem"]
        assert f"version {good + 1} cannot be read" in problem and damaged.name in problem
        assert replica.status().newest_version == good + 1

        assert not replica.refresh()  # known by now, so not read again
        damaged.write_bytes(whole)
        replica._follower.forget_refusals()
        assert replica.refresh()
        assert replica.problem is None
        version, found = queried_state(replica, KEYS)
        assert version == good + 1
        is_as_expected(found, records[: position_in(directory, version)])


def test_a_torn_seal_at_the_start_leads_to_the_version_before(tmp_path: Path) -> None:
    records = records_of(100)
    directory = tmp_path / "checkpoint"
    client = counting_job(directory, records)
    for _ in range(4):
        client.run_batch()
    newest = max((directory / "penstock" / "seals").iterdir())
    newest.write_bytes(newest.read_bytes()[:40])
    with Replica(str(directory)) as replica:
        assert replica.refresh()
        version, found = queried_state(replica, KEYS)
        assert version == 2
        is_as_expected(found, records[: position_in(directory, version)])
        assert "version 3 cannot be read" in str(replica.problem)


def test_the_job_is_down_and_the_directory_out_of_reach(tmp_path: Path) -> None:
    records = records_of(50)
    directory = tmp_path / "checkpoint"
    run_all(counting_job(directory, records))
    with Replica(str(directory), str(tmp_path / "copy")) as replica:
        replica.refresh()
    directory.rename(tmp_path / "elsewhere")
    with Replica(str(directory), str(tmp_path / "copy")) as replica:
        replica.refresh()
        assert "no sealed version any more" in str(replica.problem)
        is_as_expected(queried_state(replica, KEYS)[1], records)
    (tmp_path / "elsewhere").rename(directory)
    with Replica(str(directory), str(tmp_path / "copy")) as replica:
        assert not replica.refresh(), "what is held already was read again"
        assert replica.problem is None


def test_a_directory_that_gets_another_job_shows_that_job(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoint"
    run_all(counting_job(directory, records_of(120)))
    with Replica(str(directory)) as replica:
        replica.refresh()
        first = replica.status()
        shutil.rmtree(directory)
        run_all(counting_job(directory, records_of(20)))
        assert replica.refresh()
        second = replica.status()
        assert first.job_id != second.job_id and (second.version or 0) < (first.version or 0)
        is_as_expected(queried_state(replica, KEYS)[1], records_of(20))


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_a_job_that_was_rescaled_by_a_savepoint(tmp_path: Path, parallelism: int) -> None:
    """It goes on in another directory; asked by name, the one that was sealed last answers."""
    from penstock.queryable.client import QueryableStateClient
    from tests.unit.queryable.jobs import Keeps, Types, environment

    old, new = tmp_path / "jobs" / "old", tmp_path / "jobs" / "new"
    records = records_of(60)
    client = counting_job(old, records)
    for _ in range(4):
        client.run_batch()
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    made = environment(new, settings={"execution.savepoint.path": savepoint})
    made.set_parallelism(parallelism)
    keyed = made.from_collection(records).uid("numbers").key_by(lambda record: record[0], Types.STRING())
    keyed.process(Keeps()).uid("keeps").name("Keep").print()
    going_on = made.execute_async("keeping")
    run_all(going_on)
    with Replica(str(new)) as replica:
        replica.refresh()
        is_as_expected(queried_state(replica, KEYS)[1], records)
    with QueryableStateClient(str(tmp_path / "jobs")) as asked:
        assert len(asked.jobs()) == 2
        assert asked.get("k1", name="counts", job="keeping").value is not None
        assert asked.describe("keeping")["job_id"] == str(going_on.get_job_id())
        assert asked.describe(str(client.get_job_id()))["job_id"] == str(client.get_job_id())


def test_a_reader_sees_one_version_while_the_next_one_is_written(tmp_path: Path) -> None:
    records = records_of(300)
    directory = tmp_path / "checkpoint"
    client = counting_job(directory, records)
    for _ in range(3):
        client.run_batch()
    with Replica(str(directory)) as replica:
        replica.refresh()
        with replica.reading() as (view, content):
            before = [*view.scan(b"")]
            client.run_batch()
            assert replica.refresh()
            assert [*view.scan(b"")] == before
            assert content.version == 2
        with replica.reading() as (view, content):
            assert content.version == 3
            assert [*view.scan(b"")] != before


def test_threads_that_read_while_versions_come_never_see_a_mix(tmp_path: Path) -> None:
    """All states of all keys are read in one transaction; they must fit each other, whatever is written meanwhile."""
    records = records_of(500)
    directory = tmp_path / "checkpoint"
    client = counting_job(directory, records, batch=10)
    client.run_batch()
    problems: list[BaseException] = []
    is_over = threading.Event()

    def read(replica: Replica) -> None:
        try:
            while not is_over.is_set():
                answered = answer(replica, StateQuery(keys=KEYS, operator="keeps", state="last"))
                numbers = sorted(number for result in answered["results"] for number in result.get("value") or [])
                assert numbers == list(range(len(numbers)))
        except BaseException as problem:
            problems.append(problem)

    with Replica(str(directory)) as replica:
        replica.refresh()
        threads = [threading.Thread(target=read, args=(replica,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        run_all(client, replica.refresh)
        is_over.set()
        for thread in threads:
            thread.join()
        assert problems == []
        assert replica.status().version == client.job.batches - 1


def test_a_thread_follows_and_can_be_waited_for(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoint"
    client = counting_job(directory, records_of(60))
    with Replica(str(directory), poll_seconds=0.01).start() as replica:
        with pytest.raises(QueryError, match="no sealed version"):
            queried_state(replica, KEYS)
        run_all(client)
        assert replica.wait_for(client.job.batches - 1, timeout=60)
        is_as_expected(queried_state(replica, KEYS)[1], records_of(60))


def test_two_replicas_cannot_share_a_copy(tmp_path: Path) -> None:
    store = ReplicaStore(str(tmp_path / "copy"))
    try:
        with pytest.raises(StateError, match="another replica"):
            ReplicaStore(str(tmp_path / "copy"))
    finally:
        store.close()
    ReplicaStore(str(tmp_path / "copy")).close()


def test_the_checkpoint_directory_is_only_read(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoint"
    run_all(counting_job(directory, records_of(50)))
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    with Replica(str(directory)) as replica:
        replica.refresh()
        queried_state(replica, KEYS)
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == before


def test_seals_of_earlier_releases_describe_nothing_and_can_be_read(tmp_path: Path) -> None:
    golden = Path(__file__).parents[2] / "golden" / "checkpoint-3" / "checkpoint"
    directory = CheckpointDirectory(str(golden))
    seal = directory.last_seal()
    assert seal is not None and seal.described == {}
    with Replica(str(golden)) as replica:
        assert replica.refresh()
        with replica.reading() as (_, content):
            assert content.operators


def test_unordered_entries_of_a_snapshot_replace_all_the_same(tmp_path: Path) -> None:
    from pyarrow import fs

    from penstock.state.files import write_entries
    from penstock.state.versions import StateFile, StateVersion

    directory = tmp_path / "checkpoint"
    run_all(counting_job(directory, records_of(10)))
    store = ReplicaStore(str(tmp_path / "copy"))
    follower = following_module.Follower(CheckpointDirectory(str(directory)), store)
    folder = follower.directory.state_path("keeps", 9)
    entries = [(b"c", b"3"), (b"a", b"1"), (b"b", b"2")]
    info = write_entries(fs.LocalFileSystem(), f"{folder}/one.snapshot", entries)
    version = StateVersion("one", (StateFile("one.snapshot", True, info.bytes, 3),))
    with store.writing() as writer:
        writer.change(b"0009", [(b"a", b"0"), (b"z", b"9")])
        follower._bring_up(writer, b"0009", "", version, "keeps", 9)
    with store.view() as view:
        assert [*view.scan(b"0009")] == [(b"0009a", b"1"), (b"0009b", b"2"), (b"0009c", b"3")]
    store.close()


def test_a_path_that_is_no_checkpoint(tmp_path: Path) -> None:
    with Replica(str(tmp_path / "nothing")) as replica:
        assert not replica.refresh()
        with pytest.raises(QueryError, match="no sealed version"):
            queried_state(replica, KEYS)
    with pytest.raises(CheckpointError, match="cannot be reached"):
        Replica("nosuchscheme://somewhere")
