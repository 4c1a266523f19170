"""Arrays, maps and rows: constructors, access, and the functions ARRAY_* and MAP_*."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import EvaluationError, FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.common_types import common_type
from penstock.vocabulary.sql.scalar.kinds import BOOLEAN, CHARACTERS, EXACT, INT, INTEGERS, STRING, array, map_of
from penstock.vocabulary.sql.scalar.parameters import (
    A_BOOLEAN,
    A_MAP,
    A_STRING,
    AN_ARRAY,
    AN_INT,
    ANYTHING,
    implicit_cast,
    of_kinds,
)
from penstock.vocabulary.sql.scalar.registry import Arguments, any_nullable, special, strict_function
from penstock.vocabulary.sql.typed_expressions import Call

__all__: list[str] = []

Values = tuple[Any, ...]


def _infer_array(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if not arguments:
        raise FunctionError("ARRAY takes 1 or more values")
    element = common_type([each.type for each in arguments])
    return tuple([implicit_cast(each, element) for each in arguments]), array(element).not_null()


def _infer_map(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if not arguments or len(arguments) % 2:
        raise FunctionError(f"MAP takes pairs of a key and a value, and {len(arguments)} values were given")
    key, value = (
        common_type([each.type for each in arguments[::2]]),
        common_type([each.type for each in arguments[1::2]]),
    )
    made = [implicit_cast(each, value if at % 2 else key) for at, each in enumerate(arguments)]
    return tuple(made), map_of(key, value).not_null()


def _infer_row(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    names = tuple(map(str, options)) or tuple([f"EXPR${at}" for at in range(len(arguments))])
    types = tuple([each.type.as_plain_time() for each in arguments])
    return arguments, LogicalType(Kind.ROW, False, parts=types, names=names)


def _write_tuple(writer: CodeWriter, call: Call) -> str:
    return f"({''.join([writer.value(each) + ', ' for each in call.arguments])})"


def _write_map(writer: CodeWriter, call: Call) -> str:
    texts = [writer.value(each) for each in call.arguments]
    return "{" + ", ".join([f"{key}: {value}" for key, value in zip(texts[::2], texts[1::2], strict=True)]) + "}"


special("ARRAY", _infer_array, _write_tuple)
special("ROW", _infer_row, _write_tuple)
special("MAP", _infer_map, _write_map)


def _infer_item(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    container, index = arguments
    if container.type.kind is Kind.ARRAY:
        if index.type.kind not in INTEGERS:
            raise FunctionError(f"the index of an ARRAY must be INT, and is {index.type}")
        return arguments, container.type.parts[0].with_nullable(True)
    if container.type.kind is Kind.MAP:
        key, value = container.type.parts
        return (container, implicit_cast(index, key)), value.with_nullable(True)
    raise FunctionError(f"{container.type} has no items: an ARRAY or a MAP must stand before [ ]")


def _write_item(writer: CodeWriter, call: Call) -> str:
    item = writer.name_of(_array_item) if call.arguments[0].type.kind is Kind.ARRAY else None
    if item is None:
        return writer.strict(call.arguments, lambda texts: f"{texts[0]}.get({texts[1]})")
    return writer.strict(call.arguments, lambda texts: f"{item}({texts[0]}, {texts[1]})")


def _array_item(values: Values, index: int) -> Any:
    return values[index - 1] if 0 < index <= len(values) else None


special("ITEM", _infer_item, _write_item)


def _infer_field(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    (row,) = arguments
    if row.type.kind is not Kind.ROW:
        raise FunctionError(f"{row.type} has no fields: a ROW must stand before the point")
    (number,) = options
    field = row.type.parts[number]
    return arguments, field.with_nullable(field.nullable or row.type.nullable)


special(
    "FIELD",
    _infer_field,
    lambda writer, call: writer.strict(call.arguments, lambda texts: f"{texts[0]}[{call.options[0]}]"),
)


def _element(types: Sequence[LogicalType]) -> LogicalType:
    return types[0].parts[0].with_nullable(True)


def _sole_element(values: Values) -> Any:
    if len(values) > 1:
        raise EvaluationError(f"ELEMENT takes an ARRAY of one element, and was given one of {len(values)}")
    return values[0] if values else None


def _infer_element(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    (values,) = arguments
    element = AN_ARRAY.take(values, "the argument of ELEMENT").type.parts[0]
    return arguments, element.with_nullable(element.nullable or values.type.nullable)


def _write_element(writer: CodeWriter, call: Call) -> str:
    return writer.strict(call.arguments, lambda texts: f"{writer.name_of(_sole_element)}({texts[0]})")


_COLLECTION = of_kinds("an ARRAY, MAP or MULTISET", Kind.ARRAY, Kind.MAP, Kind.MULTISET)
strict_function("CARDINALITY", [_COLLECTION], INT, "len({0})")
special("ELEMENT", _infer_element, _write_element)


def _array_and_elements(name: str, make_result: Callable[[LogicalType], LogicalType]) -> Any:
    """Inference of a function of an array and an element of it, which is cast to the type of the elements."""

    def infer(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
        if len(arguments) != 2:
            raise FunctionError(f"{name} takes 2 arguments, and {len(arguments)} were given")
        of = AN_ARRAY.take(arguments[0], f"argument 1 of {name}")
        element = of.type.parts[0]
        shared = element if _fits(arguments[1].type, element) else common_type([element, arguments[1].type])
        wide = array(shared.with_nullable(element.nullable)).with_nullable(of.type.nullable)
        return (implicit_cast(of, wide), implicit_cast(arguments[1], shared)), make_result(wide)

    return infer


def _fits(given: LogicalType, element: LogicalType) -> bool:
    """Whether a value is cast to the type of elements though that may cut it, as Flink does with texts and decimals."""
    if element.kind is Kind.DECIMAL:
        return given.kind in EXACT
    return element.kind in CHARACTERS and given.kind in (Kind.CHAR, element.kind)


def _of_two(name: str, result: Callable[[LogicalType], LogicalType], function: Callable[[Values, Any], Any]) -> None:
    """Define a function of an array that may not be NULL, and an element that may."""

    def write(writer: CodeWriter, call: Call) -> str:
        called = writer.name_of(function)
        element = writer.value(call.arguments[1])
        return writer.strict(call.arguments[:1], lambda texts: f"{called}({texts[0]}, {element})")

    special(name, _array_and_elements(name, result), write)


def _remove(values: Values, element: Any) -> Values:
    return tuple([each for each in values if each != element])


_of_two("ARRAY_CONTAINS", lambda type_: BOOLEAN.with_nullable(type_.nullable), lambda values, each: each in values)
_of_two("ARRAY_REMOVE", lambda type_: type_, _remove)


def _growing(name: str, function: Callable[[Values, Any], Values]) -> None:
    def infer(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
        made, _ = _array_and_elements(name, lambda type_: type_)(arguments, options)
        element = made[0].type.parts[0]
        wide = element.with_nullable(element.nullable or made[1].type.nullable)
        return made, array(wide).with_nullable(any_nullable(made))

    def write(writer: CodeWriter, call: Call) -> str:
        called = writer.name_of(function)
        element = writer.value(call.arguments[1])
        return writer.strict(call.arguments[:1], lambda texts: f"{called}({texts[0]}, {element})")

    special(name, infer, write)


_growing("ARRAY_APPEND", lambda values, each: (*values, each))
_growing("ARRAY_PREPEND", lambda values, each: (each, *values))


def _position(values: Values, element: Any) -> int:
    return values.index(element) + 1 if element in values else 0


special(
    "ARRAY_POSITION",
    lambda arguments, options: (
        _array_and_elements("ARRAY_POSITION", lambda type_: type_)(arguments, options)[0],
        INT.with_nullable(any_nullable(arguments)),
    ),
    lambda writer, call: writer.strict(
        call.arguments, lambda texts: f"{writer.name_of(_position)}({texts[0]}, {texts[1]})"
    ),
)


def _first(types: Sequence[LogicalType]) -> LogicalType:
    return types[0]


def _distinct(values: Values) -> Values:
    return tuple(dict.fromkeys(values)) if _all_hashable(values) else _slow_distinct(values)


def _all_hashable(values: Values) -> bool:
    return not any(isinstance(each, (dict, tuple)) for each in values)


def _slow_distinct(values: Values) -> Values:
    made: list[Any] = []
    for each in values:
        if each not in made:
            made.append(each)
    return tuple(made)


def _slice(values: Values, start: int, end: int | None = None) -> Values:
    size = len(values)
    if not size:
        return ()
    end = size if end is None else end
    first = start if start > 0 else 1 if start == 0 else start + size + 1
    last = end if end > 0 else 1 if end == 0 else end + size + 1
    return values[max(first, 1) - 1 : max(min(last, size), 0)] if first <= last else ()


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[Values], Any]:
    def find(values: Values) -> Any:
        known = [each for each in values if each is not None]
        return choose(known) if known else None

    return find


def _join(values: Values, separator: str, null: str | None = None) -> str:
    return separator.join([null if each is None else each for each in values if each is not None or null is not None])  # type: ignore[misc]


def _sort(values: Values, ascending: bool = True, nulls_first: bool | None = None) -> Values:
    known = sorted([each for each in values if each is not None], reverse=not ascending)
    nulls = [None] * (len(values) - len(known))
    first = ascending if nulls_first is None else nulls_first
    return tuple(nulls + known if first else known + nulls)


strict_function("ARRAY_DISTINCT", [AN_ARRAY], _first, _distinct)
strict_function("ARRAY_REVERSE", [AN_ARRAY], _first, "{0}[::-1]")
strict_function("ARRAY_SLICE", [AN_ARRAY, AN_INT, AN_INT], _first, _slice, optional=1)
strict_function("ARRAY_MAX", [AN_ARRAY], _element, _extreme(max), may_be_null=True)
strict_function("ARRAY_MIN", [AN_ARRAY], _element, _extreme(min), may_be_null=True)
strict_function("ARRAY_JOIN", [AN_ARRAY, A_STRING, A_STRING], STRING, _join, optional=1)
strict_function("ARRAY_SORT", [AN_ARRAY, A_BOOLEAN, A_BOOLEAN], _first, _sort, optional=2)


def _of_arrays(name: str, function: Callable[..., Values], keeps_first: bool = False) -> None:
    def infer(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
        for at, each in enumerate(arguments):
            AN_ARRAY.take(each, f"argument {at + 1} of {name}")
        wide = common_type([each.type for each in arguments])
        made = tuple([implicit_cast(each, wide) for each in arguments])
        type_ = array(made[0].type.parts[0]) if keeps_first else wide
        return made, type_.with_nullable(any_nullable(made))

    def write(writer: CodeWriter, call: Call) -> str:
        called = writer.name_of(function)
        return writer.strict(call.arguments, lambda texts: f"{called}({', '.join(texts)})")

    special(name, infer, write)


_of_arrays("ARRAY_UNION", lambda left, right: _distinct((*left, *right)))
_of_arrays("ARRAY_EXCEPT", lambda left, right: _distinct(tuple([each for each in left if each not in right])), True)
_of_arrays("ARRAY_INTERSECT", lambda left, right: _distinct(tuple([each for each in left if each in right])))
_of_arrays("ARRAY_CONCAT", lambda *arrays: tuple([each for values in arrays for each in values]))


def _entries_type(types: Sequence[LogicalType]) -> LogicalType:
    return array(LogicalType(Kind.ROW, parts=types[0].parts, names=("key", "value")))


def _from_arrays(keys: Values, values: Values) -> dict[Any, Any]:
    if len(keys) != len(values):
        raise EvaluationError(
            f"MAP_FROM_ARRAYS takes arrays of one length, and was given {len(keys)} and {len(values)}"
        )
    return dict(zip(keys, values, strict=True))


def _union(*maps: dict[Any, Any]) -> dict[Any, Any]:
    return {key: value for each in maps for key, value in each.items()}


strict_function("MAP_KEYS", [A_MAP], lambda types: array(types[0].parts[0]), "tuple({0})")
strict_function("MAP_VALUES", [A_MAP], lambda types: array(types[0].parts[1]), "tuple({0}.values())")
strict_function("MAP_ENTRIES", [A_MAP], _entries_type, "tuple({0}.items())")
strict_function("MAP_UNION", [A_MAP], lambda types: common_type(types), _union, variadic=True)
strict_function(
    "MAP_FROM_ARRAYS",
    [AN_ARRAY, AN_ARRAY],
    lambda types: map_of(types[0].parts[0], types[1].parts[0]),
    _from_arrays,
)


def _infer_type_of(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    return tuple([ANYTHING.take(each, "an argument of TYPEOF") for each in arguments]), STRING


special("TYPEOF", _infer_type_of, lambda writer, call: repr(str(call.arguments[0].type.as_plain_time())))
