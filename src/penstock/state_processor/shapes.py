"""What Python objects have in common, and the Arrow type that says so.

State without a declared type holds any objects. Where all of them are of one shape they can be a typed column that
gives each of them back as it was; where not, the shape is `OPAQUE`. One liberty is taken: whole numbers among floats
come back as floats, as a sum that began with 0 has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import reduce
from itertools import chain
from typing import Any

import pyarrow as pa

Convert = Callable[[Any], Any]

_INT_LIMIT = 2**63
_EXACT_IN_FLOAT = 2**53
_SIMPLE: dict[str, pa.DataType] = {
    "nothing": pa.string(),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "wide int": pa.int64(),
    "float": pa.float64(),
    "str": pa.string(),
    "bytes": pa.binary(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "instant": pa.timestamp("us", tz="UTC"),
}
_KINDS: dict[type, str] = {bool: "bool", float: "float", bytes: "bytes", date: "date"}
_NUMBERS = {"int", "wide int", "float"}


@dataclass(frozen=True)
class Shape:
    """A kind (see `_SIMPLE`, and tuple, list, dict, opaque) with the shapes of its parts; `has_none` beside it."""

    kind: str
    parts: tuple[Shape, ...] = ()
    has_none: bool = False

    @property
    def is_opaque(self) -> bool:
        """Whether no column type fits all objects."""
        return self.kind == "opaque"

    @property
    def is_unknown(self) -> bool:
        """Whether there is no column type: none fits, or there was no object to tell."""
        return self.kind in ("opaque", "nothing")

    def arrow_type(self) -> pa.DataType:
        """The type of a column of such objects."""
        types = [part.arrow_type() for part in self.parts]
        if self.kind == "tuple":
            return pa.struct([(f"f{number}", each) for number, each in enumerate(types)])
        if self.kind == "list":
            return pa.list_(types[0])
        if self.kind == "dict":
            return pa.map_(types[0], types[1])
        return _SIMPLE[self.kind]

    def from_arrow(self) -> Convert | None:
        """What makes an object of what Arrow gives as Python; None where that is the object."""
        parts = [part.from_arrow() for part in self.parts]
        if self.kind == "tuple":
            return _tuple_maker(parts)
        if self.kind == "list":
            (item,) = parts
            return None if item is None else lambda given: None if given is None else [item(each) for each in given]
        if self.kind == "dict":
            return _dict_maker(*parts)
        return _MAKERS.get(self.kind)


NOTHING = Shape("nothing")
OPAQUE = Shape("opaque")


def shape_of_all(values: list[Any]) -> Shape:
    """The shape that all these objects have."""
    types = set(map(type, values))
    has_none = type(None) in types
    types.discard(type(None))
    if has_none and types:
        values = [value for value in values if value is not None]
    found = _shape_of(types, values) if types else NOTHING
    return replace(found, has_none=True) if has_none and not found.is_opaque else found


def merged(shapes: Iterable[Shape]) -> Shape:
    """The shape of objects that have one of several shapes."""
    return reduce(_merged, shapes, NOTHING)


def _shape_of(types: set[type], values: list[Any]) -> Shape:
    if len(types) == 2 and types == {int, float}:
        return _merged(*(_shape_of({kind}, [each for each in values if type(each) is kind]) for kind in types))
    if len(types) != 1:
        return OPAQUE
    (kind,) = types
    if kind in _KINDS:
        return Shape(_KINDS[kind])
    find = _FINDERS.get(kind)
    return OPAQUE if find is None else find(values)


def _ints(values: list[int]) -> Shape:
    low, high = min(values), max(values)
    if low < -_INT_LIMIT or high >= _INT_LIMIT:
        return OPAQUE
    return Shape("wide int" if low < -_EXACT_IN_FLOAT or high > _EXACT_IN_FLOAT else "int")


def _texts(values: list[str]) -> Shape:
    try:
        "".join(values).encode()
    except UnicodeEncodeError:  # halves of surrogate pairs, which Arrow does not take
        return OPAQUE
    return Shape("str")


def _moments(values: list[datetime]) -> Shape:
    zones = {value.tzinfo for value in values}
    if zones == {None} and not any(value.fold for value in values):
        return Shape("datetime")
    return Shape("instant") if zones == {UTC} else OPAQUE


def _tuples(values: list[tuple[Any, ...]]) -> Shape:
    lengths = set(map(len, values))
    if len(lengths) != 1 or lengths == {0}:
        return OPAQUE
    return _composed("tuple", *(shape_of_all(list(column)) for column in zip(*values, strict=True)))


def _lists(values: list[list[Any]]) -> Shape:
    return _composed("list", shape_of_all(list(chain.from_iterable(values))))


def _dicts(values: list[dict[Any, Any]]) -> Shape:
    keys = shape_of_all(list(chain.from_iterable(values)))
    if keys.has_none or keys.parts or keys.kind == "float":  # 1 and 1.0 are one key
        return OPAQUE
    return _composed("dict", keys, shape_of_all(list(chain.from_iterable(each.values() for each in values))))


_FINDERS: dict[type, Callable[[list[Any]], Shape]] = {
    int: _ints,
    str: _texts,
    datetime: _moments,
    tuple: _tuples,
    list: _lists,
    dict: _dicts,
}


def _composed(kind: str, *parts: Shape) -> Shape:
    return OPAQUE if any(part.is_opaque for part in parts) else Shape(kind, parts)


def _merged(one: Shape, other: Shape) -> Shape:
    if one.is_opaque or other.is_opaque:
        return OPAQUE
    has_none = one.has_none or other.has_none
    if one.kind == "nothing" or other.kind == "nothing":
        found = other if one.kind == "nothing" else one
    elif one.kind == other.kind and len(one.parts) == len(other.parts):
        found = _composed(one.kind, *map(_merged, one.parts, other.parts))
    elif one.kind in _NUMBERS and other.kind in _NUMBERS:
        found = _merged_numbers({one.kind, other.kind})
    else:
        return OPAQUE
    if found.kind == "dict" and found.parts[0].kind == "float":
        return OPAQUE
    return found if found.is_opaque else replace(found, has_none=has_none)


def _merged_numbers(kinds: set[str]) -> Shape:
    if kinds == {"int", "wide int"}:
        return Shape("wide int")
    return Shape("float") if "wide int" not in kinds else OPAQUE


_MAKERS: dict[str, Convert] = {
    "float": lambda given: None if given is None else float(given),
    "instant": lambda given: None if given is None else given.astimezone(UTC),  # Spark's zone is that of its session
}


def _tuple_maker(parts: list[Convert | None]) -> Convert:
    if not any(parts):
        return lambda given: None if given is None else tuple(given.values())
    converts = [part or _same for part in parts]

    def make(given: Any) -> Any:
        if given is None:
            return None
        return tuple([convert(each) for convert, each in zip(converts, given.values(), strict=True)])

    return make


def _dict_maker(key: Convert | None, value: Convert | None) -> Convert:
    of_key, of_value = key or _same, value or _same
    return lambda given: None if given is None else {of_key(name): of_value(each) for name, each in given}


def _same(given: Any) -> Any:
    return given
