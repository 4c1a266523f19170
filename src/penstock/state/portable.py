"""State rows of one operator in a form that does not depend on its place in a vertex.

The rows of a store hold the number of the operator in its vertex (`penstock.state.keyed`, `penstock.state.timers`). A
portable row names state and key instead, so that it can be read without the plan that wrote it, and given to an
operator that sits elsewhere in another plan.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.keys.codec import encode_key, read_key
from penstock.state.declarations import SchemasByRole
from penstock.state.serializers.schemas import schema_text
from penstock.state.state_ids import STATE_KINDS, state_id
from penstock.state.store import OrderedStore
from penstock.state.stored_schemas import SCHEMA_ROW, role_of, schema_head, split_schema_row
from penstock.state.timers import time_from_bytes

EVENT_TIMERS = "__event_time_timers__"
PROCESSING_TIMERS = "__processing_time_timers__"

_TIMER_STATES = (EVENT_TIMERS, PROCESSING_TIMERS)
_EPOCH_NAME = "__epoch__"
_TIMER_KIND, _EPOCH_KIND = "timer", "epoch"  # names may be a user's too, kinds are not
SCHEMA_KIND = "schema"
"""Kind of the rows that tell which schema rows of a state may have; their suffix is the schema's role and number."""

_META, _KEYED, _TIMER = b"\x00", b"\x01", b"\x02"
_GROUP = struct.Struct(">H")
_STATE_ID_AT, _KEY_AT = 5, 9
_TIMER_TIME_AT, _TIMER_GROUP_AT, _TIMER_KEY_AT = 4, 12, 14

Entry = tuple[bytes, bytes]


class PortableRow(NamedTuple):
    """One row. `key` is encoded as by `penstock.keys.codec`; `suffix` is a map's key, a place in a list, or a time.

    Rows without a key group are about the operator as a whole: each of its states has one, before all entries.
    """

    key_group: int | None
    state: str
    kind: str
    namespace: bytes
    key: bytes
    suffix: bytes
    value: bytes


def is_declaration(row: PortableRow) -> bool:
    """Whether a row says that a state exists, and of which kind."""
    return row.key_group is None and row.kind not in (_EPOCH_KIND, SCHEMA_KIND)


def written_in(row: PortableRow) -> SchemasByRole:
    """What a row of `SCHEMA_KIND` tells about the rows of its state."""
    return {role_of(row.suffix): [json.loads(row.value)]}


def timer_ms(row: PortableRow) -> int:
    """When a timer is due."""
    return time_from_bytes(row.suffix)


def declaration(state: str, kind: str) -> PortableRow:
    """Return the row that says that a state exists."""
    value = bytes([STATE_KINDS.index(kind)]) + state_id(state)
    return PortableRow(None, state, kind, b"", b"", b"", value)


def schema_rows(state: str, written: SchemasByRole) -> Iterator[PortableRow]:
    """Return the rows that tell which schemas rows of a state may have."""
    for role, schemas in written.items():
        for schema in schemas:
            yield PortableRow(None, state, SCHEMA_KIND, b"", b"", schema_head(role, schema), schema_text(schema))


def list_epoch(epoch: int) -> PortableRow:
    """Return the row that says in which epoch list rows were written last."""
    return PortableRow(None, _EPOCH_NAME, _EPOCH_KIND, b"", b"", b"", epoch.to_bytes(8, "big"))


def exported_rows(store: OrderedStore, operator_index: int) -> Iterator[PortableRow]:
    """All rows of one operator: what its states are, then their entries by key group, then timers."""
    operator = operator_index.to_bytes(2, "big")
    declared = list(_declarations(store, operator))
    yield from declared
    names = {row.value[1:5]: (row.state, row.kind) for row in declared if is_declaration(row)}
    for row, value in store.scan(_KEYED + operator):
        name, kind = names[row[_STATE_ID_AT:_KEY_AT]]
        key_end = read_key(row, _KEY_AT)[1]
        namespace, end = read_key(row, key_end)
        group = _GROUP.unpack_from(row, 3)[0]
        yield PortableRow(group, name, kind, namespace, row[_KEY_AT:key_end], row[end:], value)
    yield from exported_timers(store, operator_index)


def exported_timers(store: OrderedStore, operator_index: int) -> Iterator[PortableRow]:
    """The timers of one operator, by domain and time."""
    for row, value in store.scan(_TIMER + operator_index.to_bytes(2, "big")):
        key_end = read_key(row, _TIMER_KEY_AT)[1]
        namespace, _ = read_key(row, key_end)
        group = _GROUP.unpack_from(row, _TIMER_GROUP_AT)[0]
        time = row[_TIMER_TIME_AT:_TIMER_GROUP_AT]
        state = _TIMER_STATES[row[3]]
        yield PortableRow(group, state, _TIMER_KIND, namespace, row[_TIMER_KEY_AT:key_end], time, value)


def exported_states(store: OrderedStore, operator_index: int) -> dict[str, str]:
    """The states of one operator with their kinds, timers among them, without going over the entries."""
    operator = operator_index.to_bytes(2, "big")
    found = {row.state: row.kind for row in _declarations(store, operator) if is_declaration(row)}
    for domain, name in enumerate(_TIMER_STATES):
        if next(store.scan(_TIMER + operator + bytes([domain])), None) is not None:
            found[name] = _TIMER_KIND
    return found


def _declarations(store: OrderedStore, operator: bytes) -> Iterator[PortableRow]:
    states = _META + operator + b"s"
    for row, value in store.scan(states):
        name = row[len(states) :].decode("utf-8", "surrogatepass")
        yield PortableRow(None, name, STATE_KINDS[value[0]], b"", b"", b"", value)
    schemas = _META + operator + SCHEMA_ROW
    for row, value in store.scan(schemas):
        head, name = split_schema_row(row[len(schemas) :])
        yield PortableRow(None, name, SCHEMA_KIND, b"", b"", head, value)
    epoch = store.get(_META + operator + b"e")
    if epoch is not None:
        yield PortableRow(None, _EPOCH_NAME, _EPOCH_KIND, b"", b"", b"", epoch)


def imported_entries(rows: Iterable[PortableRow], operator_index: int) -> Iterator[Entry]:
    """Store entries of an operator at another place; the rows may come from several old subtasks, one after another."""
    operator = operator_index.to_bytes(2, "big")
    ids: dict[str, bytes] = {}
    epoch = b""
    schemas: set[tuple[str, bytes]] = set()
    for row in rows:
        if row.key_group is None:
            if row.kind == SCHEMA_KIND:
                if (row.state, row.suffix) not in schemas:
                    schemas.add((row.state, row.suffix))
                    yield _META + operator + SCHEMA_ROW + row.suffix + _encoded(row.state), row.value
            elif row.kind == _EPOCH_KIND:
                # Lists of all old subtasks come together: what is appended next must sort behind all of them.
                epoch = max(epoch, row.value)
            elif row.state not in ids:
                ids[row.state] = row.value[1:5]
                yield _META + operator + b"s" + _encoded(row.state), row.value
            continue
        place = _GROUP.pack(row.key_group)
        namespace = encode_key(row.namespace)
        if row.kind == _TIMER_KIND:
            domain = bytes([_TIMER_STATES.index(row.state)])
            yield _TIMER + operator + domain + row.suffix + place + row.key + namespace, row.value
        else:
            yield _KEYED + operator + place + ids[row.state] + row.key + namespace + row.suffix, row.value
    if epoch:
        yield _META + operator + b"e", epoch


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
