"""Processes that Spark starts for every job import little: the job waits for them."""

from __future__ import annotations

import subprocess
import sys

NOT_NEEDED = ("penstock.runtime.operators", "penstock.state", "penstock.datastream", "penstock.graph", "rich", "pandas")


def test_the_process_that_is_asked_for_offsets_imports_no_operators() -> None:
    program = "import sys, penstock.engine.spark.native_source; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "penstock.job.intake" in loaded
    assert [name for name in NOT_NEEDED if name in loaded] == []
