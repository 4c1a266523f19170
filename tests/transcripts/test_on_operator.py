"""Every transcript about one operator, on that operator alone."""

from __future__ import annotations

import pytest

from penstock.testing.bare import play_bare
from penstock.testing.transcripts import Transcript
from tests.transcripts.every_case import BY_NAME, EVERY, ONE_OPERATOR


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len(ONE_OPERATOR) >= 30
    assert len(BY_NAME) == len(EVERY)


@pytest.mark.parametrize("transcript", ONE_OPERATOR, ids=lambda transcript: transcript.name)
def test_transcript(transcript: Transcript) -> None:
    play_bare(transcript)


@pytest.mark.parametrize("transcript", ONE_OPERATOR, ids=lambda transcript: transcript.name)
def test_transcript_restored_after_each_step(transcript: Transcript) -> None:
    play_bare(transcript, restores=True)
