"""Where crashes are plugged into the in-process engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = """
import sys
from penstock.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.in_process({options})
numbers = list(env.from_sequence(1, 30).execute_and_collect())
assert sorted(numbers) == list(range(1, 31))
assert "penstock.testing" not in sys.modules
"""


def run(options: str) -> subprocess.CompletedProcess[str]:
    """A program that does not import the test kit; pytest, in this process, has."""
    program = PROGRAM.format(options=options)
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "src", capture_output=True, text=True, timeout=600, check=False
    )


def test_a_seed_needs_no_test_kit() -> None:
    done = run("seed=3")
    assert done.returncode == 0, done.stderr


def test_crashes_need_the_test_kit_and_say_so() -> None:
    done = run("seed=3, crash_rate=0.1")
    assert "crash_rate and crash_at are part of the test kit: import penstock.testing first" in done.stderr
