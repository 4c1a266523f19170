"""Commands for running jobs, on jobs that only note what they are asked for."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.commands import app
from penstock.common.job_failure import JobFailure
from penstock.common.job_progress import HeldBack, Progress
from tests.unit.engine.announced import QuietJob, announced

FIRST, SECOND = "ab" + "0" * 30, "cd" + "0" * 30


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path_factory.mktemp("h")))


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words)


def test_the_list_is_plain_where_it_is_piped() -> None:
    with announced("totals", FIRST), announced("a job [with] a long\nname", SECOND):
        told = call("list")
    title, first, second = told.stdout.splitlines()
    assert title.split() == ["ID", "NAME", "STATUS", "BATCH", "RECORDS", "RECORDS/S", "WATERMARK", "SINCE", "PROCESS"]
    words = first.split()
    assert words[:7] == ["ab0000000000", "totals", "running", "7", "12,345", "679", "2023-11-14T22:13:20Z"]
    assert words[-1] == str(os.getpid())
    assert "a job [with] a long\\nname  running" in second
    assert title.index("STATUS") == first.index("running") == second.index("running")


def test_the_list_for_programs() -> None:
    with announced("totals", FIRST):
        (status,) = json.loads(call("list", "--json").stdout)
    assert (status["id"], status["name"], status["status"], status["batch"]) == (FIRST, "totals", "RUNNING", 7)


def test_nothing_runs() -> None:
    told = call("list")
    assert (told.exit_code, told.stdout, told.stderr) == (0, "", "no job is running\n")
    assert json.loads(call("list", "--json").stdout) == []


def test_savepoint_prints_the_path_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with announced("totals", FIRST) as job:
        told = call("savepoint", "totals", "here")
        assert (told.exit_code, told.stdout) == (0, f"{tmp_path}/here/savepoint-1\n")
        assert call("savepoint", "ab", "s3://bucket/x").stdout == "s3://bucket/x/savepoint-1\n"
        assert job.asked == [("savepoint", f"{tmp_path}/here"), ("savepoint", "s3://bucket/x")]
        failed = call("savepoint", "ab", "nowhere")
        assert (failed.exit_code, failed.output) == (1, "penstock: savepoint directory nowhere cannot be used\n")


@pytest.mark.parametrize(("options", "drain"), [((), False), (("--drain",), True)])
def test_stop(options: tuple[str, ...], drain: bool) -> None:
    with announced("totals", FIRST) as job:
        told = call("stop", "totals", "--savepoint-path", "/there", *options)
        assert (told.exit_code, told.stdout) == (0, "/there/savepoint-2\n")
        assert job.asked == [("stop", drain, "/there")]
        assert call("list").stdout == ""


@pytest.mark.parametrize(("command", "option"), [("stop", "--savepoint-path"), ("savepoint", "DIRECTORY")])
def test_a_job_without_a_directory_needs_one(command: str, option: str) -> None:
    with announced("totals", FIRST) as job:
        told = call(command, "totals")
        assert told.exit_code == 1
        assert told.output.startswith(f"penstock: job 'totals' has no savepoint directory: pass {option}, or ")
        assert job.asked == []
    with announced("totals", FIRST, savepoints="/configured") as job:
        assert call(command, "totals").exit_code == 0
        assert job.asked[0][-1] is None  # the job knows its own


def test_cancel() -> None:
    with announced("totals", FIRST) as job:
        told = call("cancel", FIRST)
        assert (told.exit_code, told.stdout, told.stderr) == (0, "", f"job 'totals' ({FIRST}) was cancelled\n")
        assert job.asked == [("cancel",)]


def test_who_is_meant_must_be_clear() -> None:
    with announced("same", FIRST) as first, announced("same", SECOND) as second:
        told = call("cancel", "same")
        assert told.exit_code == 1
        assert told.output.startswith("penstock: 'same' may be ab0000000000 ('same', process ")
        assert told.output.count("\n") == 1
        assert first.asked == second.asked == []
    assert call("stop", "same").output == "penstock: no running job has the id, name or process id 'same': " + (
        "no job is running\n"
    )


def test_a_terminal_gets_a_table_and_names_are_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    with announced("a job [bold]named[/bold] so", FIRST):
        told = call("list")
    title, row = told.stdout.splitlines()
    assert "\x1b[1mname" in title
    assert "a job [bold]named[/bold] so  running" in row
    monkeypatch.setenv("COLUMNS", "60")
    with announced("a job with a very, very long name that does not fit", FIRST):
        _, row = call("list").stdout.splitlines()
        assert "ab0000000000  a job with a very, ve…  running" in row  # and too long for the terminal: nothing is lost


HELD = HeldBack(
    operators=("totals",), uid="orders", name="orders", split="orders-1", subtask=0, others=0, reason="never",
    watermark=None, event_time=None, since_ms=0, stalled_ms=42_000, waiting_ms=40_000, last_record_ms=None,
    is_quiet=False, text="event time of 'totals' has not begun after 42 s: split orders-1 of\nsource 'orders'",
)  # fmt: skip


def test_the_list_says_what_event_time_waits_for() -> None:
    with announced("shop", FIRST) as job:
        job.holders = (HELD,)
        told, status = call("list"), json.loads(call("list", "--json").stdout)[0]
    assert told.stderr == (
        "job 'shop': event time of 'totals' has not begun after 42 s: split orders-1 of\\nsource 'orders'\n"
    )
    assert status["event_time_holders"] == [{**asdict(HELD), "operators": ["totals"]}]


def test_the_list_says_why_a_job_was_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Traceback (most recent call last):\n  File\nZeroDivisionError: boom\nin operator 'Map' (uid 'm', subtask 0)"
    progress = Progress(3, 10, restarts=2, last_failure=JobFailure(text, 1, 1_700_000_000_000, 5_000))
    monkeypatch.setattr(QuietJob, "progress", lambda job: progress)
    monkeypatch.setattr(QuietJob, "restarts", lambda job: 2)
    with announced("totals", FIRST):
        told = call("list")
        (status,) = json.loads(call("list", "--json").stdout)
    assert told.stderr == (
        "job 'totals' was restarted 2 times; last failure at 2023-11-14T22:13:20Z: "
        "ZeroDivisionError: boom, in operator 'Map' (uid 'm', subtask 0)\n"
    )
    assert status["last_failure"] == {"text": text, "attempt": 1, "at_ms": 1_700_000_000_000, "restart_in_ms": 5_000}
