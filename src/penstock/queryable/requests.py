"""Queries as requests have them: as texts, of a URL or a command line, or as one JSON object."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import QueryError
from penstock.queryable.answering import StateQuery
from penstock.queryable.map_entries import DEFAULT_LIMIT

_TEXTS = {"job", "operator", "state", "name", "prefix", "from", "to", "window", "limit"}
_MANY = {"key", "map_key"}
_FIELDS = {"job", "operator", "state", "name", "keys", "map_keys", "prefix", "from", "to", "window", "limit"}


def query_of_texts(pairs: Iterable[tuple[str, str]]) -> StateQuery:
    """Return the query of names and texts; keys are JSON or bare words, and may come several times."""
    given: dict[str, str] = {}
    many: dict[str, list[str]] = {}
    for name, text in pairs:
        if name in _MANY:
            many.setdefault(name, []).append(text)
        elif name in _TEXTS:
            given[name] = text
        else:
            raise QueryError(f"a query has no {name[:40]!r}: it has {', '.join(sorted(_TEXTS | _MANY))}")
    window = given.get("window")
    return StateQuery(
        keys=many.get("key", []),
        operator=given.get("operator"),
        state=given.get("state"),
        queryable=given.get("name"),
        are_texts=True,
        map_keys=many.get("map_key"),
        prefix=given.get("prefix"),
        first=given.get("from"),
        last=given.get("to"),
        window=None if window is None else [whole_number(part, "window") for part in window.split(",")],
        limit=whole_number(given.get("limit", str(DEFAULT_LIMIT)), "limit"),
    )


def query_of_body(body: dict[str, Any]) -> StateQuery:
    """Return the query of a JSON object."""
    if not body.keys() <= _FIELDS:
        raise QueryError(f"a query has some of {', '.join(sorted(_FIELDS))}, and nothing else")
    for name in ("operator", "state", "name", "prefix", "job"):
        if not isinstance(body.get(name) or "", str):
            raise QueryError(f"{name} must be a text")
    for name in ("keys", "map_keys"):
        if not isinstance(body.get(name) or [], list):
            raise QueryError(f"{name} must be an array")
    return StateQuery(
        keys=body.get("keys") or [],
        operator=body.get("operator"),
        state=body.get("state"),
        queryable=body.get("name"),
        map_keys=body.get("map_keys"),
        prefix=body.get("prefix"),
        first=body.get("from"),
        last=body.get("to"),
        window=body.get("window"),
        limit=body.get("limit", DEFAULT_LIMIT),
    )


def whole_number(given: str, name: str) -> int:
    """Return a number of a request."""
    try:
        return int(given)
    except ValueError:
        raise QueryError(f"{name} must be a whole number, got {given[:40]!r}") from None
