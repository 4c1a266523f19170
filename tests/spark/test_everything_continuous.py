"""Sources of every kind, patterns and tables in continuous mode on Spark, and what a program gets at once."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.spark.jobs.everything_continuous import CASES, COUNT, WORDS
from tests.spark.processes import process_group, spark_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

COUNTS = [list(each) for each in sorted(Counter(WORDS).items())]
EXPECTED: dict[str, Any] = {
    "from_collection": COUNTS,
    "from_sequence": sum(range(COUNT + 1)),
    "generated": sum(range(COUNT)),
    "from_files": [[word, 4 * count] for word, count in COUNTS],
    "from_new_files": ["first", "second"],
    "from_socket": COUNTS,
    "from_database": sum(n * n for n in range(COUNT)),
    "one_after_the_other": [1, 2, 3, 11, 12, 13],
    "union_of_sources": sorted([*COUNTS, ["slow", 50]]),
    "at_once": [[0, 1, 2], 0],
    "slow_program": [200_000, True],
    "aligned_sources": [44_000, True],
    "patterns": [[1, 2], [3, 5]],
    "tables": COUNTS,
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each case came to."""
    folder: Path = tmp_path_factory.mktemp("everything")
    with process_group(folder) as group:
        settings = {**spark_settings(group), "spark.master": "local[16]"}
        command = [sys.executable, "-m", "tests.spark.jobs.everything_continuous", json.dumps(settings), str(folder)]
        program = group.start(command, "everything")
        program.finish()
        told: dict[str, Any] = json.loads(program.tail(1))
    return told


@pytest.mark.parametrize("case", [case.__name__ for case in CASES])
def test_case(case: str, found: dict[str, Any]) -> None:
    assert found[case] == EXPECTED[case], found[case]
