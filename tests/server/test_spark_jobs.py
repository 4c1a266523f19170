"""A job on Spark at the dispatcher: what its pages tell of Spark, and what is left when its driver is killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.commands import app
from tests.server.packages import only_from, wheel
from tests.server.servers import COUNTING, ENDLESS, SETTINGS, Server, counted, is_exactly_once, server
from tests.spark.processes import ProcessGroup, quick_spark
from tests.spark.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OPTIONS = [f"-D{key}={value}" for key, value in SETTINGS.items() if key != "penstock.engine"]
OPTIONS.append("-Dspark.ui.enabled=true")


# Spark's workers run in the environment of the program, or they would have other versions of packages than its driver.
LOOK = "        import sys, shades\n        assert '/environments/' in sys.prefix, sys.prefix\n"
COLOURED = COUNTING.replace("    def open(self, context):\n", f"    def open(self, context):\n{LOOK}")


def submit(running: Server, program: Path, *arguments: str) -> tuple[str, str]:
    """Submit with the command, for Spark on two cores; returns the ids of the job and of the submission."""
    (program.parent / "requirements").write_text("shades\n")
    client = {"PENSTOCK_SERVER": running.url, "PENSTOCK_TOKEN": str(running.token)}
    words = [
        "submit",
        "--json",
        "--master",
        "local[2]",
        *OPTIONS,
        "-r",
        str(program.parent / "requirements"),
        str(program),
        *arguments,
    ]
    told = CliRunner().invoke(app, words, env=client)
    assert told.exit_code == 0, told.output + running.log.read_text()
    answer = json.loads(told.stdout)

    def shows_pages_of_spark() -> bool:  # which are there when Spark has started
        shown = CliRunner().invoke(app, ["info", answer["job_id"]], env=client).stdout
        return "Spark's pages: http://127.0.0.1:" in shown

    wait_until(shows_pages_of_spark, "the command tells of Spark's pages")
    return answer["job_id"], answer["submission"]


def check_pages(running: Server, job: str) -> None:
    """Vertices and task managers as Flink's clients ask for them, with Spark's figures in them."""
    running.await_state(job, "RUNNING")
    wait_until(lambda: running.document(job)["cluster"]["workers"], "Spark has told of its executors")
    cluster = running.document(job)["cluster"]
    assert (cluster["engine"], cluster["master"]) == ("spark", "local[2]")
    with urllib.request.urlopen(cluster["web_url"], timeout=30) as page:  # Spark's own pages
        assert page.status == 200
    vertices = running.get(f"/jobs/{job}")["vertices"]
    assert any("count" in each["name"] for each in vertices)
    assert [(each["status"], each["parallelism"]) for each in vertices] == [("RUNNING", 2)] * len(vertices)
    wait_until(
        lambda: running.get(f"/jobs/{job}")["vertices"][-1]["metrics"]["read-records"] > 0, "records are counted"
    )
    [listed] = running.get("/taskmanagers")["taskmanagers"]
    assert (listed["id"], listed["slotsNumber"]) == (f"{job[:8]}-driver", 2)
    assert listed["totalResource"]["taskHeapMemory"] > 100  # what Spark may keep, in MB
    one = running.get(f"/taskmanagers/{listed['id']}")
    assert one["metrics"]["heapMax"] == cluster["workers"][0]["memory_bytes"] > 0
    path = f"/taskmanagers/{listed['id']}/metrics?get=completed_tasks"
    wait_until(lambda: float(running.get(path)[0]["value"]) > 0, "Spark has told of tasks")
    at = running.get(f"/jobs/{job}/vertices/{vertices[-1]['id']}/taskmanagers")["taskmanagers"]
    assert [each["taskmanager-id"] for each in at] == [listed["id"]]
    overview = running.get("/overview")
    assert (overview["taskmanagers"], overview["slots-total"], overview["jobs-running"]) == (1, 2, 1)


def test_a_job_on_spark_whose_driver_is_killed_goes_on_exactly_once(tmp_path: Path) -> None:
    group = ProcessGroup(tmp_path)
    (tmp_path / "counting.py").write_text(COLOURED)
    wheel(tmp_path / "packages", "shades", "1.0", {"shades.py": ""})
    variables = {**group.variables(), **quick_spark(tmp_path), **only_from(tmp_path / "packages")}
    variables["PYSPARK_PYTHON"] = sys.executable  # has no such package
    try:
        with server(tmp_path, variables=variables) as one:
            job, submission = submit(one, tmp_path / "counting.py", str(tmp_path / "out"), ENDLESS)
            check_pages(one, job)
            wait_until(lambda: counted(tmp_path / "out"), "something is published")
            first = one.pid_of(job)
            os.kill(first, signal.SIGKILL)  # its Java notices that itself
            wait_until(lambda: one.has_other_driver(job, first), "another driver runs it")
            before = counted(tmp_path / "out")
            wait_until(lambda: counted(tmp_path / "out") != before, "the job goes on")
            [death] = one.get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
            assert f"the driver process {first} on" in death["stacktrace"]
            check_pages(one, job)
            second = one.pid_of(job)
            one.drain(job, tmp_path / "savepoints")
            assert is_exactly_once(counted(tmp_path / "out"))
            wait_until(lambda: one.get(f"/penstock/submissions/{submission}")["state"] == "ENDED", "it is noted")
        group.await_end()  # Java notices that its driver is gone
        left = [each.name for each in group.scratch.rglob("*")]
        assert left == [], "what the killed driver left, the next one cleared"
        with server(tmp_path, variables=variables, name="next") as other:
            check_history(other, job, submission, (first, second))
            assert not (tmp_path / "data" / "drivers" / submission / "checkpoints").exists()
    finally:
        group.kill()


def check_history(running: Server, job: str, submission: str, drivers: tuple[int, int]) -> None:
    """What is there when all of it is over, at another server."""
    assert running.state(job) == "FINISHED"
    assert running.get("/taskmanagers")["taskmanagers"] == []
    assert running.document(job)["progress"]["restarts"] == 1
    log = running.get(f"/penstock/jobs/{job}/log")["text"]
    assert [line for line in log.splitlines() if line.startswith("driver ")] == [f"driver {each}" for each in drivers]
    assert running.get(f"/penstock/submissions/{submission}/log")["text"] == log
