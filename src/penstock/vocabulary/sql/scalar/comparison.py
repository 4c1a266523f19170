"""Comparisons and logic: three-valued, with BETWEEN, IN, IS TRUE and its kin, and IS DISTINCT FROM."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.common_types import MAX_PRECISION, common_type_or_none
from penstock.vocabulary.sql.scalar.kinds import (
    BOOLEAN,
    CHARACTERS,
    INTEGERS,
    NUMBERS,
    STRING,
    TIME_POINTS,
    decimal_form,
    timestamp,
)
from penstock.vocabulary.sql.scalar.parameters import implicit_cast
from penstock.vocabulary.sql.scalar.registry import Arguments, any_nullable, special
from penstock.vocabulary.sql.typed_expressions import Call, Literal, TypedExpression

__all__ = ["comparable"]

_ORDERED = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_ORDERINGS = ("<", "<=", ">", ">=")
_HAVE_NO_ORDER = (Kind.MAP, Kind.MULTISET, Kind.ROW, Kind.ARRAY, Kind.RAW)


def comparable(arguments: Arguments, what: str) -> Arguments:
    """The arguments with types whose internal values can be compared as they are."""
    types = [each.type for each in arguments]
    kinds: set[Kind] = {each.kind for each in types if each.kind is not Kind.NULL}
    target = _target_beside_text(types, what in _ORDERINGS) or common_type_or_none(types)
    if target is not None and target.kind is Kind.TIMESTAMP_LTZ and Kind.TIMESTAMP in kinds:
        target = timestamp(target.precision)  # as in Flink, by what clocks show
    if target is None:
        raise FunctionError(f"{what} cannot compare {' and '.join(map(str, types))}: write a CAST")
    if _are_exact(types, kinds):
        return arguments  # Python compares exact numbers of any kind exactly.
    return tuple([_as(each, target) for each in arguments])


def _are_exact(types: list[LogicalType], kinds: Set[Kind]) -> bool:
    """Whether exact numbers need no cast: they are of several kinds, or have no DECIMAL that holds all of them."""
    if not kinds or not all(kind in INTEGERS or kind is Kind.DECIMAL for kind in kinds):
        return False
    forms = [decimal_form(each) for each in types if each.kind is not Kind.NULL]
    digits = max(precision - scale for precision, scale in forms) + max(scale for _, scale in forms)
    return len(kinds) > 1 or digits > MAX_PRECISION


def _as(expression: TypedExpression, target: LogicalType) -> TypedExpression:
    if expression.type.kind in CHARACTERS and target.kind in CHARACTERS:
        return expression
    return implicit_cast(expression, target)


def _target_beside_text(types: list[LogicalType], is_ordering: bool) -> LogicalType | None:
    """What a text and what is compared with it are cast to."""
    others = [each for each in types if each.kind not in CHARACTERS and each.kind is not Kind.NULL]
    if len(others) == len(types) or not any(each.kind in CHARACTERS for each in types):
        return None
    if not others:
        return None
    # As Flink: a BOOLEAN beside a text is taken as a text; a text beside a number is cast by `<` and its kin, and
    # refused by `=` and `<>`.
    if all(each.kind is Kind.BOOLEAN for each in others):
        return STRING
    target = common_type_or_none(others)
    is_castable = target is not None and (target.kind in TIME_POINTS or (target.kind in NUMBERS and is_ordering))
    return target if is_castable else None


def _infer_comparison(operator: str) -> Callable[[Arguments, tuple[Any, ...]], tuple[Arguments, LogicalType]]:
    def infer(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
        if len(arguments) != 2:
            raise FunctionError(f"{operator} takes 2 arguments, and {len(arguments)} were given")
        made = comparable(arguments, operator)
        if operator not in ("=", "<>") and any(each.type.kind in _HAVE_NO_ORDER for each in made):
            raise FunctionError(f"{operator} cannot compare {made[0].type} and {made[1].type}, which have no order")
        return made, BOOLEAN.with_nullable(any_nullable(made))

    return infer


def _render_comparison(call: Call) -> Callable[[list[str]], str]:
    operator = _ORDERED[call.function]
    return lambda texts: f"({texts[0]} {operator} {texts[1]})"


for _operator in _ORDERED:
    special(
        _operator,
        _infer_comparison(_operator),
        lambda writer, call: writer.strict(call.arguments, _render_comparison(call)),
        write_truth=lambda writer, call: writer.strict_truth(call.arguments, _render_comparison(call)),
    )


def _infer_logic(name: str) -> Callable[[Arguments, tuple[Any, ...]], tuple[Arguments, LogicalType]]:
    def infer(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
        made = tuple([_boolean(each, name) for each in arguments])
        return made, BOOLEAN.with_nullable(any_nullable(made))

    return infer


def _boolean(expression: TypedExpression, name: str) -> TypedExpression:
    if expression.type.kind is Kind.NULL:
        return Literal(None, BOOLEAN)
    if expression.type.kind is not Kind.BOOLEAN:
        raise FunctionError(f"{name} takes BOOLEAN, and {expression.type} was given: write a condition")
    return expression


def _write_and(writer: CodeWriter, call: Call) -> str:
    return _write_logic(writer, call, "and", "False")


def _write_or(writer: CodeWriter, call: Call) -> str:
    return _write_logic(writer, call, "or", "True")


def _write_logic(writer: CodeWriter, call: Call, word: str, decisive: str) -> str:
    """Kleene's logic: what decides wins over NULL, which wins over the rest."""
    if not call.type.nullable:
        return f"({f' {word} '.join([writer.value(each) for each in call.arguments])})"
    *firsts, last = call.arguments
    other = "True" if decisive == "False" else "False"
    names, source = [], ""
    for each in firsts:
        first, name = writer.atom(each)
        names.append(name)
        source += f"{decisive} if {first} is {decisive} else "
    first, name = writer.atom(last)
    names.append(name)
    nulls = " or ".join([f"{each} is None" for each in names])
    return f"({source}{decisive} if {first} is {decisive} else None if {nulls} else {other})"


