"""Rows in an order: what makes sort keys of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from penstock.runtime.operators.table.operator import defined
from penstock.vocabulary.sql.ordering import SortField

__all__ = ["sort_key"]


class _Reversed:
    """A value that comes before those that are less."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(other.value == self.value)

    __hash__ = None  # type: ignore[assignment]


def _descending(value: Any) -> Any:
    return -value if isinstance(value, (int, float, Decimal)) else _Reversed(value)


def sort_key(fields: Sequence[SortField]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What gives the sort key of the fields of a row, without its kind."""
    parts = []
    for field in fields:
        value = f"fields[{field.index}]"
        made = f"descending({value})" if field.descending else value
        null, known = ("1", "0") if field.puts_nulls_last else ("0", "1")
        parts.append(f"(({null},) if {value} is None else ({known}, {made}))")
    return defined(
        ["def key(fields):", f"    return ({''.join(part + ', ' for part in parts)})"],
        "key",
        {"descending": _descending},
    )
