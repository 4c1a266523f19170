"""A child that is tied to the process that started it does not outlive it, even one that was killed."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from penstock.kafka_broker.parent_death import dying_with_this_process

STARTER = """
import subprocess, sys
from penstock.kafka_broker.parent_death import dying_with_this_process
child = subprocess.Popen(
    [sys.executable, "-c", "import signal; signal.pause()"],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    start_new_session=True,
    preexec_fn=dying_with_this_process(),
)
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_child_dies_with_the_process_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        child = psutil.Process(int(starter.stdout.readline()))
        try:
            starter.kill()
            starter.wait(30)
            _, alive = psutil.wait_procs([child], timeout=10)
            assert alive == []
        finally:
            if child.is_running():
                child.kill()


def test_elsewhere_children_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert dying_with_this_process() is None