def _truth_of_all(word: str) -> Callable[[CodeWriter, Call], str]:
    return lambda writer, call: f"({f' {word} '.join([writer.truth(each) for each in call.arguments])})"


special("AND", _infer_logic("AND"), _write_and, write_truth=_truth_of_all("and"), lazy_from=1)
special("OR", _infer_logic("OR"), _write_or, write_truth=_truth_of_all("or"), lazy_from=1)


def _write_not_truth(writer: CodeWriter, call: Call) -> str:
    (argument,) = call.arguments
    return f"({writer.value(argument)} is False)" if argument.type.nullable else f"(not {writer.truth(argument)})"


special(
    "NOT",
    _infer_logic("NOT"),
    lambda writer, call: writer.strict(call.arguments, lambda texts: f"(not {texts[0]})"),
    write_truth=_write_not_truth,
)


def _infer_is(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    return arguments, BOOLEAN.not_null()


_TESTS = {
    "IS NULL": "is None",
    "IS NOT NULL": "is not None",
    "IS TRUE": "is True",
    "IS NOT TRUE": "is not True",
    "IS FALSE": "is False",
    "IS NOT FALSE": "is not False",
    "IS UNKNOWN": "is None",
    "IS NOT UNKNOWN": "is not None",
}

for _name, _test in _TESTS.items():
    special(_name, _infer_is, lambda writer, call: f"({writer.value(call.arguments[0])} {_TESTS[call.function]})")


def _infer_distinct(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    return comparable(arguments, "IS DISTINCT FROM"), BOOLEAN.not_null()


special(
    "IS DISTINCT FROM",
    _infer_distinct,
    lambda writer, call: "({} != {})".format(*[writer.value(each) for each in call.arguments]),
)
special(
    "IS NOT DISTINCT FROM",
    _infer_distinct,
    lambda writer, call: "({} == {})".format(*[writer.value(each) for each in call.arguments]),
)


def _infer_in(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if len(arguments) < 2:
        raise FunctionError("IN takes a value and one or more that it may be")
    made = comparable(arguments, "IN")
    return made, BOOLEAN.with_nullable(any_nullable(made))


def _write_in(writer: CodeWriter, call: Call) -> str:
    value, *choices = call.arguments
    literals = [each.value for each in choices if isinstance(each, Literal)]
    if len(literals) == len(choices) and _hashable(literals):
        return _write_in_set(writer, value, literals)
    equal = tuple([Call("=", (value, each), BOOLEAN.with_nullable(any_nullable((value, each)))) for each in choices])
    return writer.value(Call("OR", equal, BOOLEAN.with_nullable(any_nullable(equal))))


def _write_in_set(writer: CodeWriter, value: TypedExpression, literals: list[Any]) -> str:
    chosen = writer.name_of(frozenset([each for each in literals if each is not None]), "choices")
    if None not in literals:
        return writer.strict([value], lambda texts: f"({texts[0]} in {chosen})")
    return writer.strict([value], lambda texts: f"(True if {texts[0]} in {chosen} else None)")


def _hashable(values: list[Any]) -> bool:
    return all(isinstance(each, (int, str, float, bytes, type(None))) or hasattr(each, "quantize") for each in values)


special("IN", _infer_in, _write_in, lazy_from=2)


def _infer_between(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if len(arguments) != 3:
        raise FunctionError("BETWEEN takes a value, the least and the greatest that it may be")
    made = comparable(arguments, "BETWEEN")
    return made, BOOLEAN.with_nullable(any_nullable(made))


def _between(call: Call) -> Call:
    value, low, high = call.arguments
    if "SYMMETRIC" in call.options:
        both = [_and(_compare(">=", value, a), _compare("<=", value, b)) for a, b in ((low, high), (high, low))]
        return Call("OR", tuple(both), BOOLEAN.with_nullable(any_nullable(both)))
    return _and(_compare(">=", value, low), _compare("<=", value, high))


def _compare(operator: str, left: TypedExpression, right: TypedExpression) -> Call:
    return Call(operator, (left, right), BOOLEAN.with_nullable(any_nullable((left, right))))


def _and(left: Call, right: Call) -> Call:
    return Call("AND", (left, right), BOOLEAN.with_nullable(any_nullable((left, right))))


def _write_between(writer: CodeWriter, call: Call) -> str:
    if call.type.nullable or "SYMMETRIC" in call.options:
        return writer.value(_between(call))
    value, low, high = [writer.value(each) for each in call.arguments]
    return f"({low} <= {value} <= {high})"


def _write_between_truth(writer: CodeWriter, call: Call) -> str:
    if "SYMMETRIC" in call.options:
        return writer.truth(_between(call))
    return writer.strict_truth(call.arguments, lambda texts: f"({texts[1]} <= {texts[0]} <= {texts[2]})")


special("BETWEEN", _infer_between, _write_between, write_truth=_write_between_truth)
