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
    kstreams_joins,
    kstreams_tables,
    kstreams_windows,
    operator_state,
    pipelines,
    rolling,
    sql_groups,
    sql_joins,
    sql_match,
    sql_over,
    sql_ranks,
    sql_state_ttl,
    sql_time_joins,
    sql_windows,
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
from tests.transcripts.queries import Form, form_of, mixed

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
"""Those of DataStream: the only ones that all players play."""
QUERIES = [
    *sql_groups.TRANSCRIPTS,
    *sql_windows.TRANSCRIPTS,
    *sql_over.TRANSCRIPTS,
    *sql_ranks.TRANSCRIPTS,
    *sql_joins.TRANSCRIPTS,
    *sql_time_joins.TRANSCRIPTS,
    *sql_match.TRANSCRIPTS,
    *sql_state_ttl.TRANSCRIPTS,
]
TOPOLOGIES = [
    *kstreams_windows.TRANSCRIPTS,
    *kstreams_joins.TRANSCRIPTS,
    *kstreams_tables.TRANSCRIPTS,
]
EVERY = [*ALL, *QUERIES, *TOPOLOGIES]
ONE_OPERATOR = [transcript for transcript in ALL if is_one_operator(transcript)]
AT_RANDOM = [transcript for transcript in ALL if not transcript.stepwise_only]
JOBS_AT_RANDOM = [
    mixed(transcript) if form_of(transcript) is Form.COLUMNS else transcript
    for transcript in (*QUERIES, *TOPOLOGIES)
    if not transcript.stepwise_only
]
"""Queries and topologies whose results do not depend on cuts; columns and rows come by turns."""
ON_SPARK = [
    *ALL,
    *(
        transcript
        for subject in (sql_groups, sql_windows, sql_over, sql_ranks, sql_joins, sql_time_joins, sql_match)
        for transcript in subject.TRANSCRIPTS[:2]
    ),
    *(subject.TRANSCRIPTS[0] for subject in (kstreams_windows, kstreams_joins, kstreams_tables)),
]
"""All of DataStream, and of each subject of queries and topologies the first case: rules have no second home there."""
BY_NAME = {transcript.name: transcript for transcript in EVERY}
