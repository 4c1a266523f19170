"""Every transcript as a job in process: step by step, and with batches, order and crashes left to chance."""

from __future__ import annotations

import pytest

from penstock.testing.players import play_in_process, play_with_seed
from penstock.testing.transcripts import Transcript
from tests.transcripts.every_case import ALL, AT_RANDOM

SEEDS = 1


@pytest.mark.parametrize("transcript", ALL, ids=lambda transcript: transcript.name)
def test_transcript(transcript: Transcript) -> None:
    play_in_process(transcript)


@pytest.mark.parametrize("transcript", AT_RANDOM, ids=lambda transcript: transcript.name)
def test_transcript_at_random(transcript: Transcript, seed: int) -> None:
    for number in range(SEEDS):
        play_with_seed(transcript, seed + number)
