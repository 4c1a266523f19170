"""A job that is left and gone on with, from a savepoint or a checkpoint, gives what it would have given in one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import JobStatus
from penstock.testing import InProcessJobClient
from tests.unit.savepoint.ledger import KEYS, Start, oracle, published, run_some


class Killed(BaseException):
    """The process is gone: nothing is caught, nothing is cleaned up."""


def stopped_with_savepoint(client: InProcessJobClient, folder: Path) -> str:
    path = client.stop_with_savepoint(False, str(folder / "savepoints")).result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    return path


def cancelled_after_savepoint(client: InProcessJobClient, folder: Path) -> str:
    path = client.trigger_savepoint(str(folder / "savepoints")).result()
    client.cancel()
    return path


def cancelled(client: InProcessJobClient, folder: Path) -> str:
    client.cancel()
    return str(folder / "first")


def killed_at(what: str) -> Callable[[InProcessJobClient, Path], str]:
    def kill(client: InProcessJobClient, folder: Path) -> str:
        step = getattr(client.job.runner.versions._committer, what)

        def die(*arguments: Any) -> Any:
            if what == "publish" and not arguments[0].committables:
                return step(*arguments)
            raise Killed

        setattr(client.job.runner.versions._committer, what, die)
        with pytest.raises(Killed):
            while client.run_batch():
                pass
        return str(folder / "first")

    return kill


WAYS = {
    "stopped with savepoint": stopped_with_savepoint,
    "savepoint, then cancelled": cancelled_after_savepoint,
    "cancelled": cancelled,
    "killed before the seal": killed_at("seal"),
    "killed before it published": killed_at("publish"),
}


@pytest.mark.parametrize(
    ("way", "before", "after"),
    [
        *((way, 2, 4) for way in WAYS),
        *((way, 4, 2) for way in ("stopped with savepoint", "killed before the seal")),
        *((way, 5, 3) for way in ("savepoint, then cancelled", "killed before it published")),
        *((way, 2, 2) for way in ("stopped with savepoint", "cancelled")),
    ],
)
def test_any_parallelism_goes_on_from_any_other(tmp_path: Path, way: str, before: int, after: int) -> None:
    output = tmp_path / "out"
    first = Start(output, before, tmp_path / "first").client()
    run_some(first)
    path = WAYS[way](first, tmp_path)
    second = Start(output, after, tmp_path / "second", path, seed=before + after).client()
    second.wait()
    assert published(output) == oracle()


def test_a_job_can_be_handed_on_many_times(tmp_path: Path) -> None:
    output, path = tmp_path / "out", None
    for number, parallelism in enumerate((1, 3, 2, 4)):
        client = Start(output, parallelism, None, path, seed=number, batch=10).client()
        run_some(client, 3)
        path = client.stop_with_savepoint(False, str(tmp_path)).result()
    Start(output, 2, None, path).client().wait()
    assert published(output) == oracle()


def test_a_savepoint_before_the_first_batch_is_a_beginning(tmp_path: Path) -> None:
    path = Start(tmp_path / "out").client().stop_with_savepoint(False, str(tmp_path)).result()
    Start(tmp_path / "out", 3, None, path).client().wait()
    assert published(tmp_path / "out") == oracle()


def test_two_jobs_from_one_savepoint_do_not_touch_each_other(tmp_path: Path) -> None:
    output = tmp_path / "out"
    first = Start(output, 2).client()
    run_some(first)
    path = first.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    before = published(output)
    assert before
    whole = {file: file.read_bytes() for file in Path(path).rglob("*") if file.is_file()}
    jobs = [Start(output, parallelism, None, path).client() for parallelism in (2, 3)]
    for job in jobs:
        run_some(job, 2)
    for job in jobs:
        job.wait()
    rest = sorted(published(output))
    for line in before:
        rest.remove(line)
    expected = oracle()
    for line in before:
        expected.remove(line)
    assert rest == sorted(expected * 2)
    assert {file: file.read_bytes() for file in Path(path).rglob("*") if file.is_file()} == whole


def test_the_job_that_made_the_savepoint_goes_on_unharmed(tmp_path: Path) -> None:
    client = Start(tmp_path / "out").client()
    run_some(client)
    path = client.trigger_savepoint(str(tmp_path / "savepoints")).result()
    client.wait()
    assert published(tmp_path / "out") == oracle()
    Start(tmp_path / "copy", 3, None, path).client().wait()
    assert 0 < len(published(tmp_path / "copy")) < len(oracle())
    assert set(published(tmp_path / "copy")) <= set(oracle())


def test_a_savepoint_may_be_moved(tmp_path: Path) -> None:
    client = Start(tmp_path / "out").client()
    run_some(client)
    path = Path(client.stop_with_savepoint(False, str(tmp_path / "here")).result())
    (tmp_path / "elsewhere").mkdir()
    moved = path.rename(tmp_path / "elsewhere" / "renamed")
    Start(tmp_path / "out", 4, None, str(moved)).client().wait()
    assert published(tmp_path / "out") == oracle()


def test_a_restarted_job_ignores_the_path_it_began_with(tmp_path: Path) -> None:
    first = Start(tmp_path / "out").client()
    run_some(first)
    path = Path(first.stop_with_savepoint(False, str(tmp_path / "savepoints")).result())
    again = Start(tmp_path / "out", 4, tmp_path / "second", str(path))
    second = again.client()
    run_some(second, 2)
    second.cancel()
    path.rename(tmp_path / "gone")
    third = again.client()
    assert third.job.job_id == second.job.job_id
    third.wait()
    assert published(tmp_path / "out") == oracle()


def test_a_drained_job_has_fired_everything_and_can_go_on(tmp_path: Path) -> None:
    client = Start(tmp_path / "out").client()
    run_some(client)
    path = client.stop_with_savepoint(True, str(tmp_path / "savepoints")).result()
    lines = published(tmp_path / "out")
    counted = [line for line in lines if "counted" in line]
    assert sum('"all"' in line for line in lines) == KEYS
    Start(tmp_path / "out", 3, None, path).client().wait()
    assert sum('"all"' in line for line in published(tmp_path / "out")) == 2 * KEYS  # the end of time comes again
    more = [line for line in published(tmp_path / "out") if "counted" in line]
    assert len(more) > len(counted)
    assert more == [line for line in oracle() if "counted" in line]


def test_an_ended_job_is_ended_after_a_restore(tmp_path: Path) -> None:
    first = Start(tmp_path / "out", 2, tmp_path / "first").client()
    first.wait()
    Start(tmp_path / "out", 3, None, str(tmp_path / "first")).client().wait()
    assert published(tmp_path / "out") == oracle()


@pytest.mark.parametrize("moment", ["write_entries", "publication", "write_seal"])
def test_a_start_that_is_killed_starts_over(tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Start(tmp_path / "out").client()
    run_some(first)
    path = first.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    places = {
        "write_entries": "penstock.savepoint.restoring.write_entries",
        "publication": "penstock.connectors.files.sink.FileSink.publication",
        "write_seal": "penstock.checkpoint.CheckpointDirectory.write_seal",
    }

    def die(*arguments: Any, **options: Any) -> Any:
        raise Killed

    again = Start(tmp_path / "out", 4, tmp_path / "second", path)
    with monkeypatch.context() as patch:
        patch.setattr(places[moment], die)
        with pytest.raises(Killed):
            again.client()
    again.client().wait()
    assert published(tmp_path / "out") == oracle()
