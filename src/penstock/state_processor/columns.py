"""The columns of a frame of keyed state: entries to record batches and back."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.errors import KeyEncodingError, StateError
from penstock.keys.codec import decode_key, encode_key, keeps_type
from penstock.keys.groups import key_group
from penstock.runtime.failure import short_repr
from penstock.state.declarations import MAP_KEY, VALUE, SchemasByRole
from penstock.state.map_state import KEPT_BY_ROW, joined_entry
from penstock.state.portable import EVENT_TIMERS, PROCESSING_TIMERS
from penstock.state.timers import time_to_bytes
from penstock.state.ttl import stamped
from penstock.state.values import dump_value
from penstock.state_processor.entries import Entries
from penstock.state_processor.shapes import Shape
from penstock.state_processor.survey import NUMBER, TIME, VOID, Survey
from penstock.state_processor.value_columns import Columns, ValueColumns, columns_to_arrays
from penstock.state_processor.value_forms import schemas_by_form

TIMERS = "timer"
DOMAINS = {EVENT_TIMERS: "event_time", PROCESSING_TIMERS: "processing_time"}
_STATE_OF_DOMAIN = {domain: state for state, domain in DOMAINS.items()}
_SIGN = 1 << 63
_ONE, _TWO = struct.Struct(">Q"), struct.Struct(">QQ")
_SINGLE = {"value", "reducing", "aggregating"}


class NewRow(NamedTuple):
    """An entry on its way into a savepoint; of a list: its place, and a pickle of last access, form and element."""

    key_group: int
    state: str
    namespace: bytes
    key: bytes
    suffix: bytes
    value: bytes


@dataclass(frozen=True)
class StateColumns:
    """The frame of one state, or of the timers, of an operator; `written` are the schemas of the state."""

    uid: str
    states: tuple[str, ...]
    kind: str
    survey: Survey
    written: SchemasByRole = field(default_factory=dict)

    @property
    def what(self) -> str:
        """What the frame holds, for messages."""
        held = "timers" if self.kind == TIMERS else f"state {self.states[0]!r}"
        return f"{held} of operator {self.uid!r}"

    def check_exact(self) -> None:
        """Refuse to write back what the frame does not show."""
        if not self.survey.is_exact:
            raise StateError(
                f"{self.what} holds times with a zone, nanoseconds or kinds of rows, which a frame would lose: read it "
                "by a KeyedStateReaderFunction, and write the operator anew by with_operator"
            )

    def schema(self) -> pa.Schema:
        """All columns, in order."""
        survey = self.survey
        fields = [*_fields("key", survey.keys, "bytes"), *self._namespace_fields()]
        if self.kind == "map":
            fields += _fields("map_key", survey.map_keys, "bytes", "original")
        elif self.kind == "list":
            fields.append(pa.field("position", pa.int64()))
        if self.kind == TIMERS:
            fields += [pa.field("time_domain", pa.string()), pa.field("timestamp", pa.int64())]
        else:
            fields += self._values().fields()
        if survey.is_stamped:
            fields.append(pa.field("last_access", pa.int64()))
        return pa.schema(fields)

    def optional(self) -> set[str]:
        """Columns that are there to be looked at: the entries are made of the others."""
        texts = {"key": self.survey.keys, "map_key": self.survey.map_keys}
        return {name for name, shape in texts.items() if shape.is_unknown} | self._values().optional()

    def to_batch(self, entries: Entries, state: str) -> pa.RecordBatch:
        """A record batch of entries of one of the states."""
        schema = self.schema()
        columns = _key_columns(entries.keys, self.survey.keys)
        columns.update(self._namespace_columns(entries.namespaces))
        if self.kind == "map":
            columns.update(_map_key_columns(entries, self.survey.map_keys))
        elif self.kind == "list":
            columns["position"] = entries.seconds
        if self.kind == TIMERS:
            columns["time_domain"] = [DOMAINS[state]] * len(entries.keys)
            columns["timestamp"] = entries.seconds
        else:
            columns.update(self._values().columns(entries))
        columns["last_access"] = entries.stamps
        return pa.RecordBatch.from_arrays(columns_to_arrays(columns, schema, self.what), schema=schema)

    def from_batch(self, batch: pa.RecordBatch, max_parallelism: int) -> Iterator[NewRow]:
        """The rows that hold the entries of a record batch; what cannot be an entry is refused."""
        columns: Columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        keys = self._keys(columns)
        namespaces = self._namespaces(columns, len(keys))
        states = [self.states[0]] * len(keys)
        if self.kind == TIMERS:
            states = self._timer_states(columns)
        suffixes, values = self._suffixes_and_values(columns)
        groups = [key_group(key, max_parallelism) for key in keys]
        return map(NewRow, groups, states, namespaces, keys, suffixes, values)

    # Keys and namespaces

    def _keys(self, columns: Columns) -> list[bytes]:
        shape = self.survey.keys
        if shape.is_unknown:
            return [_checked_code(code, self.what) for code in self._filled(columns, "key_bytes")]
        keys = _converted(self._filled(columns, "key"), shape.from_arrow())
        try:
            return list(map(encode_key, keys))
        except KeyEncodingError as error:
            raise StateError(f"{self.what}: a key cannot be used: {error}") from None

    def _namespace_fields(self) -> list[pa.Field]:
        kinds = self.survey.namespaces - {VOID}
        if not kinds:
            return []
        if kinds == {TIME}:
            return [pa.field("window_start", pa.int64()), pa.field("window_end", pa.int64())]
        if kinds == {NUMBER}:
            return [pa.field("window_id", pa.int64())]
        return [pa.field("namespace", pa.binary())]

    def _namespace_columns(self, namespaces: list[bytes]) -> Columns:
        kinds = self.survey.namespaces - {VOID}
        if kinds == {TIME}:
            pairs = [_TWO.unpack(each) if each else (None, None) for each in namespaces]
            starts, ends = zip(*pairs, strict=True)
            return {"window_start": list(map(_signed, starts)), "window_end": list(map(_signed, ends))}
        if kinds == {NUMBER}:
            return {"window_id": [_signed(_ONE.unpack(each)[0]) if each else None for each in namespaces]}
        return {"namespace": namespaces}

    def _namespaces(self, columns: Columns, count: int) -> list[bytes]:
        kinds = self.survey.namespaces - {VOID}
        if not kinds:
            return [b""] * count
        if kinds == {TIME}:
            return list(map(self._window, columns["window_start"], columns["window_end"]))
        if kinds == {NUMBER}:
            found = [b"" if each is None else _ONE.pack(each + _SIGN) for each in columns["window_id"]]
        else:
            found = self._filled(columns, "namespace")
        if not all(found) and VOID not in self.survey.namespaces:
            raise StateError(f"{self.what}: an entry has no window, but all entries of the state belong to one")
        return found

    def _window(self, start: int | None, end: int | None) -> bytes:
        if start is not None and end is not None:
            return _TWO.pack(start + _SIGN, end + _SIGN)
        if start is not None or end is not None or VOID not in self.survey.namespaces:
            raise StateError(f"{self.what}: an entry has the window {start} to {end}: give both start and end")
        return b""

    # The rest of an entry

    def _timer_states(self, columns: Columns) -> list[str]:
        domains = self._filled(columns, "time_domain")
        unknown = set(domains) - set(_STATE_OF_DOMAIN)
        if unknown:
            raise StateError(f"{self.what}: time_domain is {unknown.pop()!r}: use event_time or processing_time")
        return [_STATE_OF_DOMAIN[domain] for domain in domains]

    def _suffixes_and_values(self, columns: Columns) -> tuple[list[bytes], list[bytes]]:
        if self.kind == TIMERS:
            times = list(map(time_to_bytes, self._filled(columns, "timestamp")))
            return times, [b""] * len(times)
        held = self._values()
        if self.kind in _SINGLE or held.type() is None:
            self._filled(columns, held.name_of_values())
        stamps = columns.get("last_access")
        if self.kind == "list":
            elements = held.elements(columns)
            suffixes = list(map(time_to_bytes, self._filled(columns, "position")))
            pairs = zip(stamps or [None] * len(elements), elements, strict=True)
            return suffixes, [pickle.dumps((stamp, *element), 5) for stamp, element in pairs]
        values = held.dumped(columns)
        suffixes = [b""] * len(values)
        if self.kind == "map":
            suffixes, originals = self._map_keys(columns)
            values = [
                value if original is None else joined_entry(original, value)
                for original, value in zip(originals, values, strict=True)
            ]
        if stamps is not None:
            values = [_with_stamp(stamp, value) for stamp, value in zip(stamps, values, strict=True)]
        return suffixes, values

    def _map_keys(self, columns: Columns) -> tuple[list[bytes], list[bytes | None]]:
        """Their bytes in the row, and those beside them where these would not tell their type."""
        shape = self.survey.map_keys
        if shape.is_unknown:
            codes = [_checked_code(code, self.what) for code in self._filled(columns, "map_key_bytes")]
            return codes, columns["map_key_original"]
        found = columns["map_key"] if shape.has_none else self._filled(columns, "map_key")
        keys = _converted(found, shape.from_arrow())
        is_kept = any(schema["type"] in KEPT_BY_ROW for schema in self.written.get(MAP_KEY, []))
        name = self.states[0]
        originals = [None if is_kept or keeps_type(key) else dump_value(key, name) for key in keys]
        return list(map(encode_key, keys)), originals

    def _values(self) -> ValueColumns:
        survey = self.survey
        schemas = schemas_by_form(self.written.get(VALUE, []))
        return ValueColumns.of(self.what, self.states[0], self.kind, survey.values, survey.forms, schemas)

    def _filled(self, columns: Columns, name: str) -> list[Any]:
        if any(each is None for each in columns[name]):
            why = ": leave the row out to clear the value of its key" if name.startswith("value") else ""
            raise StateError(f"{self.what}: {name} is null in a row{why}")
        return columns[name]


def _fields(name: str, shape: Shape, *forms: str) -> list[pa.Field]:
    if shape.is_unknown:
        return [pa.field(name, pa.string()), *(pa.field(f"{name}_{form}", pa.binary()) for form in forms)]
    return [pa.field(name, shape.arrow_type())]


def _key_columns(codes: list[bytes], shape: Shape) -> Columns:
    keys = list(map(decode_key, codes))
    return {"key": list(map(short_repr, keys)), "key_bytes": codes} if shape.is_unknown else {"key": keys}


def _map_key_columns(entries: Entries, shape: Shape) -> Columns:
    if not shape.is_unknown:
        return {"map_key": entries.seconds}
    texts = list(map(short_repr, entries.seconds))
    return {"map_key": texts, "map_key_bytes": entries.codes, "map_key_original": entries.originals}


def _converted(values: list[Any], convert: Callable[[Any], Any] | None) -> list[Any]:
    return values if convert is None else list(map(convert, values))


def _checked_code(code: bytes, what: str) -> bytes:
    try:
        decode_key(code)
    except KeyEncodingError:
        raise StateError(f"{what}: key_bytes must hold what penstock.keys.codec.encode_key gives") from None
    return code


def _signed(number: int | None) -> int | None:
    return None if number is None else number - _SIGN


def _with_stamp(stamp: int | None, value: bytes) -> bytes:
    return value if stamp is None else stamped(stamp, value)
