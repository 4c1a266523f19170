"""Many values of a declared type at once.

Values that are of their type already pass as they are, at a few dozen nanoseconds each: what is asked of a whole column
(`set(map(type, values))`) is answered in C. A tuple or row is taken apart into columns, and made anew only where one
of them has changed.
"""

from __future__ import annotations

import array
import datetime
import decimal
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from math import isinf
from operator import attrgetter, itemgetter
from typing import Any

from penstock.common.basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    PickledBytesTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.common.composite_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RecordTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from penstock.common.time import Instant
from penstock.common.types import Row, RowKind

__all__ = ["MisfitError", "conversion_of"]

Column = Sequence[Any]
Convert = Callable[[Column], Column]
Kinds = set[type]

_NONE = type(None)
_fields_of, _values_of, _kind_of = attrgetter("_fields"), attrgetter("_values"), attrgetter("_row_kind")
_zone_of = attrgetter("tzinfo")
_INSERTED = {RowKind.INSERT}


class MisfitError(TypeError):
    """One of many values is not of the declared type; `value` is it, the text says which part of it and what to do."""

    def __init__(self, text: str, value: Any) -> None:
        super().__init__(text)
        self.value = value


def conversion_of(type_info: TypeInformation | None) -> Callable[[list[Any]], list[Any]] | None:
    """Return what makes values of a declared type; None where there is nothing to do.

    It gives back the list that it was given where all values are of the type, and raises MisfitError where one cannot
    be made so without loss. None is a value of every type.
    """
    convert = None if type_info is None else _conversion(type_info)
    if type_info is None or convert is None:
        return None
    coerce = type_info.coerce

    def convert_all(values: list[Any]) -> list[Any]:
        try:
            converted = convert(values)
        except (TypeError, ValueError, OverflowError):
            # The quick way knows columns only. The slow one tells which value it is, and of what part.
            converted = [_coerced(coerce, value) for value in values]
        return converted if isinstance(converted, list) else list(converted)

    return convert_all


def _coerced(coerce: Callable[[Any], Any], value: Any) -> Any:
    try:
        return coerce(value)
    except (TypeError, ValueError, OverflowError) as error:
        text = str(error)
    raise MisfitError(text, value)


def _conversion(type_info: TypeInformation) -> Convert | None:
    """What converts a column, and gives it back itself where nothing had to be done; None where there never is."""
    if isinstance(type_info, PickledBytesTypeInfo):
        return None
    return _with_nulls(_quick_way(type_info) or _slow_way(type_info))


def _with_nulls(convert: Callable[[Column, Kinds], Column]) -> Convert:
    def convert_some(column: Column) -> Column:
        kinds = set(map(type, column))
        if _NONE not in kinds:
            return convert(column, kinds) if kinds else column
        kinds.discard(_NONE)
        present = [value for value in column if value is not None]
        converted = convert(present, kinds) if kinds else present
        if converted is present:
            return column
        rest = iter(converted)
        return [None if value is None else next(rest) for value in column]

    return convert_some


def _slow_way(type_info: TypeInformation) -> Callable[[Column, Kinds], Column]:
    coerce = type_info.coerce
    return lambda column, kinds: list(map(coerce, column))


def _quick_way(type_info: TypeInformation) -> Callable[[Column, Kinds], Column] | None:
    if isinstance(type_info, BasicTypeInfo):
        return _of_basic(type_info)
    if isinstance(type_info, (DateTypeInfo, TimeTypeInfo)):
        return _exact(type_info, datetime.date if isinstance(type_info, DateTypeInfo) else datetime.time)
    if isinstance(type_info, TimestampTypeInfo):
        return _exact(type_info, datetime.datetime, lambda column: set(map(_zone_of, column)) == {None})
    if isinstance(type_info, RecordTypeInfo):
        return _of_records(type_info)
    if isinstance(type_info, RowTypeInfo):
        return _of_rows(type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _of_tuples(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _of_maps(type_info)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.is_bytes:
        return _exact(type_info, bytes)
    if isinstance(type_info, (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)):
        return _of_lists(type_info, type_info.element_type)
    return None


def _exact(
    type_info: TypeInformation, kind: type, fits: Callable[[Column], bool] | None = None
) -> Callable[[Column, Kinds], Column]:
    """Values of one Python type, all of which are of the declared one, or those that `fits` says are."""
    wanted, slow = {kind}, _slow_way(type_info)

    def convert(column: Column, kinds: Kinds) -> Column:
        return column if kinds == wanted and (fits is None or fits(column)) else slow(column, kinds)

    return convert


_EXACT = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: bool,
    BasicType.BIG_INT: int,
    BasicType.BIG_DEC: decimal.Decimal,
    BasicType.INSTANT: Instant,
}
_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}
_PLAIN_NUMBERS = {float, int, bool}


def _of_basic(type_info: BasicTypeInfo) -> Callable[[Column, Kinds], Column]:
    basic = type_info.basic_type
    if basic in _EXACT:
        return _exact(type_info, _EXACT[basic])
    if basic in _BITS:
        limit = 1 << (_BITS[basic] - 1)
        return _exact(type_info, int, lambda column: min(column) >= -limit and max(column) < limit)
    if basic is BasicType.CHAR:
        return _exact(type_info, str, lambda column: set(map(len, column)) == {1})
    return _of_doubles if basic is BasicType.DOUBLE else _of_floats


