"""Documents of jobs: bad ones break no list, a job that does not answer holds none up, and many readers cost one."""

from __future__ import annotations

import json
import logging
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penstock.errors import JobNotFoundError
from penstock.job.ended_jobs import EndedJobs
from penstock.server.access import Access
from penstock.server.app import create_app
from penstock.server.checked_documents import flaw
from penstock.server.dispatcher.database import open_database
from penstock.server.dispatcher.dispatcher import Dispatcher
from penstock.server.dispatcher.registry import Launch, Registry, Submission
from penstock.server.dispatcher.remote_drivers import driver_routes
from penstock.server.dispatcher.submitted_views import waiting_document
from penstock.server.dispatcher.supervisor import Supervisor
from penstock.server.documents import Documents
from penstock.server.job_views import Document, EndedView, JobView
from tests.spark.waiting import wait_until


def document(job_id: str, **changes: Any) -> Document:
    made = waiting_document(Submission(job_id, "p", f"job {job_id}", Launch(), created_ms=1000))
    return {**made, "status": "RUNNING", "status_ms": {"RUNNING": 1000}, **changes}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "h"))
    made = Registry(open_database(str(tmp_path / "r" / "x.sqlite")))
    yield made
    made.close()


@pytest.fixture
def client(registry: Registry, tmp_path: Path) -> Iterator[TestClient]:
    dispatcher = Dispatcher(registry, tmp_path / "data", "http://x")
    app = create_app(dispatcher, Access(), routes=[driver_routes(registry, 10)])
    with TestClient(app, base_url="http://localhost") as made:
        yield made


FLAWS: dict[str, tuple[dict[str, Any], str]] = {
    "an id that is none": ({"id": ["x"]}, "its field 'id' is not letters"),
    "a name that is none": ({"name": None}, "its field 'name' is not text"),
    "no such status": ({"status": "SLEEPING"}, "its field 'status' is not the state of a job"),
    "a time as text": ({"started_ms": "yesterday"}, "its field 'started_ms' is not a time"),
    "a time beyond all": ({"ended_ms": 10**40}, "its field 'ended_ms' is not a time"),
    "no states": ({"status_ms": {}}, "its field 'status_ms'"),
    "no process": ({"process": None}, "its field 'process' is not an object"),
    "a vertex that is none": ({"plan": [7]}, "job overview cannot be made of it (TypeError"),
    "no progress": ({"progress": {}}, "job metrics cannot be made of it (KeyError"),
    "holders of another kind": (
        {"progress": {**document("a")["progress"], "event_time_holders": [7]}},
        "summary cannot be made of it (TypeError",
    ),
    "checkpoints of another kind": ({"checkpoints": []}, "cannot be made of it"),
    "workers of another kind": ({"cluster": {"workers": [{}]}}, "workers of cannot be made of it (KeyError"),
}


@pytest.mark.parametrize("name", FLAWS)
def test_a_document_that_cannot_be_shown_is_refused_at_the_door(client: TestClient, name: str) -> None:
    changes, reason = FLAWS[name]
    told = client.post("/penstock/drivers", json={"document": document("a", **changes)})
    assert told.status_code == 400 and reason in told.json()["errors"][0]
    assert client.get("/jobs/overview").json() == {"jobs": []}


