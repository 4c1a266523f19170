"""The rows of one input of a join in keyed state, by what is known of their uniqueness.

A row is kept as its fields. With `counts_partners` it has the number of its partners beside it, for joins that have to
know whether a row is alone. All methods are about the current key.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, Protocol

from penstock.common.typeinfo import Types
from penstock.runtime.operators.table.operator import KeyedTableOperator
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.state_types import row_state_type, state_type

__all__ = ["SideRows", "side_rows"]

Fields = tuple[Any, ...]


class SideRows(Protocol):
    """Rows of a side, kept by what is known of them; see `RowsTogether` for one way more."""

    def add(self, fields: Fields, partners: int) -> None:
        """Keep a row."""

    def retract(self, fields: Fields) -> None:
        """Forget a row; an unknown one is fine."""

    def rows(self) -> list[tuple[Fields, int]]:
        """Return all rows with the number of their partners, equal ones as often as there are."""

    def set_partners(self, fields: Fields, partners: int) -> None:
        """Change the number of partners of a row, and of those equal to it."""

    def clear(self) -> None:
        """Forget all rows."""

    @property
    def state_names(self) -> tuple[str, ...]:
        """The states that have keys with rows."""


class _OneRow:
    """The join key has a unique key in it: one row for each key."""

    def __init__(self, operator: KeyedTableOperator, name: str, types: tuple[LogicalType, ...], ttl_ms: int) -> None:
        kept = Types.TUPLE([row_state_type(types), Types.LONG()])
        self._state = operator.value_state(f"_{name}_row", kept, ttl_ms)

    def add(self, fields: Fields, partners: int) -> None:
        self._state.hold((fields, partners))

    def retract(self, fields: Fields) -> None:
        self._state.hold(None)

    def rows(self) -> list[tuple[Fields, int]]:
        held = self._state.held()
        return [] if held is None else [held]

    def set_partners(self, fields: Fields, partners: int) -> None:
        self._state.hold((fields, partners))

    def clear(self) -> None:
        self._state.clear()

    @property
    def state_names(self) -> tuple[str, ...]:
        return (self._state.name,)


class _ByUniqueKey:
    """Rows by their unique key."""

    def __init__(
        self,
        operator: KeyedTableOperator,
        name: str,
        types: tuple[LogicalType, ...],
        unique_key: tuple[int, ...],
        ttl_ms: int,
    ) -> None:
        key_types = [state_type(types[at]) for at in unique_key]
        key_type = key_types[0] if len(key_types) == 1 else Types.TUPLE(key_types)
        kept = Types.TUPLE([row_state_type(types), Types.LONG()])
        self._state = operator.map_state(f"_{name}_rows_by_key", key_type, kept, ttl_ms)
        self._key: Callable[[Fields], Any] = itemgetter(*unique_key) if unique_key else _no_key

    def add(self, fields: Fields, partners: int) -> None:
        self._state.hold(self._key(fields), (fields, partners))

    def retract(self, fields: Fields) -> None:
        self._state.remove(self._key(fields))

    def rows(self) -> list[tuple[Fields, int]]:
        return [held for _, held in self._state.held_items()]

    def set_partners(self, fields: Fields, partners: int) -> None:
        self._state.hold(self._key(fields), (fields, partners))

    def clear(self) -> None:
        self._state.clear()

    @property
    def state_names(self) -> tuple[str, ...]:
        return (self._state.name,)


class _Counted:
    """Rows without a unique key: how often each came."""

    def __init__(self, operator: KeyedTableOperator, name: str, types: tuple[LogicalType, ...], ttl_ms: int) -> None:
        kept = Types.TUPLE([Types.LONG(), Types.LONG()])
        self._state = operator.map_state(f"_{name}_rows_counted", row_state_type(types), kept, ttl_ms)

    def add(self, fields: Fields, partners: int) -> None:
        held = self._state.held(fields)
        self._state.hold(fields, (1 if held is None else held[0] + 1, partners))

    def retract(self, fields: Fields) -> None:
        held = self._state.held(fields)
        if held is None:
            return
        if held[0] > 1:
            self._state.hold(fields, (held[0] - 1, held[1]))
        else:
            self._state.remove(fields)

    def rows(self) -> list[tuple[Fields, int]]:
        found: list[tuple[Fields, int]] = []
        for fields, (count, partners) in self._state.held_items():
            if count == 1:
                found.append((fields, partners))
            else:
                found += [(fields, partners)] * count
        return found

    def set_partners(self, fields: Fields, partners: int) -> None:
        held = self._state.held(fields)
        if held is not None:
            self._state.hold(fields, (held[0], partners))

    def clear(self) -> None:
        self._state.clear()

    @property
    def state_names(self) -> tuple[str, ...]:
        return (self._state.name,)


def side_rows(
    operator: KeyedTableOperator,
    name: str,
    types: tuple[LogicalType, ...],
    keys: tuple[int, ...],
    unique_key: tuple[int, ...] | None,
    ttl_ms: int,
) -> SideRows:
    """How the rows of a side are kept."""
    if unique_key is None:
        return _Counted(operator, name, types, ttl_ms)
    if set(unique_key) <= set(keys):
        return _OneRow(operator, name, types, ttl_ms)
    return _ByUniqueKey(operator, name, types, unique_key, ttl_ms)


def _no_key(fields: Fields) -> int:
    return 0
