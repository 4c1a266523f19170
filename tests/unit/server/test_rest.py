"""A running job through the REST API: Flink's paths and field names, filled from what the job tells."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penstock.job.client import RunningJobClient
from penstock.server.flink.metrics import subtask_metrics
from tests.spark.waiting import wait_until
from tests.unit.metrics.test_prometheus import finished_document
from tests.unit.server.serving_jobs import HOSTILE, client_of, counting_job, shown

Served = tuple[TestClient, RunningJobClient, str]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A job that has failed once and gone on, and a client of its server."""
    with counting_job(None, f"job {HOSTILE}", fails_at=3) as job, client_of(shown(job)) as client:
        wait_until(lambda: job.restarts() == 1 and job.progress().records > 50, "the job has gone on")
        yield client, job, str(job.get_job_id())


def get(served: Served, path: str) -> Any:
    client, _, job_id = served
    answer = client.get(path.format(job=job_id, vertex=vertices(served)[1]["id"] if "{vertex}" in path else ""))
    assert answer.status_code == 200, answer.text
    return answer.json()


def vertices(served: Served) -> list[dict[str, Any]]:
    client, _, job_id = served
    return list(client.get(f"/jobs/{job_id}").json()["vertices"])


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_lists_of_jobs(served: Served, prefix: str) -> None:
    job_id = served[2]
    assert get(served, f"{prefix}/jobs") == {"jobs": [{"id": job_id, "status": "RUNNING"}]}
    [job] = get(served, f"{prefix}/jobs/overview")["jobs"]
    assert (job["jid"], job["name"], job["state"], job["end-time"]) == (job_id, f"job {HOSTILE}", "RUNNING", -1)
    assert job["tasks"]["total"] == job["tasks"]["running"] == 6  # source, count and print, two subtasks each
    overview = get(served, f"{prefix}/overview")
    assert (overview["jobs-running"], overview["taskmanagers"], overview["flink-version"]) == (1, 1, "2.3.0")


def test_details_follow_the_job(served: Served) -> None:
    def written() -> int:
        return int(vertices(served)[0]["metrics"]["write-records"])

    before = written()
    wait_until(lambda: written() > before, "the source has read more")
    details = get(served, "/jobs/{job}")
    source, count, sink = details["vertices"]
    assert [each["parallelism"] for each in details["vertices"]] == [2, 2, 2]
    assert count["metrics"]["read-records"] <= source["metrics"]["write-records"] == source["metrics"]["read-records"]
    assert sink["metrics"]["read-records"] == count["metrics"]["write-records"]
    assert details["timestamps"]["RUNNING"] >= details["start-time"] > 0
    assert details["status-counts"]["RUNNING"] == 3


def test_the_plan_says_what_reaches_whom_and_is_no_markup(served: Served) -> None:
    nodes = get(served, "/jobs/{job}/plan")["plan"]["nodes"]
    assert [[each["ship_strategy"] for each in node["inputs"]] for node in nodes] == [[], ["HASH"], ["FORWARD"]]
    assert [each["id"] for each in nodes[1]["inputs"]] == [nodes[0]["id"]]
    # Flink's page puts descriptions into itself as HTML.
    assert "<script>" not in nodes[1]["description"] and "&lt;script&gt;" in nodes[1]["description"]
    stream_nodes = get(served, "/jobs/{job}")["stream-graph"]["nodes"]
    assert [each["id"] for each in stream_nodes[1]["inputs"]] == [stream_nodes[0]["id"]]
    assert "<script>" not in stream_nodes[1]["description"]


def test_exceptions_begin_with_the_traceback_of_the_user(served: Served) -> None:
    found = get(served, "/jobs/{job}/exceptions")
    [entry] = found["exceptionHistory"]["entries"]
    assert entry["stacktrace"].startswith("Traceback (most recent call last):\n  File ")
    assert "serving_jobs.py" in entry["stacktrace"].splitlines()[1]
    assert entry["exceptionName"].startswith("ValueError: <script>")
    assert "(1/2)" in entry["taskName"] or "(2/2)" in entry["taskName"]
    assert entry["failureLabels"]["record"] == "0" and entry["failureLabels"]["then"] == "restarted after 10 ms"
    assert found["root-exception"] == entry["stacktrace"]
    assert get(served, "/jobs/{job}/exceptions?maxExceptions=0")["exceptionHistory"] == {
        "entries": [],
        "truncated": True,
    }


