"""State of jobs, queried from outside: read replicas of checkpoint directories, their HTTP API and its client.

A replica answers as of a sealed version, also while the job is down; see docs/queryable_state.md.
"""

from __future__ import annotations

from penstock.queryable.answering import StateQuery, answer, describe, list_keys
from penstock.queryable.client import KeyedAnswer, QueryableStateClient
from penstock.queryable.replica import Replica, ReplicaStatus

__all__ = [
    "KeyedAnswer",
    "QueryableStateClient",
    "Replica",
    "ReplicaStatus",
    "StateQuery",
    "answer",
    "describe",
    "list_keys",
]
