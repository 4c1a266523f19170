"""The schemas that an operator's rows were written with, kept beside them in meta rows.

    00 op 't' role (1) number (4) name      -> schema as JSON

A row's bytes have the number of their schema. A state that has rows gets a meta row for the schema it is written with
from now on, so that whoever reads the rows later finds how; rows of older schemas stay until they are written again.
"""

from __future__ import annotations

import json

from penstock.errors import StateError
from penstock.state.declarations import MAP_KEY, VALUE, SchemasByRole, StateDeclaration, key_incompatibility
from penstock.state.serializers import Schema, StateSerializer, layout_of, number_of
from penstock.state.serializers.schemas import schema_text
from penstock.state.store import OrderedStore

SCHEMA_ROW = b"t"
"""Follows the operator in the meta rows of schemas."""

_META = b"\x00"
_ROLES = {b"v": VALUE, b"k": MAP_KEY}
_NUMBER_BYTES = 4


class StoredSchemas:
    """The schemas of one operator's states: those of the rows in the store, and the serializers that must read them."""

    def __init__(self, operator: bytes) -> None:
        """Know of no store yet."""
        self._prefix = _META + operator + SCHEMA_ROW
        self._serializers: dict[str, dict[str, StateSerializer]] = {}
        self._found: dict[str, dict[bytes, Schema]] = {}
        self._parsed: dict[bytes, Schema] = {}
        self._store: OrderedStore | None = None

    def bind(self, store: OrderedStore) -> None:
        """Read what a store has."""
        self._store = store
        self._found = {}
        for row, text in store.scan(self._prefix):
            head, name = split_schema_row(row[len(self._prefix) :])
            self._found.setdefault(name, {})[head] = self._schema(text)

    def add(self, name: str, serializers: dict[str, StateSerializer]) -> None:
        """Look after the serializers of a state."""
        self._serializers[name] = serializers

    def settle(self, name: str, *, is_stored: bool) -> None:
        """Let a state read the rows it has; from when it `is_stored` on, note what its rows are written with."""
        if self._store is None:
            return
        found = self._found.get(name, {})
        for role, serializer in self._serializers[name].items():
            for head, schema in found.items():
                if role_of(head) == role:
                    _learn(serializer, schema, role)
            if is_stored and not serializer.is_pickle:
                self._note(name, role, serializer)

    def declared(self, name: str, kind: str) -> StateDeclaration:
        """Return what is declared of a state."""
        serializers = self._serializers[name]
        keys = serializers.get(MAP_KEY)
        return StateDeclaration(kind, serializers[VALUE].schema, None if keys is None else keys.schema)

    def by_state(self) -> dict[str, SchemasByRole]:
        """Return the schemas in the store, by state."""
        found: dict[str, SchemasByRole] = {}
        for name, schemas in self._found.items():
            for head, schema in schemas.items():
                found.setdefault(name, {}).setdefault(role_of(head), []).append(schema)
        return found

    def _note(self, name: str, role: str, serializer: StateSerializer) -> None:
        head = schema_head(role, serializer.schema)
        held = self._found.setdefault(name, {}).get(head)
        if held is None:
            assert self._store is not None
            row = self._prefix + head + name.encode("utf-8", "surrogatepass")
            self._store.put(row, schema_text(serializer.schema))
            self._found[name][head] = serializer.schema
        elif layout_of(held) != layout_of(serializer.schema):
            raise StateError(
                f"State {name!r} has two types with the same number by chance: rename a field, or the state."
            )

    def _schema(self, text: bytes) -> Schema:
        schema = self._parsed.get(text)
        if schema is None:
            schema = self._parsed[text] = json.loads(text)
        return schema


def _learn(serializer: StateSerializer, schema: Schema, role: str) -> None:
    if role == MAP_KEY:
        reason = key_incompatibility(schema, serializer.schema)
        if reason is not None:
            raise StateError(f"State {serializer.state_name!r} cannot be read as its current type: {reason}.")
    serializer.learn(schema)


def role_of(head: bytes) -> str:
    """Return the role that role and number, as in a row, tell."""
    return _ROLES[head[:1]]


def schema_head(role: str, schema: Schema) -> bytes:
    """Return role and number of a schema as they are in a row."""
    return next(letter for letter, each in _ROLES.items() if each == role) + number_of(schema)


def split_schema_row(rest: bytes) -> tuple[bytes, str]:
    """Return role and number, and the name of the state, of what follows the prefix of a schema's row."""
    end = 1 + _NUMBER_BYTES
    return rest[:end], rest[end:].decode("utf-8", "surrogatepass")