def test_checkpoints_with_details_of_vertices_and_subtasks(served: Served) -> None:
    client, _, job_id = served
    found = get(served, "/jobs/{job}/checkpoints")
    latest = found["latest"]["completed"]
    assert found["counts"]["completed"] >= latest["id"] > 0
    assert latest["end_to_end_duration"] >= 0 and latest["trigger_timestamp"] > time.time() * 1000 - 60_000
    with_state = next(each for each in found["history"] if each["state_size"] > 0)
    details = client.get(f"/jobs/{job_id}/checkpoints/details/{with_state['id']}").json()
    vertex = vertices(served)[1]["id"]
    assert details["tasks"][vertex]["num_subtasks"] == 2
    subtasks = client.get(f"/jobs/{job_id}/checkpoints/details/{with_state['id']}/subtasks/{vertex}").json()
    assert [each["index"] for each in subtasks["subtasks"]] == [0, 1]
    assert sum(each["state_size"] for each in subtasks["subtasks"]) == details["tasks"][vertex]["state_size"]
    assert get(served, "/jobs/{job}/checkpoints/config")["interval"] == 20


def test_subtasks_watermarks_backpressure_and_metrics(served: Served) -> None:
    vertex = get(served, "/jobs/{job}/vertices/{vertex}")
    assert [each["subtask"] for each in vertex["subtasks"]] == [0, 1]
    read = [each["metrics"]["read-records"] for each in vertex["subtasks"]]
    assert vertex["aggregated"]["metrics"]["read-records"]["sum"] == sum(read)
    marks = get(served, "/jobs/{job}/vertices/{vertex}/watermarks")
    assert {each["id"] for each in marks} <= {"0.currentInputWatermark", "1.currentInputWatermark"}
    pressure = get(served, "/jobs/{job}/vertices/{vertex}/backpressure")
    assert (pressure["status"], pressure["backpressureLevel"], len(pressure["subtasks"])) == ("ok", "ok", 2)
    names = {each["id"] for each in get(served, "/jobs/{job}/vertices/{vertex}/metrics")}
    assert {"0.numRecordsIn", "1.numRecordsOut", "0.busyTimeMsPerSecond"} <= names
    values = get(served, "/jobs/{job}/vertices/{vertex}/metrics?get=0.numRecordsIn,nothing")
    assert [each["id"] for each in values] == ["0.numRecordsIn"] and int(values[0]["value"]) > 0
    [combined] = get(served, "/jobs/{job}/vertices/{vertex}/subtasks/metrics?get=numRecordsIn&agg=min,max,sum")
    assert combined["sum"] >= combined["max"] >= combined["min"] > 0 and "avg" not in combined
    assert int(get(served, "/jobs/{job}/metrics?get=numRestarts")[0]["value"]) == 1
    assert get(served, "/jobs/metrics?get=numRestarts&agg=max") == [{"id": "numRestarts", "max": 1.0}]


@pytest.mark.parametrize(
    "path",
    [
        "/config", "/jobmanager/config", "/jobmanager/environment", "/jobmanager/metrics", "/jobmanager/logs",
        "/jobmanager/thread-dump", "/taskmanagers", "/taskmanagers/metrics", "/datasets", "/applications/overview",
        "/jobs/{job}/config", "/jobs/{job}/accumulators", "/jobs/{job}/status", "/jobs/{job}/execution-result",
        "/jobs/{job}/resource-requirements", "/jobs/{job}/jobmanager/environment",
        "/jobs/{job}/vertices/{vertex}/subtasktimes", "/jobs/{job}/vertices/{vertex}/taskmanagers",
        "/jobs/{job}/vertices/{vertex}/accumulators", "/jobs/{job}/vertices/{vertex}/subtasks/accumulators",
        "/jobs/{job}/vertices/{vertex}/subtasks/1", "/jobs/{job}/vertices/{vertex}/subtasks/0/metrics",
        "/jobs/{job}/vertices/{vertex}/flamegraph", "/penstock/jobs/{job}", "/openapi.json",
    ],
)  # fmt: skip
def test_the_other_paths_answer(served: Served, path: str) -> None:
    assert get(served, path) is not None


def test_workers_have_pages_of_their_own(served: Served) -> None:
    [worker] = get(served, "/taskmanagers")["taskmanagers"]
    assert get(served, f"/taskmanagers/{worker['id']}")["allocatedSlots"][0]["jobId"] == served[2]
    threads = get(served, f"/taskmanagers/{worker['id']}/thread-dump")["threadInfos"]
    assert any(each["threadName"].startswith("penstock-") for each in threads)


