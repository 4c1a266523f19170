"""State that belongs to no key as a table, and back into the snapshots of subtasks.

It is read and written whole, in one process: it is part of every seal, so it is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.errors import StateError
from penstock.runtime.failure import short_repr
from penstock.state.operator_state import BROADCAST, LIST, UNION, OperatorSnapshot, merged_schemas
from penstock.state.serializers import lossy_value_test, plain_reader, plain_writer
from penstock.state.values import dump_value, load_value
from penstock.state_processor.shapes import shape_of_all
from penstock.state_processor.value_columns import Columns, ValueColumns, columns_to_arrays
from penstock.state_processor.value_forms import PICKLE_FORM, Schemas, form_of, schemas_by_form

TEXTS = {"map_key_text", "value_text"}
"""Columns that are there to be looked at only."""
KINDS = {"list": LIST, "union": UNION, "broadcast": BROADCAST}


class Held(NamedTuple):
    """Elements of a state, column by column; `seconds` are places in a list or keys of a map.

    `inexact` are bytes whose plain values leave something out.
    """

    subtasks: list[int]
    seconds: list[Any]
    values: list[Any]
    forms: list[str]
    inexact: list[bytes]


@dataclass(frozen=True)
class OperatorStateColumns:
    """The table of one state without keys: subtask, position or map_key, and value. Schemas are those of whole maps."""

    what: str
    state: str
    kind: str
    keys: ValueColumns
    values: ValueColumns
    schemas: Schemas
    is_exact: bool

    def schema(self) -> pa.Schema:
        """All columns, in order."""
        second = self.keys.fields() if self.kind == BROADCAST else [pa.field("position", pa.int64())]
        return pa.schema([pa.field("subtask", pa.int32()), *second, *self.values.fields()])

    def contents(self, table: pa.Table, parallelism: int) -> list[Any]:
        """What each subtask holds by a table, as bytes: of each element of a list, or of a map."""
        if not self.is_exact:
            raise StateError(
                f"{self.what} holds times with a zone, nanoseconds or kinds of rows, which a frame would lose: give "
                "its elements as a collection"
            )
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        places = self._places(columns, parallelism)
        if self.kind == BROADCAST:
            pairs = zip(self.keys.elements(columns), self.values.elements(columns), strict=True)
            return [self._map_bytes(part) for part in _parts(places, pairs, parallelism)]
        if None in columns["position"]:
            raise StateError(f"{self.what}: position is null in a row")
        placed = zip(columns["position"], self.values.dumped(columns), strict=True)
        return [[data for _, data in sorted(part)] for part in _parts(places, placed, parallelism)]

    def _places(self, columns: Columns, parallelism: int) -> list[int]:
        for subtask in columns["subtask"]:
            if subtask is None or not 0 <= subtask < parallelism:
                raise StateError(
                    f"{self.what}: subtask is {subtask} in a row, but the operator has {parallelism} subtasks"
                )
        return columns["subtask"]

    def _map_bytes(self, pairs: list[tuple[tuple[str, Any], tuple[str, Any]]]) -> bytes:
        forms = {form for _, (form, _) in pairs} or {self.values.forms[0]}
        if len(forms) > 1:
            raise StateError(f"{self.what}: value_schema differs in rows of one subtask: a map has one")
        (form,) = forms
        entries = [(key, value) for (_, key), (_, value) in pairs]
        return (
            dump_value(dict(entries), self.state) if form == PICKLE_FORM else plain_writer(self.schemas[form])(entries)
        )


def operator_table(uid: str, state: str, kind: str, snapshots: list[Any]) -> tuple[OperatorStateColumns, pa.Table]:
    """The elements of a state in all subtasks."""
    found = [each for each in map(OperatorSnapshot.from_plain, snapshots) if each is not None]
    schemas = schemas_by_form(merged_schemas(each.schemas for each in found).get(state, []))
    held = _held(snapshots, state, schemas)
    what = f"state {state!r} of operator {uid!r}"
    columns = OperatorStateColumns(
        what,
        state,
        kind,
        _columns_of("map_key", what, state, held.seconds, held.forms, _parts_of(schemas, "key", kind)),
        _columns_of("value", what, state, held.values, held.forms, _parts_of(schemas, "value", kind)),
        schemas,
        is_exact=not held.inexact,
    )
    cells: Columns = {"subtask": held.subtasks, "position": held.seconds}
    cells.update(columns.values.shown(held.values, held.forms))
    if kind == BROADCAST:
        cells.update(columns.keys.shown(held.seconds, held.forms))
    schema = columns.schema()
    return columns, pa.table(columns_to_arrays(cells, schema, what), schema=schema)


def with_state(snapshots: list[Any], name: str, kind: str, contents: list[Any]) -> list[Any]:
    """Snapshots of all subtasks in which a state holds something else, given as bytes."""
    changed: list[Any] = []
    for plain, content in zip(snapshots, contents, strict=True):
        found = OperatorSnapshot.from_plain(plain) or OperatorSnapshot(plain, version=0)
        changed.append(replace(found, states={**found.states, name: (kind, content)}).to_plain())
    return changed


def dealt(elements: Iterable[Any] | Mapping[Any, Any], kind: str, parallelism: int, name: str, what: str) -> list[Any]:
    """Bytes of elements for each subtask: of a map for all, or of a list in pieces of nearly equal length."""
    if kind == BROADCAST:
        if not isinstance(elements, Mapping):
            raise StateError(f"{what} is broadcast state: give it a dict, not {short_repr(elements)}")
        return [dump_value(dict(elements), name)] * parallelism
    if isinstance(elements, Mapping | str | bytes):
        raise StateError(f"{what} is {kind} state: give it a list of elements, not {short_repr(elements)}")
    whole = [dump_value(element, name) for element in elements]
    cuts = [len(whole) * at // parallelism for at in range(parallelism + 1)]
    return [whole[start:stop] for start, stop in pairwise(cuts)]


def _held(snapshots: list[Any], state: str, schemas: Schemas) -> Held:
    held = Held([], [], [], [], [])
    readers = {form: plain_reader(schema) for form, schema in schemas.items()}
    finders = {form: lossy_value_test(schema) for form, schema in schemas.items()}

    def load(data: bytes) -> Any:
        form = form_of(data)
        loses = finders.get(form)
        if loses is not None and loses(data):
            held.inexact.append(data)
        return load_value(data, state) if form == PICKLE_FORM else readers[form](data)

    for subtask, plain in enumerate(snapshots):
        found = OperatorSnapshot.from_plain(plain)
        saved: tuple[str, Any] = (LIST, []) if found is None else found.states.get(state, (LIST, []))
        kind, content = saved
        if kind == BROADCAST:
            entries = load(content)
            pairs = list(entries.items() if isinstance(entries, dict) else entries)
            forms = [form_of(content)] * len(pairs)
        else:
            pairs = [(at, load(data)) for at, data in enumerate(content)]
            forms = list(map(form_of, content))
        held.subtasks.extend([subtask] * len(pairs))
        held.seconds.extend(second for second, _ in pairs)
        held.values.extend(value for _, value in pairs)
        held.forms.extend(forms)
    return held


def _columns_of(
    name: str, what: str, state: str, values: list[Any], forms: list[str], schemas: Schemas
) -> ValueColumns:
    pickled = [value for value, form in zip(values, forms, strict=True) if form == PICKLE_FORM]
    return ValueColumns.of(what, state, "value", shape_of_all(pickled), frozenset(forms), schemas, name)


def _parts_of(schemas: Schemas, part: str, kind: str) -> Schemas:
    """Of the schemas of broadcast state, which are maps, those of keys or values; elements of lists have their own."""
    return {form: schema[part] for form, schema in schemas.items()} if kind == BROADCAST else schemas


def _parts(places: list[int], items: Iterable[Any], parallelism: int) -> list[list[Any]]:
    parts: list[list[Any]] = [[] for _ in range(parallelism)]
    for place, item in zip(places, items, strict=True):
        parts[place].append(item)
    return parts
