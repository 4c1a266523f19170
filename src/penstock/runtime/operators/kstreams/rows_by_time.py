"""Rows by key and time, with a retention: what window stores, session stores and buffers are made of.

A row is named by key, time and a sub-number. Rows of a key lie in *spans* of time: the namespace of a row is its key
and span, so a fetch reads a few rows, and what has expired goes span by span. A second state has the keys of each span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.keys.codec import encode_key
from penstock.runtime.operators.kstreams.stored_values import (
    given_key,
    given_pair,
    owned,
    stored_key,
    stored_value,
)
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.vocabulary.state import MapStateDescriptor

_SPANS_KEPT = 4
_SPAN_MAX_MS = 3_600_000
Row = tuple[int, Any, Any]
"""Time, sub-number, value."""


def span_width(retention_ms: int) -> int:
    """How much time a span covers: so that a few of them make up the retention."""
    return max(1, min(retention_ms // _SPANS_KEPT, _SPAN_MAX_MS))


class RowsByTime:
    """The rows of one store; which task's they are is the backend's current key."""

    def __init__(
        self,
        backend: KeyedStateBackend,
        name: str,
        width_ms: int,
        code_of: Callable[[Any], bytes],
        *,
        is_timestamped: bool = False,
    ) -> None:
        """Make the rows of a store; `code_of` gives the bytes that order keys of the same time."""
        self._given = given_pair if is_timestamped else owned
        self._backend = backend
        self._width = width_ms
        self._code_of = code_of
        self._rows = backend.get_map_state(MapStateDescriptor(name))
        self._keys = backend.get_map_state(MapStateDescriptor(f"{name}/keys"))
        self._spans = backend.get_map_state(MapStateDescriptor(f"{name}/spans"))

    def put(self, key: Any, time: int, sub: Any, value: Any) -> None:
        """Set a row."""
        span = time // self._width
        code = encode_key(stored_key(key))
        backend = self._backend
        backend.set_namespace(code + span.to_bytes(8, "big", signed=True))
        self._rows.hold((time, sub), stored_value(value))
        backend.set_namespace(b"s" + span.to_bytes(8, "big", signed=True))
        name = stored_key(key)
        if not self._keys.contains(name):
            self._keys.put(name, True)
            backend.set_namespace(VOID_NAMESPACE)
            self._spans.put(span, True)
        backend.set_namespace(VOID_NAMESPACE)

    def get(self, key: Any, time: int, sub: Any) -> Any:
        """The value of a row, or None."""
        backend = self._backend
        backend.set_namespace(encode_key(stored_key(key)) + (time // self._width).to_bytes(8, "big", signed=True))
        found = self._rows.held((time, sub))
        backend.set_namespace(VOID_NAMESPACE)
        return self._given(found)

    def remove(self, key: Any, time: int, sub: Any) -> None:
        """Remove a row; an absent one is fine."""
        backend = self._backend
        backend.set_namespace(encode_key(stored_key(key)) + (time // self._width).to_bytes(8, "big", signed=True))
        self._rows.remove((time, sub))
        backend.set_namespace(VOID_NAMESPACE)

    def rows(self, key: Any, time_from: int, time_to: int) -> list[Row]:
        """The rows of a key between two times, both included, ordered by time and sub-number."""
        code = encode_key(stored_key(key))
        found: list[Row] = []
        for span in self._spans_between(time_from, time_to):
            found += self._rows_of(code, span, time_from, time_to)
        return found

    def all_rows(self, time_from: int, time_to: int) -> Iterator[tuple[Any, int, Any, Any]]:
        """Key, time, sub-number and value of all rows between two times, by time, sub-number and bytes of the key."""
        for span in self._spans_between(time_from, time_to):
            rows = [
                (row[0], row[1], self._code_of(key), key, row[2])
                for key in self._keys_of(span)
                for row in self._rows_of(encode_key(stored_key(key)), span, time_from, time_to)
            ]
            rows.sort(key=lambda row: row[:3])
            for time, sub, _, key, value in rows:
                yield key, time, sub, value

    def drop_before(self, time: int) -> None:
        """Forget spans that are wholly before a time."""
        backend = self._backend
        for span in [span for span in self._spans.keys() if (span + 1) * self._width <= time]:  # noqa: SIM118
            for key in self._keys_of(span):
                backend.set_namespace(encode_key(stored_key(key)) + span.to_bytes(8, "big", signed=True))
                self._rows.clear()
            backend.set_namespace(b"s" + span.to_bytes(8, "big", signed=True))
            self._keys.clear()
            backend.set_namespace(VOID_NAMESPACE)
            self._spans.remove(span)

    def _spans_between(self, time_from: int, time_to: int) -> list[int]:
        first, last = time_from // self._width, time_to // self._width
        if last - first < _SPANS_KEPT:
            return list(range(first, last + 1))
        return sorted(span for span in self._spans.keys() if first <= span <= last)  # noqa: SIM118

    def _keys_of(self, span: int) -> list[Any]:
        self._backend.set_namespace(b"s" + span.to_bytes(8, "big", signed=True))
        found = [given_key(key) for key, _ in self._keys.held_items()]
        self._backend.set_namespace(VOID_NAMESPACE)
        return found

    def _rows_of(self, code: bytes, span: int, time_from: int, time_to: int) -> list[Row]:
        self._backend.set_namespace(code + span.to_bytes(8, "big", signed=True))
        found = [
            (time, sub, self._given(value))
            for (time, sub), value in self._rows.held_items()
            if time_from <= time <= time_to
        ]
        self._backend.set_namespace(VOID_NAMESPACE)
        found.sort(key=lambda row: row[:2])
        return found
