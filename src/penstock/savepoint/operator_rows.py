"""Snapshots of operators as rows of a table, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.common.plain_data import pack_record, unpack_record
from penstock.savepoint.parts import OperatorStateRow
from penstock.state.operator_state import BROADCAST, OperatorSnapshot, Saved, Schemas
from penstock.state.serializers.schemas import schema_text

_OWN = "own"
"""Kind of the row that holds what an operator keeps for itself; it has no state of the user's beside it."""
_CHECKPOINTED = "checkpointed"
"""The same for an operator that has such state; its position is the version that made it."""
SCHEMA = "schema"
"""Kind of the rows that tell which schemas the elements of a state may have."""
OWN_VERSION = 1
"""Version of what an operator keeps for itself."""
_EMPTY = -1
"""Position of the row of a list without elements, which is not the same as no list."""


def to_rows(snapshots: list[Any]) -> Iterator[OperatorStateRow]:
    """Rows for the snapshots of all subtasks; each element of a list has one of its own."""
    for subtask, plain in enumerate(snapshots):
        found = OperatorSnapshot.from_plain(plain)
        if found is not None:
            yield OperatorStateRow(subtask, "", _CHECKPOINTED, found.version, pack_record(found.own, OWN_VERSION))
            for name, (kind, content) in found.states.items():
                yield from _state_rows(subtask, name, kind, content)
            for name, schemas in found.schemas.items():
                for position, schema in enumerate(schemas):
                    yield OperatorStateRow(subtask, name, SCHEMA, position, schema_text(schema))
        elif plain is not None:
            yield OperatorStateRow(subtask, "", _OWN, 0, pack_record(plain, OWN_VERSION))


def _state_rows(subtask: int, name: str, kind: str, content: Any) -> Iterator[OperatorStateRow]:
    if kind == BROADCAST:
        yield OperatorStateRow(subtask, name, kind, 0, content)
        return
    for position, element in enumerate(content):
        yield OperatorStateRow(subtask, name, kind, position, element)
    if not content:
        yield OperatorStateRow(subtask, name, kind, _EMPTY, b"")


def from_rows(rows: Iterable[OperatorStateRow], parallelism: int) -> list[Any]:
    """The snapshots that `to_rows` made rows of."""
    own: dict[int, Any] = {}
    versions: dict[int, int] = {}
    states: dict[int, Saved] = {}
    schemas: dict[int, Schemas] = {}
    for row in rows:
        if row.kind in (_OWN, _CHECKPOINTED):
            own[row.subtask] = unpack_record(row.value, OWN_VERSION, "what an operator keeps in a savepoint")
            if row.kind == _CHECKPOINTED:
                versions[row.subtask] = row.position
        elif row.kind == SCHEMA:
            schemas.setdefault(row.subtask, {}).setdefault(row.state, []).append(json.loads(row.value))
        elif row.kind == BROADCAST:
            states.setdefault(row.subtask, {})[row.state] = row.kind, row.value
        else:
            _, elements = states.setdefault(row.subtask, {}).setdefault(row.state, (row.kind, []))
            if row.position != _EMPTY:
                elements.append(row.value)
    return [
        OperatorSnapshot(
            own[subtask], states.get(subtask, {}), versions[subtask], schemas=schemas.get(subtask, {})
        ).to_plain()
        if subtask in versions
        else own.get(subtask)
        for subtask in range(parallelism)
    ]
