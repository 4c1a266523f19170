"""Every transcript as a job in process, step by step; some of them with batches, order and crashes left to chance."""

from __future__ import annotations

import random

import pytest

from penstock.testing.players import play_in_process, play_with_seed
from penstock.testing.transcripts import Transcript
from tests.transcripts.every_case import AT_RANDOM, EVERY, JOBS_AT_RANDOM

CHOSEN = 60
CHOSEN_JOBS = 20
SOAK_SEEDS = 20


@pytest.mark.parametrize("transcript", EVERY, ids=lambda transcript: transcript.name)
def test_transcript(transcript: Transcript) -> None:
    play_in_process(transcript)


def drawn(seed: int) -> list[Transcript]:
    random_ = random.Random(seed)
    return [*random_.sample(AT_RANDOM, CHOSEN), *random_.sample(JOBS_AT_RANDOM, CHOSEN_JOBS)]


def test_transcripts_at_random(seed: int) -> None:
    """Others in every run: a failure names the transcript, and the seed printed with it chooses it again."""
    for transcript in drawn(seed):
        play_with_seed(transcript, seed)


def test_transcripts_in_continuous_mode(seed: int) -> None:
    """Rows and barriers in any order; a failure names the transcript and the seed."""
    for transcript in drawn(seed + 1):
        play_with_seed(transcript, seed, "continuous")


@pytest.mark.soak
@pytest.mark.parametrize("transcript", [*AT_RANDOM, *JOBS_AT_RANDOM], ids=lambda transcript: transcript.name)
def test_transcript_at_random_many_times(transcript: Transcript, seed: int) -> None:
    for number in range(SOAK_SEEDS):
        play_with_seed(transcript, seed + number)
        play_with_seed(transcript, seed + number, "continuous")