def test_secrets_among_the_settings_are_hidden(served: Served) -> None:
    settings = get(served, "/jobs/{job}/config")["execution-config"]["user-config"]
    assert settings["db.password"] == "******" and "hunter2" not in str(settings)


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/jobs/" + "0" * 32, 404, "is not known here"),
        ("/jobs/{job}/vertices/none", 404, "has no vertex 'none'"),
        ("/jobs/{job}/checkpoints/details/99999999", 404, "is not known any more"),
        ("/jobs/{job}/checkpoints/details/x", 400, "checkpoint_id: "),
        ("/jobs/{job}/savepoints/" + "0" * 32, 404, "nothing was triggered"),
        ("/taskmanagers/none", 404, "no running job has a worker 'none'"),
        ("/no/such/path", 404, "Not Found"),
    ],
)
def test_what_is_not_there_is_told_as_flink_tells_it(served: Served, path: str, status: int, text: str) -> None:
    client, _, job_id = served
    answer = client.get(path.format(job=job_id))
    assert answer.status_code == status
    [error] = answer.json()["errors"]
    assert text in error


def finished(client: TestClient, path: str) -> dict[str, Any]:
    wait_until(lambda: client.get(path).json()["status"]["id"] == "COMPLETED", "the savepoint is written")
    return dict(client.get(path).json()["operation"])


def test_a_savepoint_is_triggered_asked_for_and_listed(served: Served, tmp_path: Path) -> None:
    client, _, job_id = served
    trigger = "ab" * 16
    body = {"target-directory": str(tmp_path / "s"), "cancel-job": False, "formatType": None, "triggerId": trigger}
    for _ in range(2):  # a client that hears nothing asks again, and gets no second savepoint
        answer = client.post(f"/jobs/{job_id}/savepoints", json=body)
        assert (answer.status_code, answer.json()) == (202, {"request-id": trigger})
    place = Path(finished(client, f"/jobs/{job_id}/savepoints/{trigger}")["location"])
    assert [each.name for each in (tmp_path / "s").iterdir()] == [place.name]
    latest = get(served, "/jobs/{job}/checkpoints")["latest"]["savepoint"]
    assert (latest["external_path"], latest["checkpoint_type"]) == (str(place), "SAVEPOINT")


def test_a_savepoint_that_cannot_be_written_says_why(served: Served) -> None:
    client, _, job_id = served
    answer = client.post(f"/jobs/{job_id}/savepoints", json={"target-directory": "/proc/nowhere"})
    told = finished(client, f"/jobs/{job_id}/savepoints/{answer.json()['request-id']}")
    assert "savepoint directory /proc/nowhere cannot be used" in told["failure-cause"]["stack-trace"]


def test_stop_ends_the_job_and_what_is_over_takes_no_requests(tmp_path: Path) -> None:
    with counting_job(tmp_path) as job, client_of(shown(job)) as client:
        wait_until(lambda: job.progress().records > 0, "records were read")
        path = f"/jobs/{job.get_job_id()}"
        answer = client.post(f"{path}/stop", json={"drain": True, "targetDirectory": None})
        told = finished(client, f"{path}/savepoints/{answer.json()['request-id']}")
        assert Path(told["location"]).parent == tmp_path / "savepoints"
        assert client.get(path).json()["state"] == "FINISHED"
        result = client.get(f"{path}/execution-result").json()["job-execution-result"]
        assert result["application-status"] == "SUCCEEDED"
        refused = client.patch(path)
        assert refused.status_code == 409 and "has ended (finished)" in refused.json()["errors"][0]


@pytest.mark.parametrize(("method", "end"), [("PATCH", "?mode=cancel"), ("GET", "/yarn-cancel")])
def test_cancel(tmp_path: Path, method: str, end: str) -> None:
    with counting_job(tmp_path) as job, client_of(shown(job)) as client:
        path = f"/jobs/{job.get_job_id()}"
        assert client.request(method, path + end).status_code == 202
        wait_until(lambda: client.get(path).json()["state"] == "CANCELED", "the job is cancelled")


def test_a_job_without_a_place_for_savepoints_is_told_before_anything_is_done(served: Served) -> None:
    client, _, job_id = served
    answer = client.post(f"/jobs/{job_id}/savepoints", json={})
    assert answer.status_code == 400 and "has no directory for savepoints" in answer.json()["errors"][0]


def test_a_source_that_is_ahead_of_its_group_tells_it_under_flinks_name(tmp_path: Path) -> None:
    document = finished_document(tmp_path)
    vertex = document["plan"][0]
    head = vertex["operators"][0]
    ahead = {"records": {"uid": head["uid"], "watermarkAlignmentDrift": 460, "paused_splits": 1}}
    told = subtask_metrics({**document, "metrics": ahead}, vertex["id"])
    assert {each[f"{head['name']}.watermarkAlignmentDrift"] for each in told.values()} == {460}
    assert not any("watermarkAlignmentDrift" in name for name in subtask_metrics(document, vertex["id"])[0])
