"""`penstock.ui.enabled`: pages of a job, served by its own process, and where their link is told."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import httpx2
import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import ConfigurationError
from penstock.job.cards import HOME
from penstock.job.notebook import show_link


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, str(tmp_path))


def run_job(name: str, **settings: str) -> str:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    for key, value in {"penstock.ui.enabled": "true", **settings}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1, 2, 3]).map(lambda value: value).print()
    client = env.execute_async(name)
    client.wait()
    return str(client.get_job_id())


def test_the_link_opens_the_pages_of_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    job_id = run_job("with pages")
    told = re.search(r"open (http://127\.0\.0\.1:\d+)(/login\?code=\S+)#/jobs/(\w+) to watch", capsys.readouterr().err)
    assert told is not None and told[3] == job_id
    assert httpx2.get(f"{told[1]}/v1/penstock/jobs").status_code == 401
    with httpx2.Client(base_url=told[1], follow_redirects=True) as client:
        assert "<title>Penstock</title>" in client.get(told[2]).text
        # The job has ended, and is still shown: in a notebook that is when one wants to see it.
        assert [job["status"] for job in client.get("/v1/penstock/jobs").json()["jobs"]] == ["FINISHED"]
        assert client.get(f"/v1/penstock/jobs/{job_id}/live").json()["name"] == "with pages"
        assert client.get("/scripts/app.js").headers["content-type"].startswith("text/javascript")


def test_nothing_is_served_unless_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    run_job("without pages", **{"penstock.ui.enabled": "false"})
    assert "http://" not in capsys.readouterr().err


def test_a_port_that_is_taken_is_told_before_the_job_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_job("first")
    told = re.search(r"http://127\.0\.0\.1:(\d+)/", capsys.readouterr().err)
    assert told is not None
    with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1:{told[1]}"):
        run_job("second", **{"penstock.ui.port": told[1]})


def test_a_port_must_be_one() -> None:
    with pytest.raises(ConfigurationError, match="must be from 0 to 65535"):
        run_job("third", **{"penstock.ui.port": "70000"})


def test_a_notebook_shows_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []
    display = types.SimpleNamespace(display=lambda content, raw: shown.append(content))
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, display=display))
    assert show_link('http://x/?a="b"', "Open <it>")
    [content] = shown
    assert content["text/html"] == (
        '<a href="http://x/?a=&quot;b&quot;" target="_blank" rel="noopener">Open &lt;it&gt;</a>'
    )
    monkeypatch.delitem(sys.modules, "IPython")
    assert not show_link("http://x", "Open")
