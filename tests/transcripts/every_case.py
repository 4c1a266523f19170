"""All transcripts, by what they need."""

from __future__ import annotations

from penstock.testing.bare import is_one_operator
from tests.transcripts.cases import (
    async_calls,
    broadcast,
    connected,
    field_aggregates,
    interval_join,
    keyed_state,
    operator_state,
    pipelines,
    rolling,
    state_ttl,
    stateless,
    timers,
    watermarks,
    window_assigners,
    window_evictors,
    window_functions,
    window_join,
    window_late_data,
    window_sessions,
    window_triggers,
)

ALL = [
    *async_calls.TRANSCRIPTS,
    *stateless.TRANSCRIPTS,
    *keyed_state.TRANSCRIPTS,
    *state_ttl.TRANSCRIPTS,
    *rolling.TRANSCRIPTS,
    *field_aggregates.TRANSCRIPTS,
    *timers.TRANSCRIPTS,
    *watermarks.TRANSCRIPTS,
    *pipelines.TRANSCRIPTS,
    *connected.TRANSCRIPTS,
    *broadcast.TRANSCRIPTS,
    *operator_state.TRANSCRIPTS,
    *interval_join.TRANSCRIPTS,
    *window_assigners.TRANSCRIPTS,
    *window_triggers.TRANSCRIPTS,
    *window_evictors.TRANSCRIPTS,
    *window_functions.TRANSCRIPTS,
    *window_sessions.TRANSCRIPTS,
    *window_late_data.TRANSCRIPTS,
    *window_join.TRANSCRIPTS,
]
ONE_OPERATOR = [transcript for transcript in ALL if is_one_operator(transcript)]
AT_RANDOM = [transcript for transcript in ALL if not transcript.stepwise_only]
BY_NAME = {transcript.name: transcript for transcript in ALL}
