"""Blocks of records as Arrow columns, converted to objects only when needed."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from itertools import compress
from typing import Any

import pyarrow as pa

from penstock.common.types import Row

__all__ = [
    "FORMS",
    "ColumnBlock",
    "ColumnMap",
    "ColumnSelector",
    "Form",
    "can_stay_columns",
    "columns_or_objects",
    "is_plain_record",
    "objects_of",
]

Form = str | type
"""What a row becomes: "row", "dict", "tuple", "value" (a single column), or a dataclass or named tuple."""


class ColumnBlock:
    """Many records as one Arrow batch; objects are created once, on first use."""

    __slots__ = ("_values", "batch", "form")

    batch: pa.RecordBatch
    form: Form

    def __init__(self, batch: pa.RecordBatch, form: Form, values: list[Any] | None = None) -> None:
        """Take the columns and the form of a record; `values` if the objects already exist."""
        self.batch = batch
        self.form = form
        self._values = values

    def __len__(self) -> int:
        count: int = self.batch.num_rows
        return count

    def values(self) -> list[Any]:
        """The records as objects."""
        if self._values is None:
            self._values = objects_of(self.batch, self.form)
        return self._values

    def apart(self) -> ColumnBlock:
        """Return the same records with their own objects, which the caller may change."""
        return self if self._values is None and self._is_unchangeable() else ColumnBlock(self.batch, self.form)

    def _is_unchangeable(self) -> bool:
        is_tuple = isinstance(self.form, type) and issubclass(self.form, tuple)
        return (is_tuple or self.form in _WITHOUT_NAMES) and not any(map(pa.types.is_nested, self.batch.schema.types))

    def column(self, field: str | int) -> pa.Array | None:
        """Return the column of a field as `read_field` finds it; None if there is no single column."""
        is_tuple = isinstance(self.form, type) and issubclass(self.form, tuple)
        if isinstance(field, str):
            position = -1 if self.form in _WITHOUT_NAMES else self.batch.schema.get_field_index(field)
        else:
            position = field if is_tuple or self.form in _WITH_POSITIONS else -1
        return self.batch.column(position) if 0 <= position < self.batch.num_columns else None

    def filter(self, mask: Any) -> ColumnBlock:
        """The records for which the mask (of Arrow or numpy) is true; null is not."""
        chosen = mask if isinstance(mask, pa.Array) else pa.array(mask, pa.bool_())
        kept = None if self._values is None else list(compress(self._values, chosen.to_pylist()))
        return ColumnBlock(self.batch.filter(chosen), self.form, kept)

    def take(self, indices: Any) -> ColumnBlock:
        """The records at these places, in that order."""
        places = indices if isinstance(indices, pa.Array) else pa.array(indices)
        return ColumnBlock(self.batch.take(places), self.form)

    def slice(self, start: int, stop: int) -> ColumnBlock:
        """The records from `start` up to `stop`, without copying."""
        kept = None if self._values is None else self._values[start:stop]
        return ColumnBlock(self.batch.slice(start, max(0, stop - start)), self.form, kept)

    def __reduce__(self) -> tuple[Any, ...]:
        # Arrow pickles the whole of what a slice is cut from.
        return ColumnBlock, (self.batch.take(pa.array(range(len(self)), pa.int64())), self.form)

    def __repr__(self) -> str:
        return f"ColumnBlock({len(self)} of {self.form!r}: {', '.join(self.batch.schema.names)})"


class ColumnSelector(ABC):
    """A function of a record that only reads fields, so that it can be evaluated on columns."""

    @property
    @abstractmethod
    def key_fields(self) -> str | int | tuple[str | int, ...] | None:
        """The field it returns, or the fields of the tuple it returns; None if it does more than read fields."""


class ColumnMap(ABC):
    """A function of a record that can also be applied to a block of columns."""

    @abstractmethod
    def map_columns(self, block: ColumnBlock) -> ColumnBlock | None:
        """Return the results for a block as columns; None if objects are needed."""

    def refusal(self) -> str | None:
        """Return why no block can be mapped as columns, for `explain()`; None if it depends on the block."""
        return None


def objects_of(batch: pa.RecordBatch, form: Form) -> list[Any]:
    """The rows of an Arrow batch as Python values, made column by column."""
    if isinstance(form, type):
        return _to_records(batch, form)
    return FORMS[form](batch)


def columns_or_objects(batch: pa.RecordBatch, form: Form) -> ColumnBlock | list[Any]:
    """Return the rows of an Arrow batch, as columns if possible."""
    return ColumnBlock(batch, form) if can_stay_columns(batch.schema) else objects_of(batch, form)


@lru_cache(maxsize=64)
def can_stay_columns(schema: pa.Schema) -> bool:
    """Return whether the columns can be sent as they are: not empty, with types that mean the same in every process."""
    return len(schema) > 0 and not any(map(_is_particular, schema.types))


def is_plain_record(record_class: type) -> bool:
    """Whether the objects of a dataclass or named tuple hold exactly what their fields are made from."""
    if issubclass(record_class, tuple):
        return hasattr(record_class, "_fields") and record_class.__bases__ == (tuple,)  # and no class derived from one
    if not dataclasses.is_dataclass(record_class) or hasattr(record_class, "__post_init__"):
        return False
    has_own_init = not getattr(record_class, "__dataclass_params__").init  # noqa: B009 - not in the type
    return not has_own_init and all(each.init for each in dataclasses.fields(record_class))


def _is_particular(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType):
        return True
    return any(_is_particular(kind.field(place).type) for place in range(kind.num_fields))


def _to_tuples(batch: pa.RecordBatch) -> list[Any]:
    if not batch.num_columns:
        return [()] * batch.num_rows
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _to_rows(batch: pa.RecordBatch) -> list[Any]:
    return Row.of_all(tuple(batch.schema.names), _to_tuples(batch))


def _to_dicts(batch: pa.RecordBatch) -> list[Any]:
    names = batch.schema.names
    return [dict(zip(names, values, strict=True)) for values in _to_tuples(batch)]


def _to_values(batch: pa.RecordBatch) -> list[Any]:
    values: list[Any] = batch.column(0).to_pylist()
    return values


def _to_records(batch: pa.RecordBatch, record_class: type) -> list[Any]:
    names = batch.schema.names
    make: Callable[..., Any] = record_class
    if _positional_fields(record_class) == names:
        return [make(*values) for values in _to_tuples(batch)]
    return [make(**dict(zip(names, values, strict=True))) for values in _to_tuples(batch)]


def _positional_fields(record_class: type) -> list[str]:
    if issubclass(record_class, tuple):
        return list(getattr(record_class, "_fields", ()))
    return [each.name for each in dataclasses.fields(record_class) if not each.kw_only]  # type: ignore[arg-type]


FORMS: dict[str, Callable[[pa.RecordBatch], list[Any]]] = {
    "row": _to_rows,
    "dict": _to_dicts,
    "tuple": _to_tuples,
    "value": _to_values,
}
_WITHOUT_NAMES = ("tuple", "value")
_WITH_POSITIONS = ("row", "tuple")
