"""Aggregate calls on columns: which calls can be folded as numbers, and their slots as columns.

What a *slot* is says `penstock.vocabulary.sql.aggregates.code`: these are the same slots, so that an accumulator may be
a tuple in state and a row of columns in memory. Sums of whole numbers wrap, as Flink's do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import FieldNumbers, NumberColumn, Numbers
from penstock.runtime.operators.table.ranked_texts import RankedTexts
from penstock.vocabulary.field_aggregates import Measure
from penstock.vocabulary.sql.aggregates.arithmetic import BITS
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.refusals import Names, column_text, kind_text
from penstock.vocabulary.sql.scalar import arrow_type
from penstock.vocabulary.sql.scalar.kinds import CHARACTERS
from penstock.vocabulary.sql.typed_expressions import AggregateCall
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

__all__ = ["ColumnarCalls", "calls_refusal", "columnar_calls"]

_WHOLE = frozenset([*BITS, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ, Kind.INTERVAL_MILLIS])
_SUMMED = frozenset([*BITS, Kind.DOUBLE])
_SEEN = frozenset([Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.CHAR, Kind.VARCHAR])
"""Types whose values are equal in Arrow exactly if they are in SQL, and in state."""
_FOLDED = frozenset(["COUNT", "SUM", "SUM0", "AVG", "MIN", "MAX"])
_INTS = {8: np.int8, 16: np.int16, 32: np.int32}


@dataclass(frozen=True)
class _Slot:
    """A slot of a call: how it is folded, of which field, and the number of bits that it wraps at."""

    kind: Literal["count", "sum", "min", "max"]
    field: int | None
    filter: int | None
    is_float: bool = False
    bits: int = 64
    is_null_at_first: bool = True
    is_distinct: bool = False
    """Whether only the first row of each value is counted."""
    is_text: bool = False
    """Whether numbers are the places of texts in their order."""

    def wrapped(self, column: NumberColumn) -> NumberColumn:
        """The column in the range of its type."""
        values, valid = column
        if self.bits in _INTS:
            values = values.astype(_INTS[self.bits]).astype(np.int64)
        if self.is_null_at_first or self.kind == "count":
            return NumberColumn(values, valid)
        # What starts with 0 is never NULL, and no negative zero.
        return NumberColumn((values if valid is None else np.where(valid, values, 0)) + 0, None)


@dataclass(frozen=True)
class _Result:
    """The result of a call: which slots it is made of, and its type in Arrow."""

    function: str
    first: int
    type: pa.DataType


class ColumnarCalls:
    """The calls of an operator on columns. The numbers of slots are the names of fields for `field_columns`."""

    def __init__(self, slots: list[_Slot], results: list[_Result]) -> None:
        self._slots = slots
        self._results = results
        self.slot_count = len(slots)
        self.measures = [
            Measure("count")
            if each.kind == "count" and each.field is None and each.filter is None
            # What is counted is known from where it is.
            else Measure(each.kind, at)
            for at, each in enumerate(slots)
        ]
        """How rows are folded into slots."""
        self.merging = [Measure("sum" if each.kind == "count" else each.kind, at) for at, each in enumerate(slots)]
        """How slots are folded into slots."""
        self.slot_types = [pa.float64() if each.is_float else pa.int64() for each in slots]

    @property
    def counts_all(self) -> bool:
        """Whether one of the results is the number of all rows, which every row changes."""
        return any(each.function == "COUNT" and self.measures[each.first].field is None for each in self._results)

    @property
    def fields(self) -> set[int]:
        """The numbers of the fields that the calls read."""
        return {at for each in self._slots for at in (each.field, each.filter) if at is not None}

    @property
    def distinct(self) -> list[tuple[int, int, int | None]]:
        """Slots that count values: number of the slot, field, and filter."""
        return [
            (at, each.field, each.filter)
            for at, each in enumerate(self._slots)
            if each.is_distinct and each.field is not None
        ]

    @property
    def text_fields(self) -> dict[int, int]:
        """The fields of slots of texts, by slot."""
        return {at: each.field for at, each in enumerate(self._slots) if each.is_text and each.field is not None}

    def numbers(
        self,
        columns: dict[int, pa.Array],
        count: int,
        firsts: Mapping[int, Numbers] | None = None,
        texts: RankedTexts | None = None,
    ) -> FieldNumbers:
        """What rows bring to each slot, of the columns of their fields; `firsts` are rows with values not seen yet."""
        found: FieldNumbers = {}
        for at, slot in enumerate(self._slots):
            if slot.is_distinct:
                assert firsts is not None
                found[at] = NumberColumn(np.zeros(count, np.int64), firsts[at])
                continue
            if slot.field is None and slot.filter is None:
                continue
            column = NumberColumn(np.zeros(count, np.int64), None)
            if slot.field is not None:
                source = columns[slot.field] if texts is None or not slot.is_text else texts.ranks[at]
                column = _number_column(source, is_counted=slot.kind == "count", is_float=slot.is_float)
            if slot.filter is not None:
                chosen = columns[slot.filter].fill_null(False).to_numpy(zero_copy_only=False)
                column = NumberColumn(column.values, chosen if column.valid is None else column.valid & chosen)
            found[at] = column
        return found

    def slots_of(self, arrays: Sequence[pa.Array]) -> FieldNumbers:
        """Slots that have come as Arrow columns."""
        return {
            at: _number_column(array, is_counted=False, is_float=slot.is_float)
            for at, (array, slot) in enumerate(zip(arrays, self._slots, strict=True))
        }

    def slots_of_accumulators(self, accumulators: Sequence[tuple[Any, ...]]) -> FieldNumbers:
        """Slots of accumulators."""
        columns = zip(*accumulators, strict=True)
        return self.slots_of([pa.array(each, kind) for each, kind in zip(columns, self.slot_types, strict=True)])

    def wrapped(self, measures: Sequence[NumberColumn]) -> list[NumberColumn]:
        """Folded measures as slots, each in the range of its type."""
        return [slot.wrapped(column) for slot, column in zip(self._slots, measures, strict=True)]

    def initial(self) -> tuple[Any, ...]:
        """The accumulator of no rows."""
        return tuple(
            [
                None if each.kind != "count" and each.is_null_at_first else 0.0 if each.is_float else 0
                for each in self._slots
            ]
        )

    def result_columns(self, slots: Sequence[NumberColumn]) -> list[NumberColumn]:
        """The results of the calls, as numbers."""
        made = []
        for result in self._results:
            if result.function == "AVG":
                made.append(_mean(slots[result.first], slots[result.first + 1].values))
            else:
                made.append(slots[result.first])
        return made

    def arrays(self, results: Sequence[NumberColumn], texts: RankedTexts | None = None) -> list[pa.Array]:
        """Result columns with the types that they are declared with."""
        made = []
        for column, result in zip(results, self._results, strict=True):
            is_text = texts is not None and self._slots[result.first].is_text
            array = texts.texts(result.first, column) if texts is not None and is_text else as_array(column)
            made.append(array.cast(result.type, safe=False))
        return made


def as_array(column: NumberColumn) -> pa.Array:
    """A column of numbers for Arrow."""
    return pa.array(column.values, mask=None if column.valid is None else ~column.valid)


def calls_refusal(
    calls: Sequence[AggregateCall], input_types: Sequence[LogicalType], names: Names = (), *, in_groups: bool = False
) -> str | None:
    """Return why the calls have to see rows; None if `columnar_calls` folds them.

    `in_groups`: whoever folds them has views of what has been seen, for DISTINCT, and ranks texts, for MIN and MAX.
    """
    for call in calls:
        if _made_slots(call, input_types, in_groups) is None or arrow_type(call.type) is None:
            return _reason(call, input_types, names)
    return None


def columnar_calls(
    calls: Sequence[AggregateCall], input_types: Sequence[LogicalType], *, in_groups: bool = False
) -> ColumnarCalls:
    """The calls on columns, which `calls_refusal` has nothing against."""
    slots: list[_Slot] = []
    results: list[_Result] = []
    for call in calls:
        made, type_ = _made_slots(call, input_types, in_groups), arrow_type(call.type)
        assert made is not None and type_ is not None, f"{call.function} has to see rows"
        results.append(_Result(call.function, len(slots), type_))
        slots += made
    return ColumnarCalls(slots, results)


def _reason(call: AggregateCall, input_types: Sequence[LogicalType], names: Names) -> str:
    if call.function == USER_FUNCTION:
        return f"the Python function {call.options[0]}() aggregates each row"
    name = call.function.lstrip("$")
    if call.is_distinct:
        name += "(DISTINCT)"
    elif name in _FOLDED and len(call.arguments) == 1 and not call.order:
        (field,) = call.arguments
        return f"{name} of {column_text(field, names)}, which is {kind_text(input_types[field])}, has no column form"
    return f"the aggregate {name} has no column form"


def _made_slots(call: AggregateCall, input_types: Sequence[LogicalType], in_groups: bool) -> list[_Slot] | None:
    is_counted = in_groups and call.is_distinct and call.function == "COUNT" and len(call.arguments) == 1
    made = _distinct_slots(call, input_types) if is_counted else _slots_of(call, input_types)
    return _text_slots(call, input_types) if made is None and in_groups else made


def _distinct_slots(call: AggregateCall, input_types: Sequence[LogicalType]) -> list[_Slot] | None:
    (field,) = call.arguments
    if call.order or input_types[field].kind not in _SEEN:
        return None
    return [_Slot("count", field, call.filter, is_distinct=True)]


def _text_slots(call: AggregateCall, input_types: Sequence[LogicalType]) -> list[_Slot] | None:
    if call.function not in ("MIN", "MAX") or call.is_distinct or call.order or len(call.arguments) != 1:
        return None
    (field,) = call.arguments
    if input_types[field].kind not in CHARACTERS or call.type.kind is not input_types[field].kind:
        return None
    return [_Slot("min" if call.function == "MIN" else "max", field, call.filter, is_text=True)]


def _slots_of(call: AggregateCall, input_types: Sequence[LogicalType]) -> list[_Slot] | None:
    if call.is_distinct or call.order or len(call.arguments) > 1:
        return None
    field = call.arguments[0] if call.arguments else None
    if call.function == "COUNT":
        counted = field if field is not None and input_types[field].nullable else None
        if counted is not None and arrow_type(input_types[counted]) is None:
            return None
        return [_Slot("count", counted, call.filter)]
    if field is None:
        return None
    kind, given = call.type.kind, input_types[field].kind
    if call.function in ("MIN", "MAX") and given in _WHOLE and kind is given:
        return [_Slot("min" if call.function == "MIN" else "max", field, call.filter)]
    if given not in _SUMMED or kind not in _SUMMED or (given is Kind.DOUBLE) != (kind is Kind.DOUBLE):
        return None
    is_float = kind is Kind.DOUBLE
    if call.function in ("SUM", "SUM0", "$SUM0"):
        bits = 64 if is_float else BITS[kind]
        return [_Slot("sum", field, call.filter, is_float, bits, is_null_at_first=call.function == "SUM")]
    if call.function == "AVG":
        summed = _Slot("sum", field, call.filter, is_float, is_null_at_first=False)
        counted = field if input_types[field].nullable else None
        return [summed, _Slot("count", counted, call.filter)]
    return None


def _number_column(array: pa.Array, *, is_counted: bool, is_float: bool) -> NumberColumn:
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    if is_counted:
        return NumberColumn(np.zeros(len(array), np.int64), valid)
    plain = (array.fill_null(0) if valid is not None else array).to_numpy(zero_copy_only=False)
    return NumberColumn(plain.astype(np.float64 if is_float else np.int64, copy=False), valid)


def _mean(sums: NumberColumn, counts: Numbers) -> NumberColumn:
    is_known = counts != 0
    divisors = np.where(is_known, counts, 1)
    valid = None if is_known.all() else is_known
    if sums.values.dtype == np.float64:
        return NumberColumn(sums.values / divisors, valid)
    quotients = sums.values // divisors
    quotients += (sums.values < 0) & (quotients * divisors != sums.values)  # towards zero
    return NumberColumn(quotients, valid)
