"""The command line against a server: the same commands, the same results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.commands import app
from tests.server.servers import COUNTING, ENDLESS, SETTINGS, Server, counted, is_exactly_once, server
from tests.spark.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("commands")) as one:
        yield one


@pytest.fixture(autouse=True)
def at_the_server(running: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SERVER", running.url)
    monkeypatch.setenv("PENSTOCK_TOKEN", str(running.token))


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def told(*words: str) -> str:
    result = call(*words)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def program(folder: Path) -> str:
    """A folder with a program that imports a module of its own."""
    (folder / "etl").mkdir()
    (folder / "etl" / "own.py").write_text("RATE = 300.0\n")
    (folder / "etl" / "main.py").write_text("import own\n" + COUNTING.replace("300.0", "own.RATE"))
    return str(folder / "etl")


OPTIONS = [f"-D{key}={value}" for key, value in SETTINGS.items()]


def test_a_folder_is_submitted_watched_stopped_and_restored(running: Server, tmp_path: Path) -> None:
    etl, out = program(tmp_path), str(tmp_path / "out")
    job = told("submit", *OPTIONS, etl, out, ENDLESS)
    wait_until(lambda: counted(tmp_path / "out"), "something is published")
    [listed] = [each for each in json.loads(told("list", "--json")) if each["id"] == job]
    assert (listed["name"], listed["status"]) == ("counting", "RUNNING")
    assert job[:12] in told("list")
    shown = told("info", "counting")
    assert f"job 'counting' ({job}): running" in shown and "count" in shown
    assert json.loads(told("info", job, "--json"))["id"] == job
    figures = json.loads(told("metrics", job, "--json"))
    assert figures["count"]["records_in"] > 0 and "records_in" in told("metrics", job)
    assert told("logs", job).startswith("driver ")
    assert json.loads(told("logs", job, "--json", "--lines", "1"))["text"].startswith("driver ")
    assert told("savepoint", job, str(tmp_path / "s")).startswith(str(tmp_path / "s"))
    saved = json.loads(told("stop", job, "-p", str(tmp_path / "s"), "--json"))["savepoint"]
    before = counted(tmp_path / "out")
    again = json.loads(told("restore", "--json", *OPTIONS, saved, etl, out, ENDLESS))["job_id"]
    assert again != job
    wait_until(lambda: counted(tmp_path / "out") != before, "the job goes on from the savepoint")
    running.drain(again, tmp_path / "s")
    assert is_exactly_once(counted(tmp_path / "out"))
    ended = [each["status"] for each in json.loads(told("list", "--all", "--json")) if each["id"] in (job, again)]
    assert ended == ["FINISHED", "FINISHED"]


def test_cancel_and_what_is_said_of_mistakes(running: Server, tmp_path: Path) -> None:
    job = told("submit", *OPTIONS, program(tmp_path), str(tmp_path / "out"), ENDLESS)
    refused = call("savepoint", job, "relative/place")
    assert refused.exit_code == 1 and "must be an absolute path or a URI" in refused.stderr
    refused = call("stop", job)
    assert refused.exit_code == 1 and "has no savepoint directory: pass --savepoint-path" in refused.stderr
    assert json.loads(told("cancel", job, "--json")) == {"job_id": job, "status": "CANCELED"}
    refused = call("cancel", job)
    assert refused.exit_code == 1 and "no job has the id, name or process number" in refused.stderr
    refused = call("submit", str(tmp_path / "none.py"))
    assert refused.exit_code == 1 and "there is no program" in refused.stderr


def test_a_server_that_is_not_there_or_wants_a_token(running: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = call("list", "--server", "http://127.0.0.1:1")
    assert refused.exit_code == 1 and "cannot be reached" in refused.stderr
    refused = call("list", "--server", "http://192.0.2.1:8081")
    assert refused.exit_code == 1 and "a token is not sent to http://192.0.2.1:8081 without TLS" in refused.stderr
    monkeypatch.setenv("PENSTOCK_TOKEN", "wrong" * 5)
    refused = call("list")
    assert refused.exit_code == 1 and "the server wants a token: set PENSTOCK_TOKEN" in refused.stderr