@pytest.mark.parametrize("name", FLAWS)
def test_a_bad_document_that_is_in_the_registry_already_is_left_out_with_a_note(
    client: TestClient, registry: Registry, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    changes, reason = FLAWS[name]
    registry.set_report("a", zlib.compress(json.dumps(document("a")).encode()))
    registry.set_report("b", zlib.compress(json.dumps(document("b", **changes)).encode()))
    registry.set_report("c", b"torn")
    registry.add_history({**document("d", ended_ms=5), **changes, "id": "d", "ended_ms": 5})
    caplog.set_level(logging.WARNING)
    for path in ("/jobs", "/jobs/overview", "/overview", "/taskmanagers", "/applications/overview", "/metrics"):
        assert client.get(path).status_code == 200, path
    told = client.get("/penstock/overview").json()
    assert "a" in [each["id"] for each in told["jobs"]] and "b" not in [each["id"] for each in told["jobs"]]
    assert reason in told["left_out"]["b"] and "cannot be read" in told["left_out"]["c"]
    assert f"lists of jobs are without job b: {told['left_out']['b']}" in caplog.text
    assert client.get("/jobs/b").status_code == 404


def test_figures_that_cannot_be_made_of_one_job_are_not_missed_of_the_others(
    client: TestClient, registry: Registry
) -> None:
    latency = {"latency": {"buckets": 7, "sum": 0}}  # which no list shows
    for job_id, changes in {"a": {}, "b": latency}.items():
        registry.set_report(job_id, zlib.compress(json.dumps(document(job_id, **changes)).encode()))
    text = client.get("/metrics").text
    assert 'job_name="job a"' in text and 'job_name="job b"' not in text


@pytest.mark.parametrize("state", ["WAITING", "PREPARING", "RUNNING", "ENDED"])
@pytest.mark.parametrize("deaths", [[], ["it died"]])
def test_a_submission_without_a_driver_is_in_every_list(
    client: TestClient, registry: Registry, state: str, deaths: list[str]
) -> None:
    """Its settings are as they were written, such as `300ms`."""
    made = registry.add_submission("p", "a.py", Launch([], {"execution.checkpointing.interval": "300ms"}))
    changes = {"deaths": deaths, "deaths_ms": [5 for _ in deaths], "outcome": "FAILED" if state == "ENDED" else None}
    assert registry.change(made, state=state, **changes) is not None
    assert [each["id"] for each in client.get("/penstock/overview").json()["jobs"]] == [made.id]
    if state != "ENDED":  # figures of what ended long ago are not shown
        assert client.get("/metrics").text.count("penstock_job_running{") == 1
    for path in ("/jobs", "/jobs/overview"):
        assert len(client.get(path).json()["jobs"]) == 1
    assert client.get(f"/penstock/jobs/{made.id}").status_code == 200


def test_a_document_as_a_job_makes_it_has_no_flaw() -> None:
    assert flaw(document("a")) is None  # as an earlier version made it, which names no holder
    held = {"text": "a waits", "is_quiet": False, "stalled_ms": 5}
    assert flaw(document("a", progress={**document("a")["progress"], "event_time_holders": [held]})) is None
    assert flaw([]) == "it is no object"


def test_jobs_that_ended_with_an_earlier_name_are_not_overlooked(registry: Registry, tmp_path: Path) -> None:
    """The clock was set back between two ends, or a document took long to be written."""
    ended = EndedJobs.of_this_user()
    over = {"status": "FINISHED", "ended_ms": 9}
    ended.keep(document("late", now_ms=9000, **over))
    supervisor = Supervisor(registry, tmp_path, 10)
    supervisor.look(None)
    (ended.path / f"{1000:015d}-early-0.json").write_text(json.dumps(document("early", now_ms=1000, **over)))
    supervisor.look(None)
    assert {job for job, _ in registry.history()} == {"late", "early"}


def test_what_an_earlier_version_has_taken_is_not_taken_again(registry: Registry, tmp_path: Path) -> None:
    from penstock.server.dispatcher.processes import HOST

    ended = EndedJobs.of_this_user()
    for number in (1, 2):
        ended.keep(document(f"j{number}", now_ms=number, status="FINISHED", ended_ms=number))
    registry.set_fact(f"ended:{HOST}:{ended.path}", ended.names()[0])
    Supervisor(registry, tmp_path, 10).look(None)
    assert [job for job, _ in registry.history()] == ["j2"]


def test_what_a_job_leaves_is_the_last_to_be_forgotten_though_the_clock_was_set_back(tmp_path: Path) -> None:
    ended = EndedJobs(tmp_path / "ended")
    for number in range(60):
        ended.keep(document(f"j{number}", now_ms=5000 - number))
    found = [ended.read(name)["id"] for name in ended.names()]
    assert found == [f"j{number}" for number in range(10, 60)]


class Jobs:
    """Views of documents, counted; those of hung jobs wait."""

    def __init__(self, *views: JobView) -> None:
        self.found = list(views)
        self.asked = 0

    def views(self) -> list[JobView]:
        self.asked += 1
        return self.found

    def view(self, job_id: str) -> JobView:
        return next(each for each in self.found if each.job_id == job_id)


class Hung(EndedView):
    """A job that answers when it is let go on."""

    goes_on: threading.Event

    def document(self) -> Document:
        self.goes_on.wait(60)
        return super().document()


def test_a_job_that_does_not_answer_holds_no_list_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.server.documents._LIST_SECONDS", 0.1)
    hung = Hung(document("hung"))
    object.__setattr__(hung, "goes_on", threading.Event())
    documents = Documents(Jobs(hung, EndedView(document("fine"))), fresh_seconds=0.0)
    assert [each["id"] for each in documents.all()] == ["fine"]
    assert documents.left_out() == {"hung": "it does not answer"}
    hung.goes_on.set()
    wait_until(lambda: len(documents.all()) == 2, "it answers again")
    hung.goes_on.clear()
    assert len(documents.all()) == 2 and documents.left_out() == {}, "it is shown as it was"
    hung.goes_on.set()


def test_many_readers_of_a_list_cost_what_one_does() -> None:
    jobs = Jobs(*(EndedView(document(f"{number}")) for number in range(20)))
    documents = Documents(jobs, fresh_seconds=60.0)
    made: list[int] = []

    def make(found: list[Document]) -> Any:
        made.append(len(found))
        return {"jobs": len(found)}

    start = threading.Barrier(30)
    answers: list[bytes] = []

    def read() -> None:
        start.wait()
        answers.append(bytes(documents.answer("list", make).body))

    threads = [threading.Thread(target=read) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [b'{"jobs":20}'] * 30 and made == [20] and jobs.asked == 1
    documents.forget_lists()
    documents.answer("list", make)
    assert made == [20, 20] and jobs.asked == 2


def test_a_list_that_is_a_little_old_is_given_while_it_is_made_anew() -> None:
    jobs = Jobs(EndedView(document("a")))
    documents = Documents(jobs, fresh_seconds=0.3)
    documents.all()
    jobs.found = [EndedView(document("b"))]

    def is_new() -> bool:
        return [each["id"] for each in documents.all()] == ["b"]

    assert not is_new()
    wait_until(is_new, "the list is made anew")


def test_a_job_that_cannot_be_shown_says_why(registry: Registry) -> None:
    documents = Documents(Jobs(EndedView({**document("a"), "name": 7})))
    with pytest.raises(JobNotFoundError, match="the document of job 'a' cannot be shown: its field 'name' is not text"):
        documents.of("a")
    assert documents.all() == []