def _of_doubles(column: Column, kinds: Kinds) -> Column:
    if kinds == {float}:
        return column
    return list(map(float if kinds <= _PLAIN_NUMBERS else BasicTypeInfo.DOUBLE_TYPE_INFO().coerce, column))


def _of_floats(column: Column, kinds: Kinds) -> Column:
    if kinds <= _PLAIN_NUMBERS:
        rounded = array.array("f", column).tolist()
        if kinds == {float} and rounded == column:
            return column
        # An array makes infinity of what is too large.
        if not any(map(isinf, rounded)):
            return rounded
    return list(map(BasicTypeInfo.FLOAT_TYPE_INFO().coerce, column))


def _of_lists(type_info: TypeInformation, element_type: TypeInformation) -> Callable[[Column, Kinds], Column]:
    element, slow = _conversion(element_type), _slow_way(type_info)

    def convert(column: Column, kinds: Kinds) -> Column:
        if kinds != {list}:
            return slow(column, kinds)
        items = list(chain.from_iterable(column))
        converted = items if element is None else element(items)
        return column if converted is items else _cut(converted, column)

    return convert


def _of_maps(type_info: MapTypeInfo) -> Callable[[Column, Kinds], Column]:
    key, item, slow = _conversion(type_info.key_type), _conversion(type_info.value_type), _slow_way(type_info)

    def convert(column: Column, kinds: Kinds) -> Column:
        if kinds != {dict}:
            return slow(column, kinds)
        keys = list(chain.from_iterable(column))
        items = list(chain.from_iterable(map(dict.values, column)))
        new_keys = keys if key is None else key(keys)
        new_items = items if item is None else item(items)
        if new_keys is keys and new_items is items:
            return column
        pieces = zip(_cut(new_keys, column), _cut(new_items, column), strict=True)
        return [dict(zip(its_keys, its_items, strict=True)) for its_keys, its_items in pieces]

    return convert


def _cut(items: Iterable[Any], like: Column) -> list[list[Any]]:
    """The items in lists of the same lengths."""
    rest = iter(items)
    return [list(islice(rest, len(each))) for each in like]


class _Fields:
    """The columns of the fields of many records."""

    def __init__(self, types: list[TypeInformation]) -> None:
        self._parts = [(itemgetter(at), _conversion(each)) for at, each in enumerate(types)]
        self._count = {len(types)}

    def converted(self, records: Column) -> Iterable[Any] | None:
        """The fields of each record, converted; None where that changed nothing. Raises where their number is wrong."""
        if set(map(len, records)) != self._count:
            raise TypeError
        columns: dict[int, Column] = {}
        for at, (get, convert) in enumerate(self._parts):
            if convert is not None:
                column = list(map(get, records))
                made = convert(column)
                if made is not column:
                    columns[at] = made
        if not columns:
            return None
        rest = [columns[at] if at in columns else map(get, records) for at, (get, _) in enumerate(self._parts)]
        return zip(*rest, strict=True)


def _of_tuples(type_info: TupleTypeInfo) -> Callable[[Column, Kinds], Column]:
    fields, slow = _Fields(type_info.get_field_types()), _slow_way(type_info)

    def convert(column: Column, kinds: Kinds) -> Column:
        if kinds != {tuple}:
            return slow(column, kinds)
        converted = fields.converted(column)
        return column if converted is None else list(converted)

    return convert


def _of_rows(type_info: RowTypeInfo) -> Callable[[Column, Kinds], Column]:
    names = tuple(type_info.get_field_names())
    ordered = sorted(names)
    fields, slow = _Fields(type_info.get_field_types()), _slow_way(type_info)

    def convert(column: Column, kinds: Kinds) -> Column:
        if kinds != {Row}:
            return slow(column, kinds)
        found = set(map(_fields_of, column))
        values: Column = list(map(_values_of, column))
        if not found <= {names, None}:
            if len(found) > 1 or sorted(*found) != ordered:
                return slow(column, kinds)
            # The names in another order, the same for all: as in Row(y=.., x=..).
            places = list(map(found.pop().index, names))
            values = [[each[at] for at in places] for each in values]
        converted = fields.converted(values)
        if converted is None and found == {names}:
            return column
        return _rows_of(names, values if converted is None else converted, column)

    return convert


def _rows_of(names: tuple[str, ...], values: Iterable[Any], origins: Column) -> list[Row]:
    made = Row.of_all(names, values)
    row_kinds = list(map(_kind_of, origins))
    if set(row_kinds) != _INSERTED:
        for row, row_kind in zip(made, row_kinds, strict=True):
            row.set_row_kind(row_kind)
    return made


def _of_records(type_info: RecordTypeInfo) -> Callable[[Column, Kinds], Column]:
    names, types = type_info.get_field_names(), type_info.get_field_types()
    both = [(attrgetter(name), _conversion(each)) for name, each in zip(names, types, strict=True)]
    parts = [(get, convert_field) for get, convert_field in both if convert_field is not None]
    wanted, slow = {type_info.record_class}, _slow_way(type_info)

    def convert(column: Column, kinds: Kinds) -> Column:
        if kinds != wanted:
            return slow(column, kinds)
        for get, convert_field in parts:
            values = list(map(get, column))
            if convert_field(values) is not values:
                return slow(column, kinds)
        return column

    return convert
