"""The columns of a state's values: typed where one type takes all, text beside bytes where not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.errors import StateError
from penstock.runtime.failure import short_repr
from penstock.state.serializers import number_of, plain_reader, plain_writer
from penstock.state.values import dump_value, load_value
from penstock.state_processor.entries import Entries
from penstock.state_processor.shapes import Shape
from penstock.state_processor.value_forms import (
    PICKLE_FORM,
    PICKLE_MARK,
    Convert,
    Schemas,
    column_type,
    form_of,
    plain_from_arrow,
    type_of,
)

Columns = dict[str, list[Any]]

_NUMBER_MAKERS: dict[str, Convert] = {"int": int, "wide int": int, "float": float}


@dataclass(frozen=True)
class ValueColumns:
    """Columns of values that have some forms; `shape` is that of the pickled ones, `schemas` go by form.

    Of a list, a schema is that of the whole list, and values are elements.
    """

    what: str
    state: str
    is_list: bool
    shape: Shape
    forms: tuple[str, ...]
    schemas: Schemas
    name: str = "value"

    @classmethod
    def of(
        cls,
        what: str,
        state: str,
        kind: str,
        shape: Shape,
        forms: frozenset[str],
        schemas: Schemas,
        name: str = "value",
    ) -> ValueColumns:
        """For the forms that entries have or, where there are none, those that they may have."""
        found = forms or frozenset(schemas) or frozenset({PICKLE_FORM})
        return cls(what, state, kind == "list", shape, tuple(sorted(found)), schemas, name)

    def type(self) -> pa.DataType | None:
        """The type of the column `value`; None if there is none."""
        if PICKLE_FORM not in self.forms:
            return column_type([type_of(self._schema(form)) for form in self.forms])
        # A tuple that is a struct cannot be told from fields with names.
        is_shown = not self.shape.is_unknown and (len(self.forms) == 1 or not self.shape.parts)
        if not is_shown:
            return None
        typed = [type_of(self._schema(form)) for form in self.forms if form != PICKLE_FORM]
        return column_type([self.shape.arrow_type(), *typed])

    def fields(self) -> list[pa.Field]:
        """The columns, in order. `value_schema` tells the form of each value where there are several."""
        found = self.type()
        if found is None:
            return [pa.field(self._bytes_name(), pa.binary()), pa.field(f"{self.name}_text", pa.string())]
        own = [pa.field(self.name, found)]
        return own if len(self.forms) == 1 or self.name != "value" else [*own, pa.field("value_schema", pa.string())]

    def optional(self) -> set[str]:
        """Columns that are there to be looked at."""
        return {f"{self.name}_text"} if self.type() is None else set()

    def columns(self, entries: Entries) -> Columns:
        """Of entries."""
        return self.shown(entries.values, entries.forms, entries.raws)

    def shown(self, values: list[Any], forms: list[str], raws: list[bytes] | None = None) -> Columns:
        """Of values and their forms, and their bytes where they are known."""
        if self.type() is not None:
            return {self.name: values, f"{self.name}_schema": forms}
        if raws is None:
            raws = [self._element_bytes(*pair) for pair in zip(values, forms, strict=True)]
        return {self._bytes_name(): raws, f"{self.name}_text": list(map(short_repr, values))}

    def dumped(self, columns: Columns) -> list[bytes]:
        """The bytes of values, given as columns."""
        if self.type() is None:
            return self._checked_bytes(columns)
        writers = {form: plain_writer(self._schema(form)) for form in self.forms if form != PICKLE_FORM}
        writers[PICKLE_FORM] = lambda value: dump_value(value, self.state)
        try:
            return [writers[form](value) for form, value in self.elements(columns)]
        except StateError as error:
            raise StateError(f"{self.what}: {error}") from None

    def elements(self, columns: Columns) -> list[tuple[str, Any]]:
        """Values, given as columns, with their forms."""
        if self.type() is None:
            return self._loaded(self._checked_bytes(columns))
        values = columns[self.name]
        forms = columns.get("value_schema") or [self.forms[0]] * len(values)
        converts = {form: self._converter(form) for form in self.forms}
        unknown = set(forms) - set(converts)
        if unknown:
            known = ", ".join(self.forms)
            raise StateError(f"{self.what}: value_schema is {unknown.pop()!r} in a row: use one of {known}")
        return [(form, converts[form](value)) for form, value in zip(forms, values, strict=True)]

    def name_of_values(self) -> str:
        """The column without which there is no value."""
        return self._bytes_name() if self.type() is None else self.name

    def _schema(self, form: str) -> dict[str, Any]:
        schema = self.schemas[form]
        return schema["element"] if self.is_list else schema

    def _bytes_name(self) -> str:
        return f"{self.name}_{'pickle' if self.forms == (PICKLE_FORM,) else 'bytes'}"

    def _converter(self, form: str) -> Convert:
        if form != PICKLE_FORM:
            return plain_from_arrow(self._schema(form))
        make = self.shape.from_arrow() if len(self.forms) == 1 else _NUMBER_MAKERS.get(self.shape.kind)
        return (lambda given: given) if make is None else lambda given: None if given is None else make(given)

    def _element_bytes(self, value: Any, form: str) -> bytes:
        return dump_value(value, self.state) if form == PICKLE_FORM else plain_writer(self._schema(form))(value)

    def _loaded(self, elements: list[bytes]) -> list[tuple[str, Any]]:
        by_number = {number_of(self._schema(form)).hex(): form for form in self.schemas}
        readers = {form: plain_reader(self._schema(form)) for form in self.schemas}
        readers[PICKLE_FORM] = lambda data: load_value(data, self.state)
        forms = [by_number.get(form_of(data), PICKLE_FORM) for data in elements]
        return [(form, readers[form](data)) for form, data in zip(forms, elements, strict=True)]

    def _checked_bytes(self, columns: Columns) -> list[bytes]:
        known = {PICKLE_FORM, *(number_of(self._schema(form)).hex() for form in self.schemas)}
        found = columns[self._bytes_name()]
        if not all(data and data[0] >= PICKLE_MARK and form_of(data) in known for data in found):
            raise StateError(
                f"{self.what}: {self._bytes_name()} must hold what pickle.dumps(value, 5) gives, or bytes as they were"
            )
        return found


def columns_to_arrays(columns: Columns, schema: pa.Schema, what: str) -> list[pa.Array]:
    """Return columns in the order of a schema; a value that its column cannot hold is refused."""
    try:
        return [pa.array(columns[field.name], field.type) for field in schema]
    # A decimal with more digits than Spark has, half of a surrogate pair, a time that 64 bits cannot hold.
    except (pa.ArrowInvalid, UnicodeEncodeError, OverflowError) as error:
        raise StateError(f"{what} holds a value that no column can show: {error}") from None
