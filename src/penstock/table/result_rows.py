"""Rows as `collect` gives them: with names, and equal to rows without, as those of PyFlink are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.types import Row
from penstock.vocabulary.sql.external_values import ROW_KINDS, to_external
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["ResultRow", "result_row"]


class ResultRow(Row):
    """A row of a result. Its names are there to be used, and do not count when it is compared with a row without."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Row) and (other._fields is None or isinstance(other, ResultRow)):
            return self._row_kind is other._row_kind and self._values == other._values
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash(tuple(self._values))

    def __repr__(self) -> str:
        return f"<Row({', '.join(map(repr, self._values))})>"


def result_row(row_type: LogicalType) -> Callable[[tuple[Any, ...]], Row]:
    """What makes a row of `(kind, *fields)`; a FLOAT is the shortest number that stands for it, as in PyFlink."""
    converts = [_result_value(each) for each in row_type.parts]
    names = tuple(row_type.names)

    def convert(row: tuple[Any, ...]) -> Row:
        made = ResultRow.__new__(ResultRow)
        made._fields = names
        made._values = [each(value) for each, value in zip(converts, row[1:], strict=True)]
        made._row_kind = ROW_KINDS[row[0]]
        return made

    return convert


def _result_value(declared: LogicalType) -> Callable[[Any], Any]:
    if declared.kind is Kind.FLOAT:
        return _shortest
    if declared.kind is Kind.ROW:
        made = result_row(declared)
        return lambda value: None if value is None else made((0, *value))
    if declared.kind is Kind.ARRAY:
        element = _result_value(declared.parts[0])
        return lambda value: None if value is None else [element(each) for each in value]
    if declared.kind is Kind.MAP:
        key, held = map(_result_value, declared.parts)
        return lambda value: None if value is None else {key(k): held(v) for k, v in value.items()}
    return to_external(declared)


def _shortest(value: float | None) -> float | None:
    import numpy as np

    return None if value is None else float(str(np.float32(value)))
