"""A test program leaves nothing behind in the folder for temporary files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from penstock.common import RestartStrategies, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import Fail, ScriptedSource

env = StreamExecutionEnvironment.in_process()
env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 10))
numbers = env.from_source(ScriptedSource([1, Fail(), 2]), WatermarkStrategy.no_watermarks(), "script")
assert list(numbers.map(lambda n: n * 2).execute_and_collect()) == [2, 4]
"""


def test_a_job_with_scripted_failures_leaves_no_folder(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    assert list(tmp_path.iterdir()) == []
