"""What a job of the comparison is told and tells; the process that runs it is a real one where its end matters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import peer_environments
from benchmarks.peers import drawn, reporting


def test_each_input_is_reported_when_it_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "end_with_the_parent", lambda: None)
    task = reporting.Task("count", str(tmp_path / "report"), [10, 20], keys=5, options={"batch": 3})

    def run(told: reporting.Task, records: int) -> list[Any]:
        assert told == task
        if records == 20:
            raise ValueError("broken")
        return [records]

    with pytest.raises(ValueError, match="broken"):
        reporting.serve(run, [task.as_json()])
    (line,) = (tmp_path / "report").read_text().splitlines()
    assert (json.loads(line)["records"], json.loads(line)["results"]) == (10, [10])


def test_a_job_ends_when_the_runner_is_gone() -> None:
    code = "import signal; from benchmarks.peers import reporting; reporting.end_with_the_parent(); signal.pause()"
    environment = {**os.environ, "PYTHONPATH": str(peer_environments.ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 1


def test_a_table_of_keys_travels_by_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "PERIOD", 1_000)
    table = drawn.DrawnKeys(50, True, True)
    rebuild, made_of = table.__reduce__()
    assert (rebuild, made_of) == (drawn.drawn_keys, (50, True, True))
    assert set(table) <= set(map(str, range(50)))


def test_an_environment_is_made_again_when_its_list_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setenv("PENSTOCK_BENCH_ENVIRONMENTS", str(tmp_path / "environments"))
    monkeypatch.setattr(peer_environments, "REQUIREMENTS", tmp_path)
    monkeypatch.setattr("venv.create", lambda place, with_pip: Path(place).mkdir(parents=True))
    monkeypatch.setattr("subprocess.run", lambda command, check: made.append(Path(command[-1]).read_text()))
    for text in ("bytewax==1", "bytewax==1", "bytewax==2"):
        (tmp_path / "bytewax.txt").write_text(text)
        peer_environments.prepare("bytewax")
    assert made == ["bytewax==1", "bytewax==2"]
