"""`Row` and `RowKind`, the records of tables and changelogs."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from penstock.common.plain_data import keep_as
from penstock.common.user_pickles import name_in_pickles

__all__ = ["Row", "RowKind", "changelog_text", "order_of_names"]


class RowKind(enum.Enum):
    """How a row changes a table: insert, update before, update after, or delete."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SHORT_NAMES[self]


_SHORT_NAMES = {
    RowKind.INSERT: "+I",
    RowKind.UPDATE_BEFORE: "-U",
    RowKind.UPDATE_AFTER: "+U",
    RowKind.DELETE: "-D",
}


class Row:
    """An ordered record, with or without field names, and its row kind.

    `Row(1, "a")` has positions only; `Row(id=1, name="a")` has names too; `Row("id", "name")` can be called
    like a class: `Row("id", "name")(1, "a")`. Names belong to their values, so their order makes no difference to `==`.

    >>> row = Row(id=1, name="a")
    >>> row.name, row[0], str(row), row == Row(name="a", id=1), "id" in row
    ('a', 1, "Row(id=1, name='a')", True, True)
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: tuple[str, ...] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            if args:
                raise ValueError("a Row takes either positional values or named fields, not both")
            self._fields = tuple(kwargs)
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = RowKind.INSERT

    @staticmethod
    def of_fields(fields: tuple[str, ...] | None, values: list[Any], row_kind: RowKind = RowKind.INSERT) -> Row:
        """Make a row around `values` without copying; the quick way when many rows share one tuple of names."""
        row = Row.__new__(Row)
        row._fields = fields
        row._values = values
        row._row_kind = row_kind
        return row

    @staticmethod
    def of_all(fields: tuple[str, ...] | None, records: Iterable[Iterable[Any]]) -> list[Row]:
        """Make a row of each record; the quickest way when many share one tuple of names."""
        new, insert = Row.__new__, RowKind.INSERT
        rows = []
        for values in records:
            row = new(Row)
            row._fields = fields
            row._values = list(values)
            row._row_kind = insert
            rows.append(row)
        return rows

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Make a row of the given kind."""
        row = Row(*args, **kwargs)
        row.set_row_kind(row_kind)
        return row

    def with_values(self, values: list[Any]) -> Row:
        """Make a row of the same names and kind around other values, without copying them."""
        return Row.of_fields(self._fields, values, self._row_kind)

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Return field names and values; with `recursive`, rows inside lists, dicts and rows too."""
        if self._fields is None:
            raise TypeError("a Row without field names has no dict form; name its fields or use list(row)")
        values = map(_plain, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=True))

    def get_row_kind(self) -> RowKind:
        """Return the row kind."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the row kind."""
        if not isinstance(row_kind, RowKind):
            raise TypeError(f"expected a RowKind, got {type(row_kind).__name__} {row_kind!r}")
        self._row_kind = row_kind

    def set_field_names(self, field_names: Iterable[str]) -> None:
        """Name the fields, one name for each value."""
        names = tuple(field_names)
        if len(names) != len(self._values):
            raise ValueError(f"got {len(names)} field names for a Row of {len(self._values)} values: pass one for each")
        self._fields = names

    def get_fields_by_names(self, names: Iterable[str]) -> list[Any]:
        """Return the values of the named fields in the given order; a row without names gives all its values."""
        if self._fields is None:
            return self._values
        return [self._values[self._position(name)] for name in names]

    def _position(self, name: str) -> int:
        fields = self._fields
        if fields is None:
            raise ValueError(f"this Row has no field names, so there is no {name!r}; use a position")
        try:
            return fields.index(name)
        except ValueError:
            raise ValueError(f"no field {name!r} in this Row; its fields are {', '.join(fields)}") from None

    def __getattr__(self, name: str) -> Any:
        # Only reached when ordinary lookup failed; special names must fail quickly for copy and pickle.
        if name.startswith("__") or name in Row.__slots__:
            raise AttributeError(name)
        try:
            return self._values[self._position(name)]
        except ValueError as error:
            raise AttributeError(error.args[0]) from None

    def __contains__(self, item: Any) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __call__(self, *args: Any) -> Row:
        """Make a row whose field names are the values of this one."""
        if len(args) > len(self._values):
            raise ValueError(f"this Row names {len(self._values)} fields but was called with {len(args)} values")
        if not all(isinstance(name, str) for name in self._values):
            raise TypeError(f"only a Row of field names can be called; this one holds {self._values!r}")
        return Row.of_fields(tuple(self._values[: len(args)]), list(args))

    def __getitem__(self, item: Any) -> Any:
        return self._values[self._position(item) if isinstance(item, str) else item]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[self._position(key) if isinstance(key, str) else key] = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        if self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        return self.in_order_of_names() == other.in_order_of_names()

    def __hash__(self) -> int:
        return hash(self.in_order_of_names()[1])

    def in_order_of_names(self) -> tuple[tuple[str, ...] | None, tuple[Any, ...]]:
        """Return names and values as they are the same for all equal rows."""
        fields, values = self._fields, self._values
        order = None if fields is None else order_of_names(fields)
        if fields is None or order is None:
            return fields, tuple(values)
        return tuple([fields[at] for at in order]), tuple([values[at] for at in order])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        if self._row_kind is RowKind.INSERT:
            if self._fields is None:
                return Row, tuple(self._values)
            return Row.of_fields, (self._fields, self._values)
        return Row.of_fields, (self._fields, self._values, self._row_kind)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        shown = [f"{name}={value!r}" for name, value in zip(self._fields, self._values, strict=True)]
        return f"Row({', '.join(shown)})"


@lru_cache(maxsize=256)
def order_of_names(fields: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the positions of the names in alphabetical order; None where they are in it."""
    order = tuple(sorted(range(len(fields)), key=fields.__getitem__))
    return None if order == tuple(range(len(fields))) else order


def changelog_text(row: Row, separator: str = ", ") -> str:
    """Return the text that Flink gives a row which leaves a job: its kind and values, as in `+I[1, a]`."""
    return f"{row.get_row_kind()}[{separator.join(map(str, row))}]"


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True) if value._fields is not None else [_plain(item) for item in value]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _row_to_plain(row: Row) -> list[Any]:
    return [None if row._fields is None else list(row._fields), row._values, row._row_kind.value]


def _row_from_plain(plain: list[Any], version: int) -> Row:
    fields, values, kind = plain
    return Row.of_fields(None if fields is None else tuple(fields), values, RowKind(kind))


keep_as(Row, "row", _row_to_plain, _row_from_plain)

name_in_pickles(Row, "row of values")
name_in_pickles(Row.of_fields, "row")
name_in_pickles(RowKind, "row kind")
