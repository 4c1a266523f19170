"""Every transcript of a topology on Kafka Streams' way of testing: the driver, one record at a time."""

from __future__ import annotations

import pytest

from penstock.testing.transcripts import Transcript
from tests.transcripts.every_case import TOPOLOGIES
from tests.transcripts.topologies import play_on_driver


@pytest.mark.parametrize("transcript", TOPOLOGIES, ids=lambda transcript: transcript.name)
def test_transcript(transcript: Transcript) -> None:
    play_on_driver(transcript)
