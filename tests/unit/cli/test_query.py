"""The command `query`, against directories, running jobs and servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.commands import app
from penstock.queryable.replicas import Replicas
from penstock.queryable.serving import Listening, query_server
from tests.unit.queryable.jobs import counting_job, expected_state, records_of, run_all
from tests.unit.queryable.test_http import TOKEN, running


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("jobs") / "checkpoint"
    run_all(counting_job(made, records_of(50)))
    return made


def said(*words: str, code: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["query", *words])
    assert result.exit_code == code, result.output
    return result.stdout, result.stderr


def test_what_can_be_asked_for(directory: Path) -> None:
    shown, told = said(str(directory))
    assert "keeps" in shown and "counts" in shown and "STRING -> LONG" in shown
    assert "version" in told and "sealed" in told
    one = json.loads(said(str(directory), "keeps", "--json")[0])
    assert [operator["uid"] for operator in one["operators"]] == ["keeps"]


def test_state_of_keys(directory: Path) -> None:
    expected = expected_state(records_of(50))
    found = json.loads(said(str(directory), "keeps", "total", "k1", "nobody", "--json")[0])
    assert [each["value"] for each in found["results"]] == [expected["k1"]["total"], None]
    shown, told = said(str(directory), "Keep", "seen", "k2", "--prefix", "n4")
    assert shown == f'"k2":\n  "n4": {expected["k2"]["seen"]["n4"]}\n'
    assert f"version {found['version']}, sealed" in told
    assert said(str(directory), "keeps", "total", "nobody")[0] == '"nobody": nothing\n'
    assert json.loads(said(str(directory), "--name", "counts", "k1", "--json")[0])["state"] == "count"
    assert sorted(said(str(directory), "keeps", "total")[0].split()) == [f'"k{number}"' for number in range(6)]


def test_through_a_server(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TOKEN", TOKEN)
    replicas = Replicas([str(directory)])
    with running(query_server(replicas, Listening(port=0, tokens=(TOKEN,)))) as port:
        url = f"http://127.0.0.1:{port}"
        direct = json.loads(said(str(directory), "keeps", "total", "k1", "--json")[0])
        served = json.loads(said(url, "keeps", "total", "k1", "--json")[0])
        assert served["results"] == direct["results"]
        assert "keeps" in said(url)[0]
        told = said(url, "keeps", "nothing", "k1", code=1)[1]
        assert told.startswith("penstock: operator 'keeps' has no keyed state")
    replicas.close()


def test_mistakes_are_told_in_a_line(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    told = said("no-such-job", "keeps", "total", "k1", code=1)[1]
    assert told.startswith("penstock: 'no-such-job' is no directory, no URL and no running job")
    assert "has no operator 'nobody'" in said(str(directory), "nobody", "total", "k1", code=1)[1]
    assert "at least one KEY" in said(str(directory), "--name", "counts", code=1)[1]
    (tmp_path / "empty").mkdir()
    assert "there is no job here" in said(str(tmp_path / "empty"), code=1)[1]
