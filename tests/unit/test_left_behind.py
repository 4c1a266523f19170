"""A test run that is killed leaves no process behind; one that ends in order is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.left_behind import MARK, marked
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


def start() -> tuple[subprocess.Popen[str], str]:
    run = subprocess.Popen(
        [sys.executable, "-c", RUN], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    return run, run.stdout.readline().strip()


def test_what_a_killed_run_has_started_is_gone() -> None:
    run, mark = start()
    assert len(marked(mark)) == 1  # the run itself had no mark when it began
    run.kill()
    run.communicate()
    wait_until(lambda: not marked(mark), "what the run has started is gone")


def test_a_run_that_ends_in_order_kills_nobody() -> None:
    run, mark = start()
    (sleeper,) = marked(mark)
    run.communicate()
    assert marked(mark) == [sleeper]
    subprocess.run(["kill", "-9", str(sleeper)], check=True)


def test_this_run_is_watched() -> None:
    assert len(os.environ[MARK]) == 32
