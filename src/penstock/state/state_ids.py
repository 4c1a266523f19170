"""The ids that stand for states in their rows, and the rows that say which state has which (`state.keyed`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from penstock.errors import StateError
from penstock.state.store import OrderedStore

STATE_KINDS = ("value", "list", "map", "reducing", "aggregating")
"""Kinds of state, in the order of the numbers that stand for them on disk."""
META = b"\x00"

KindAndId = tuple[str, bytes]


def state_id(name: str) -> bytes:
    """Return the four bytes that stand for a state in its rows."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:4]


def new_state_id(name: str, known: Mapping[str, KindAndId]) -> bytes:
    """Return the id of a state that has none yet; names whose ids meet by chance are refused."""
    new_id = state_id(name)
    for other, (_, held) in known.items():
        if held == new_id:
            raise StateError(f"State names {name!r} and {other!r} have the same id by chance: rename one of them.")
    return new_id


def write_id(store: OrderedStore, operator: bytes, name: str, kind: str, new_id: bytes) -> None:
    """Say in the store which kind and id a state of an operator has."""
    row = _prefix(operator) + name.encode("utf-8", "surrogatepass")
    store.put(row, bytes([STATE_KINDS.index(kind)]) + new_id)


def read_ids(store: OrderedStore, operator: bytes) -> dict[str, KindAndId]:
    """Return kind and id of each state of an operator that the store has, by name."""
    prefix = _prefix(operator)
    return {
        row[len(prefix) :].decode("utf-8", "surrogatepass"): (STATE_KINDS[data[0]], data[1:])
        for row, data in store.scan(prefix)
    }


def _prefix(operator: bytes) -> bytes:
    return META + operator + b"s"
