"""The rows of one key in a state, as JSON: its value, list or map, by window where the operator has windows."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.errors import KeyEncodingError
from penstock.keys.codec import encode_key, read_key
from penstock.keys.groups import key_group, subtask_of
from penstock.keys.plain_decoding import plain_key
from penstock.queryable.content import KeyedStateInfo, OperatorInfo
from penstock.queryable.json_values import ValueReader, as_json
from penstock.queryable.map_entries import EntryChoice, chosen_rows
from penstock.queryable.store import StoreView, part_prefix
from penstock.state.map_state import KEPT_BY_ROW, split_entry
from penstock.state.store import prefix_end
from penstock.state.ttl import list_without_stamps, stamp_of, stamps_of_list, without_stamp

VOID = encode_key(b"")
KEYED = b"\x01"
_SIGN = 1 << 63
_TWO, _ONE = struct.Struct(">QQ"), struct.Struct(">Q")


@dataclass(frozen=True)
class Window:
    """Which windows to read: those that begin at `start`, and end at `end` if it is given."""

    start: int
    end: int | None = None


class KeyReader:
    """Reads one state of one operator in a view, key by key."""

    def __init__(
        self, view: StoreView, operator: OperatorInfo, state: KeyedStateInfo, values: ValueReader, now_ms: int
    ) -> None:
        """Read what is there now; values whose time to live is over at `now_ms` are not there."""
        self._view = view
        self._operator = operator
        self._state = state
        self._now_ms = now_ms
        self._values = values
        types = {schema["type"] for schema in state.schemas.get("map_key", [])}
        self._map_key_type = KEPT_BY_ROW.get(types.pop()) if len(types) == 1 else None

    def prefix(self, code: bytes) -> bytes:
        """What the rows of a key begin with."""
        operator = self._operator
        group = key_group(code, operator.max_parallelism)
        subtask = subtask_of(group, operator.parallelism, operator.max_parallelism)
        head = part_prefix(operator.vertex, subtask) + KEYED + operator.number
        return head + group.to_bytes(2, "big") + self._state.id + code

    def read(self, code: bytes, window: Window | None, choice: EntryChoice) -> dict[str, Any]:
        """What a key has: `value`, or `windows` with a value each; `found` is False if it has nothing."""
        prefix = self.prefix(code)
        if window is None:
            found = self._value(prefix + VOID, choice)
            if found is not None:
                return {"found": True, **found}
        windows = [
            {"window": shown_window(namespace), **found}
            for namespace in self._namespaces(prefix)
            if namespace and (window is None or _is_asked_for(namespace, window))
            if (found := self._value(prefix + encode_key(namespace), choice)) is not None
        ]
        return {"found": True, "windows": windows} if windows else {"found": False, "value": None}

    def _namespaces(self, prefix: bytes) -> Iterator[bytes]:
        """The namespaces of a key, without going over the rows of each."""
        start = prefix
        while True:
            row = next(self._view.range(start, prefix_end(prefix)), None)
            if row is None:
                return
            namespace, end = read_key(row[0], len(prefix))
            yield namespace
            start = prefix_end(row[0][:end]) or b""
            if not start:
                return

    def _value(self, prefix: bytes, choice: EntryChoice) -> dict[str, Any] | None:
        """What one namespace of a key has; None if nothing."""
        return _KINDS[self._state.kind](self, prefix, choice)

    def _single(self, row: bytes, choice: EntryChoice) -> dict[str, Any] | None:
        choice.refuse_for(self._state)
        data = self._view.get(row)
        if data is None or self._is_expired(stamp_of(data)):
            return None
        return {"value": self._values.read(without_stamp(data))}

    def _list(self, prefix: bytes, choice: EntryChoice) -> dict[str, Any] | None:
        choice.refuse_for(self._state)
        items: list[Any] = []
        is_there = False
        for _, data in self._view.scan(prefix):
            is_there = True
            read = self._values.read(list_without_stamps(data))
            stamps = stamps_of_list(data)
            each = stamps if isinstance(stamps, list) else [stamps] * len(read)
            items += [item for item, stamp in zip(read, each, strict=True) if not self._is_expired(stamp)]
        return {"value": items} if items or (is_there and self._state.ttl_ms is None) else None

    def _map(self, prefix: bytes, choice: EntryChoice) -> dict[str, Any] | None:
        entries: list[list[Any]] = []
        is_cut = is_there = False
        for code, data in chosen_rows(self._view, prefix, choice):
            is_there = True
            if self._is_expired(stamp_of(data)):
                continue
            if len(entries) == choice.limit:
                is_cut = True
                break
            _, raw = split_entry(without_stamp(data))
            entries.append([self._map_key(code), self._values.read(raw)])
        if not is_there and not choice.chooses:
            return None
        entries = choice.in_order(entries)
        found: dict[str, Any] = {"entries": entries}
        return {**found, "truncated": True} if is_cut else (found if entries or choice.chooses else None)

    def _map_key(self, code: bytes) -> Any:
        return as_json(shown_key(code, self._map_key_type))

    def _is_expired(self, stamp: int | None) -> bool:
        life = self._state.ttl_ms
        return life is not None and stamp is not None and stamp + life <= self._now_ms


_KINDS: dict[str, Callable[[KeyReader, bytes, EntryChoice], dict[str, Any] | None]] = {
    "value": KeyReader._single,
    "reducing": KeyReader._single,
    "aggregating": KeyReader._single,
    "list": KeyReader._list,
    "map": KeyReader._map,
}


def shown_key(code: bytes, give_type: Callable[[Any], Any] | None = None) -> Any:
    """A key as plain data; its bytes in hexadecimal digits if only its class could read it."""
    try:
        key = plain_key(code)
    except KeyEncodingError:
        return {"$encoded": code.hex()}
    return key if give_type is None or key is None else give_type(key)


def shown_window(namespace: bytes) -> Any:
    """A window as JSON: start and end, the number of a count window, or its bytes if it is the user's own."""
    if len(namespace) == _TWO.size and namespace[0] != 1:
        start, end = _TWO.unpack(namespace)
        return {"start": start - _SIGN, "end": end - _SIGN}
    if len(namespace) == _ONE.size:
        return {"number": _ONE.unpack(namespace)[0] - _SIGN}
    return "global" if namespace == b"\x00" else {"encoded": namespace.hex()}


def _is_asked_for(namespace: bytes, window: Window) -> bool:
    shown = shown_window(namespace)
    if not isinstance(shown, dict):
        return False
    if "number" in shown:
        return window.end is None and shown["number"] == window.start
    return shown.get("start") == window.start and window.end in (None, shown.get("end"))
