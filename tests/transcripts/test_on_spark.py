"""Transcripts on Spark, all of DataStream and some of each front end, in as few jobs as their clocks allow."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing.players import packed, play_together
from penstock.testing.transcripts import Transcript, TranscriptMismatch
from tests.transcripts.every_case import ON_SPARK
from tests.transcripts.mutants import MUTANTS, Mutant, mutated

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SEEN_ON_SPARK = [mutant for mutant in MUTANTS if not mutant.fades]


def asked_for(request: pytest.FixtureRequest) -> list[Transcript]:
    """The transcripts of the tests that run; `make test` draws a part of them."""
    tests = [each for each in request.session.items if isinstance(each, pytest.Function) and each.path == request.path]
    values = [value for test in tests for value in test.callspec.params.values()]
    return [value if isinstance(value, Transcript) else mutated(value) for value in values]


@pytest.fixture(scope="module")
def failed(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, TranscriptMismatch]:
    """The transcripts that failed, those of broken operators among them, by name."""
    found: dict[str, TranscriptMismatch] = {}
    for number, job in enumerate(packed(asked_for(request))):
        directory = str(tmp_path_factory.mktemp(f"transcripts-{number}"))
        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.set_parallelism(1)
        # A script says itself where batches end; without this, a slow machine would cut them into smaller ones.
        environment.configure(Configuration.from_dict({"penstock.batch.target-time": "0"}))
        environment.get_checkpoint_config().set_checkpoint_storage_dir(directory)
        found |= play_together(environment, job, directory)
    return found


@pytest.mark.parametrize("transcript", ON_SPARK, ids=lambda transcript: transcript.name)
def test_transcript(transcript: Transcript, failed: dict[str, TranscriptMismatch]) -> None:
    if transcript.name in failed:
        raise failed[transcript.name]


@pytest.mark.parametrize("mutant", SEEN_ON_SPARK, ids=lambda mutant: mutant.__name__)
def test_a_broken_operator_is_caught(mutant: type[Mutant], failed: dict[str, TranscriptMismatch]) -> None:
    assert mutated(mutant).name in failed
