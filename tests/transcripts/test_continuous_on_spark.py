"""Every transcript on Spark in continuous mode, but for those of the clock and of batches."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from penstock.testing.transcripts import Transcript
from tests.spark.processes import process_group, spark_settings
from tests.transcripts.continuous_program import BROKEN, PLAYED
from tests.transcripts.mutants import Mutant, mutated

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# Transcripts of one input with one way through the job have few tasks, whatever the number of branches.
SLOTS = 16


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the transcripts that failed have to say, by name."""
    folder: Path = tmp_path_factory.mktemp("continuous")
    with process_group(folder) as group:
        settings = {**spark_settings(group), "spark.master": f"local[{SLOTS}]"}
        settings |= {"execution.checkpointing.interval": "200 ms"}
        command = [sys.executable, "-m", "tests.transcripts.continuous_program", json.dumps(settings)]
        program = group.start(command, "played")
        program.finish()
        found: dict[str, str] = json.loads(program.tail(1))
    return found


@pytest.mark.parametrize("transcript", PLAYED, ids=lambda transcript: transcript.name)
def test_transcript(transcript: Transcript, failed: dict[str, str]) -> None:
    assert transcript.name not in failed, failed[transcript.name]


@pytest.mark.parametrize("mutant", BROKEN, ids=lambda mutant: mutant.__name__)
def test_a_broken_operator_is_caught(mutant: type[Mutant], failed: dict[str, str]) -> None:
    assert mutated(mutant).name in failed
