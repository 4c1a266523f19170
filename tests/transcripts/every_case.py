"""All transcripts, by what they need."""

from __future__ import annotations

from penstock.testing.players import is_one_operator
from tests.transcripts.cases import keyed_state, pipelines, rolling, stateless, timers, watermarks

ALL = [
    *stateless.TRANSCRIPTS,
    *keyed_state.TRANSCRIPTS,
    *rolling.TRANSCRIPTS,
    *timers.TRANSCRIPTS,
    *watermarks.TRANSCRIPTS,
    *pipelines.TRANSCRIPTS,
]
ONE_OPERATOR = [transcript for transcript in ALL if is_one_operator(transcript)]
AT_RANDOM = [transcript for transcript in ALL if not transcript.stepwise_only]
BY_NAME = {transcript.name: transcript for transcript in ALL}
