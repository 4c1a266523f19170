"""The dispatcher as a process: programs become drivers, and whoever is killed, nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.server.dispatcher.database import open_database
from penstock.server.dispatcher.registry import Registry
from tests.jdbc.conftest import postgres
from tests.server.servers import COUNTING, ENDLESS, SETTINGS, counted, exactly, is_exactly_once, server
from tests.spark.waiting import wait_until

__all__ = ["postgres"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_program_runs_to_its_end_and_is_remembered(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        program = one.upload("counting.py", COUNTING.encode())
        assert [each["id"] for each in one.get("/jars")["files"]] == [program]
        job = one.run(program, [str(tmp_path / "out"), "300"])
        one.await_state(job, "FINISHED")
        assert counted(tmp_path / "out") == exactly(300)
        [submission] = one.get("/penstock/submissions")["submissions"]
        wait_until(lambda: one.get(f"/penstock/submissions/{submission['id']}")["state"] == "ENDED", "it has ended")
        log = one.get(f"/penstock/submissions/{submission['id']}/log")["text"]
        assert log.startswith("driver ")
        # Its checkpoints were the dispatcher's, and are of no use to anybody now.
        place = tmp_path / "data" / "drivers" / submission["id"] / "checkpoints"
        wait_until(lambda: not place.exists(), "the checkpoints are gone")
    with server(tmp_path) as other:  # the next one has it from the registry
        assert other.state(job) == "FINISHED"
        assert other.get(f"/jobs/{job}/checkpoints")["counts"]["completed"] > 0


def test_a_driver_that_is_killed_comes_back_and_counts_everything_once(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        job = one.run(one.upload("counting.py", COUNTING.encode()), [str(tmp_path / "out"), ENDLESS])
        for kills in range(1, 3):
            wait_until(lambda: counted(tmp_path / "out"), "something is published")
            first = one.pid_of(job)
            os.kill(first, signal.SIGKILL)
            wait_until(
                lambda: one.has_other_driver(job, first),  # noqa: B023
                "another driver runs the job",
            )
            assert one.document(job)["progress"]["restarts"] == kills
        one.drain(job, tmp_path / "savepoints")
        assert is_exactly_once(counted(tmp_path / "out"))
        deaths = one.get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
        assert len(deaths) == 2 and f"the driver process {first} on" in deaths[0]["stacktrace"]


def test_killing_the_dispatcher_disturbs_no_job_and_the_next_one_finds_it(tmp_path: Path) -> None:
    with server(tmp_path, is_last=False) as one:
        job = one.run(one.upload("counting.py", COUNTING.encode()), [str(tmp_path / "out"), ENDLESS])
        pid = one.pid_of(job)
        one.kill()
        before = counted(tmp_path / "out")
        wait_until(lambda: counted(tmp_path / "out") != before, "the job goes on without a dispatcher")
    with server(tmp_path) as other:
        assert other.pid_of(job) == pid
        # It looks after what it did not start: a driver that dies now comes back too.
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: other.has_other_driver(job, pid), "another driver runs the job")
        other.drain(job, tmp_path / "savepoints")
    assert is_exactly_once(counted(tmp_path / "out"))


@pytest.fixture(params=["sqlite", "postgres"])
def registry(request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Options of a server for its registry."""
    if request.param == "sqlite":
        yield []
        return
    with request.getfixturevalue("postgres").new_database() as url:
        yield ["--registry", url]


def test_of_two_dispatchers_one_leads_and_the_other_takes_over(tmp_path: Path, registry: list[str]) -> None:
    with server(tmp_path, *registry, name="first") as first:
        wait_until(lambda: first.get("/penstock/leader")["is-this-one"], "the first leads")
        with server(tmp_path, *registry, name="second") as second:
            job = second.run(second.upload("counting.py", COUNTING.encode()), [str(tmp_path / "out"), ENDLESS])
            assert not second.get("/penstock/leader")["is-this-one"]
            pid = second.pid_of(job)
            first.kill()
            os.kill(pid, signal.SIGKILL)  # who supervised the driver is gone, and so is the driver
            wait_until(lambda: second.get("/penstock/leader")["is-this-one"], "the second leads", seconds=10)
            wait_until(lambda: second.has_other_driver(job, pid), "the job goes on")
            second.drain(job, tmp_path / "savepoints")
            assert len(second.get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]) == 1
    assert is_exactly_once(counted(tmp_path / "out"))
    with server(tmp_path, *registry, name="third") as third:
        assert third.state(job) == "FINISHED"
        # The second may have gone before it noted the end of the process.
        wait_until(lambda: third.submission()["state"] == "ENDED", "the end is noted")
        assert (third.submission()["job_id"], len(third.submission()["deaths"])) == (job, 1)
        assert len(third.get("/jars")["files"]) == 1


def test_a_dispatcher_that_is_told_to_end_leaves_the_lead_to_others(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        wait_until(lambda: one.get("/penstock/leader")["is-this-one"], "it leads")
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(30) == 0
        registry = Registry(open_database(str(tmp_path / "data" / "registry.sqlite")))
        lease = registry.lease()
        assert lease is not None and lease.is_free, "nobody has to wait for the end of its lease"
        registry.close()


def test_a_program_that_starts_no_job_says_why(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        program = one.upload("broken.py", b"raise RuntimeError('no such luck')")
        with pytest.raises(urllib.error.HTTPError) as told:
            one.run(program, [])
        text = told.value.read().decode()
        assert told.value.code == 400 and "RuntimeError: no such luck" in text
        [job] = one.get("/jobs/overview")["jobs"]
        assert (job["state"], job["name"]) == ("FAILED", "broken.py")


def test_a_driver_on_another_machine_reports_and_takes_requests(tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    options = [f"-D{key}={value}" for key, value in SETTINGS.items()]
    with server(tmp_path) as one:
        environment = {
            **os.environ,
            "PENSTOCK_HOME": str(tmp_path / "elsewhere"),  # another machine has cards of its own
            "PENSTOCK_REPORT_TO": one.url,
            "PENSTOCK_TOKEN": str(one.token),
        }
        command = [sys.executable, "-m", "penstock", "run", *options, str(tmp_path / "counting.py")]
        with subprocess.Popen([*command, str(tmp_path / "out"), ENDLESS], env=environment) as driver:
            try:
                wait_until(lambda: one.get("/jobs")["jobs"], "the driver has reported")
                [listed] = one.get("/jobs")["jobs"]
                job = str(listed["id"])
                assert one.pid_of(job) == driver.pid and one.document(job)["process"]["log"] is None
                one.drain(job, tmp_path / "savepoints")
                assert driver.wait(60) == 0
            finally:
                driver.kill()
        assert is_exactly_once(counted(tmp_path / "out"))
