"""Queries that a process answers itself, from checkpoint directories, in the words of the HTTP API."""

from __future__ import annotations

from typing import Any

from penstock.queryable.answering import StateQuery, answer, describe, list_keys
from penstock.queryable.replica import Replica
from penstock.queryable.replicas import Replicas
from penstock.queryable.requests import query_of_body, query_of_texts


class OwnReplicas:
    """Reads a checkpoint directory, or a folder of several; every answer is of the newest version there is."""

    def __init__(self, place: str, *, allows_pickles: bool = False) -> None:
        """Read nothing yet."""
        self._replicas = Replicas([place], allows_pickles=allows_pickles)

    def ask(self, path: str, body: dict[str, Any] | None = None, **parameters: Any) -> Any:
        """Return what the HTTP API answers."""
        if path == "jobs":
            return self._replicas.statuses()
        if path == "state":
            return self._answered(query_of_body(body or {}), (body or {}).get("job"))
        replica = self._refreshed(parameters.pop("job", None))
        if path == "job":
            return describe(replica)
        given = {name: value for name, value in parameters.items() if value is not None}
        return list_keys(replica, given.pop("operator"), given.pop("state"), **given)

    def ask_texts(self, pairs: list[tuple[str, str]]) -> Any:
        """Answer a query that a person has typed."""
        return self._answered(query_of_texts(pairs), dict(pairs).get("job"))

    def _answered(self, query: StateQuery, job: str | None) -> dict[str, Any]:
        return answer(self._refreshed(job), query)

    def _refreshed(self, job: str | None) -> Replica:
        replica = self._replicas.find(job)
        replica.refresh()
        return replica

    def close(self) -> None:
        """Let go of the copies."""
        self._replicas.close()
