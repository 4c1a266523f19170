"""A Java process that dies under a job ends the job with the cause; further jobs of the program are not lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.processes import process_group


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_java_process_ends_its_job_and_spares_the_next(tmp_path: Path) -> None:
    with process_group(tmp_path / "group") as group:
        program = group.start([sys.executable, "-m", "tests.spark.jobs.lost_java", str(tmp_path)], "lost")
        assert program.process.wait(600) == 0, program.tail()  # and does not hang at its end either
        group.await_end()
    *failed, users = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    assert [each["strategy"] for each in failed] == ["exponential"]
    for each in failed:
        check_failure(each)
    first, again, after = users["user's session"]
    assert first == again and first.startswith("SparkLostError: the Spark session of this program has ended")
    assert "SparkSession.builder" in first
    assert after == "[2, 3, 4]"


def check_failure(seen: dict[str, Any]) -> None:
    assert "Spark's Java process was killed by signal 9 (SIGKILL" in seen["text"], seen
    assert "job 'endless' failed" in seen["text"]
    assert "py4j" not in seen["text"]
    assert seen["restarts"] == 0
