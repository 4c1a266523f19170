"""A test run that is killed leaves no process behind; one that ends in order is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.left_behind import MARK, kill_all, marked
from tests.spark.waiting import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

ROOT = Path(__file__).resolve().parents[2]
# Starts a process in a session of its own, which no signal to the run reaches, and tells the mark.
RUN = """
import os, subprocess, sys
from tests.left_behind import MARK, watch
end = watch()
subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL)
print(os.environ[MARK], flush=True)
sys.stdin.read()
end()
"""


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A run and its mark; the run itself had no mark when it began, so only what it starts can be found by it."""
    command = [sys.executable, "-c", RUN]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        mark = run.stdout.readline().strip()
        try:
            # The kernel shows the environment of a new process a moment after `Popen` returns.
            wait_until(lambda: len(marked(mark)) == 1, "what the run has started shows its mark")
            yield run, mark
        finally:
            run.kill()
            kill_all(mark)


def test_what_a_killed_run_has_started_is_gone(started: tuple[subprocess.Popen[str], str]) -> None:
    run, mark = started
    run.kill()
    run.communicate()
    wait_until(lambda: not marked(mark), "what the run has started is gone")


def test_a_run_that_ends_in_order_kills_nobody(started: tuple[subprocess.Popen[str], str]) -> None:
    run, mark = started
    sleepers = marked(mark)
    run.communicate()
    assert marked(mark) == sleepers


def test_this_run_is_watched() -> None:
    assert len(os.environ[MARK]) == 32
