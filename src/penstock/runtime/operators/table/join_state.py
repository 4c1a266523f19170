"""The rows that an inner join keeps of inputs that are only inserted into, for joins in columns and row by row.

State of a key is one value: the rows of the left, those of the right, and for each side whether further rows are in a
list. So most keys cost one read and one write in a batch, and keys with many rows are only appended to. `KeptRows`
packs columns as they come, and puts rows together without reading them where keys are new; `RowsTogether` takes rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import TypeInformation, Types
from penstock.runtime.field_columns import Keys, Numbers, objects_of
from penstock.runtime.operators.table.operator import KeyedTableOperator
from penstock.state.encoded_values import EncodedValues
from penstock.state.serializers.encoding import TYPED
from penstock.state.serializers.row_columns import RowPacker, array_head
from penstock.state.serializers.schemas import number_of, schema_of

__all__ = ["LEFT", "RIGHT", "HeldRows", "KeptRows", "RowsTogether", "SortedRows"]

_MOST_IN_VALUE = 32
"""Rows of a key and side that are kept in one value, which is written anew when one comes; more are a list."""
_HEADS = [array_head(count) for count in range(_MOST_IN_VALUE + 1)]
_ENDS = {(left, right): bytes([0xC2 | left, 0xC2 | right]) for left in (False, True) for right in (False, True)}
"""The two flags as MessagePack has them."""
LEFT, RIGHT = 0, 1

Value = tuple[Any, ...]
"""The rows of both sides, and for each whether there are more."""


class SortedRows(NamedTuple):
    """New rows of a side in the order of their keys: their fields, and how many there are of each key."""

    fields: list[pa.Array]
    counts: Numbers


class HeldRows(NamedTuple):
    """What state has of some keys: where it is stored, and the values of those that have one."""

    stored: list[bytes]
    values: dict[int, Value]


class KeptRows:
    """The state of a join in columns."""

    def __init__(self, operator: KeyedTableOperator, left: TypeInformation, right: TypeInformation) -> None:
        self._backend = operator.backend
        value_type = _value_type(left, right)
        self._values = EncodedValues(operator.backend, operator.value_state(_VALUES, value_type, 0))
        self._more = [operator.list_state(_MORE[LEFT], left, 0), operator.list_state(_MORE[RIGHT], right, 0)]
        self._packers = [RowPacker(left), RowPacker(right)]
        self._head = TYPED + number_of(schema_of(value_type)) + array_head(4)
        self._list_heads = [TYPED + number_of(schema_of(Types.LIST(each))) for each in (left, right)]

    def of(self, keys: Keys) -> HeldRows:
        """What there is of keys."""
        stored = self._values.rows_of(keys.parts, is_tuple=keys.is_tuple)
        read = self._values.read(stored)
        known = [code for code, data in enumerate(read) if data is not None]
        values = self._values.values_of([read[code] for code in known])
        return HeldRows(stored, dict(zip(known, values, strict=True)))

    def rows_of(self, side: int, keys: Keys, code: int, value: Value) -> tuple[Any, ...]:
        """The rows of a key and side that are in state."""
        found: tuple[Any, ...] = value[side]
        if value[2 + side]:
            self._set_key(keys, code)
            found = (*self._more[side].held(), *found)
        return found

    def keep(self, keys: Keys, held: HeldRows, new: list[SortedRows]) -> None:
        """Let new rows be state too; each key has some."""
        sides = [
            zip(rows.counts.tolist(), packer.packed_groups(rows.fields, rows.counts), strict=True)
            for packer, rows in zip(self._packers, new, strict=True)
        ]
        values = []
        for code, (left, right) in enumerate(zip(*sides, strict=True)):
            parts, flags = [left, right], (False, False)
            value = held.values.get(code)
            if value is not None:
                parts = [self._with_held(side, value, parts[side]) for side in (LEFT, RIGHT)]
                flags = value[2], value[3]
            if parts[LEFT][0] > _MOST_IN_VALUE or parts[RIGHT][0] > _MOST_IN_VALUE:
                parts, flags = self._moved(keys, code, parts, flags)
            (lefts, left_data), (rights, right_data) = parts
            values.append(self._head + _HEADS[lefts] + left_data + _HEADS[rights] + right_data + _ENDS[flags])
        self._values.hold(held.stored, values)

    def _with_held(self, side: int, value: Value, new: _Part) -> _Part:
        rows = value[side]
        return len(rows) + new[0], b"".join(map(self._packers[side].packed_row, rows)) + new[1]

    def _moved(self, keys: Keys, code: int, parts: list[_Part], flags: _Flags) -> tuple[list[_Part], _Flags]:
        """What is left in the value when long sides have gone to lists."""
        self._set_key(keys, code)
        left, has_more = list(parts), list(flags)
        for side in (LEFT, RIGHT):
            count, data = parts[side]
            if count > _MOST_IN_VALUE:
                self._more[side].hold_encoded(self._list_heads[side] + array_head(count) + data)
                left[side], has_more[side] = (0, b""), True
        return left, (has_more[LEFT], has_more[RIGHT])

    def _set_key(self, keys: Keys, code: int) -> None:
        self._backend.set_key(objects_of(keys.take(np.array([code])))[0])


class RowsTogether:
    """One side of that state, row by row."""

    def __init__(self, operator: KeyedTableOperator, left: TypeInformation, right: TypeInformation, side: int) -> None:
        self._values = operator.value_state(_VALUES, _value_type(left, right), 0)
        self._more = operator.list_state(_MORE[side], (left, right)[side], 0)
        self._side = side

    def add(self, fields: tuple[Any, ...], partners: int) -> None:
        """Keep a row; partners are not counted."""
        value = list(self._values.held() or _NOTHING)
        value[self._side] = rows = (*value[self._side], fields)
        if len(rows) > _MOST_IN_VALUE:
            self._more.hold_all(rows)
            value[self._side], value[2 + self._side] = (), True
        self._values.hold(tuple(value))

    def rows(self) -> list[tuple[tuple[Any, ...], int]]:
        """Return all rows of the current key, in the order in which they came."""
        value = self._values.held()
        if value is None:
            return []
        more = self._more.held() if value[2 + self._side] else ()
        return [(fields, 0) for fields in (*more, *value[self._side])]

    def retract(self, fields: tuple[Any, ...]) -> None:
        """Refuse it: rows are only inserted."""
        raise AssertionError(f"a row was taken back of an input that is only inserted into: {fields!r}")

    def set_partners(self, fields: tuple[Any, ...], partners: int) -> None:
        """Refuse it: partners are not counted."""
        raise AssertionError("no partners are counted")

    @property
    def state_names(self) -> tuple[str, ...]:
        """The states that have keys with rows."""
        return (_VALUES,)

    def clear(self) -> None:
        """Forget the rows of the current key, those of the other side too."""
        self._values.clear()
        self._more.clear()


def _value_type(left: TypeInformation, right: TypeInformation) -> TypeInformation:
    return Types.TUPLE([FrozenListTypeInfo(left), FrozenListTypeInfo(right), Types.BOOLEAN(), Types.BOOLEAN()])


_VALUES, _MORE = "_rows", ("_more_left_rows", "_more_right_rows")
_NOTHING: Value = ((), (), False, False)
_Part = tuple[int, bytes]
"""Rows of a key and side: how many, and their bytes one behind the other."""
_Flags = tuple[bool, bool]
