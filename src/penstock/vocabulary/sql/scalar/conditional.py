"""CASE, IF, COALESCE, IFNULL, NULLIF, GREATEST and LEAST."""

from __future__ import annotations

from typing import Any

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.common_types import common_type
from penstock.vocabulary.sql.scalar.comparison import comparable
from penstock.vocabulary.sql.scalar.kinds import BOOLEAN
from penstock.vocabulary.sql.scalar.parameters import implicit_cast
from penstock.vocabulary.sql.scalar.registry import Arguments, any_nullable, special
from penstock.vocabulary.sql.typed_expressions import Call, Literal, TypedExpression

__all__ = ["is_nullable"]


def is_nullable(expression: TypedExpression) -> bool:
    """Whether an expression may be NULL."""
    return expression.type.nullable or expression.type.kind is Kind.NULL


def _infer_case(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if len(arguments) % 2 == 0:
        arguments = (*arguments, Literal(None, LogicalType(Kind.NULL)))
    conditions, values = arguments[:-1:2], (*arguments[1::2], arguments[-1])
    for each in conditions:
        if each.type.kind not in (Kind.BOOLEAN, Kind.NULL):
            raise FunctionError(f"a WHEN of CASE must be a condition, and is {each.type}")
    type_ = common_type([each.type for each in values])
    made = [implicit_cast(each, type_) for each in values]
    pairs = [part for pair in zip(conditions, made, strict=False) for part in pair]
    return (*pairs, made[-1]), type_


def _write_case(writer: CodeWriter, call: Call) -> str:
    source = ""
    arguments = call.arguments
    for at in range(0, len(arguments) - 1, 2):
        source += f"{writer.value(arguments[at + 1])} if {writer.truth(arguments[at])} else "
    return f"({source}{writer.value(arguments[-1])})"


special("CASE", _infer_case, _write_case, lazy_from=1)


def _infer_if(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if len(arguments) != 3:
        raise FunctionError(f"IF takes 3 arguments, and {len(arguments)} were given")
    made, type_ = _infer_case(arguments, options)
    # Unlike CASE, it may be NULL in Flink's eyes where its condition may.
    return made, type_.with_nullable(type_.nullable or is_nullable(arguments[0]))


special("IF", _infer_if, _write_case, lazy_from=1)


def _infer_coalesce(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if not arguments:
        raise FunctionError("COALESCE takes 1 or more arguments, and none was given")
    type_ = common_type([each.type for each in arguments])
    made = tuple([implicit_cast(each, type_) for each in arguments])
    return made, type_.with_nullable(all(map(is_nullable, made)))


def _write_coalesce(writer: CodeWriter, call: Call) -> str:
    source = ""
    for each in call.arguments[:-1]:
        if not each.type.nullable:
            return f"({source}{writer.value(each)})"
        first, name = writer.atom(each)
        source += f"{name} if {first} is not None else "
    return f"({source}{writer.value(call.arguments[-1])})"


def _infer_if_null(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if len(arguments) != 2:
        raise FunctionError(f"IFNULL takes 2 arguments, and {len(arguments)} were given")
    made, type_ = _infer_coalesce(arguments, options)
    if not is_nullable(arguments[0]):
        return arguments[:1], arguments[0].type
    return made, type_.with_nullable(is_nullable(made[1]))


special("COALESCE", _infer_coalesce, _write_coalesce, lazy_from=1)
special("IFNULL", _infer_if_null, _write_coalesce, lazy_from=1)


def _infer_null_if(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if len(arguments) != 2:
        raise FunctionError(f"NULLIF takes 2 arguments, and {len(arguments)} were given")
    comparable(arguments, "NULLIF")
    return arguments, arguments[0].type.with_nullable(True)


def _write_null_if(writer: CodeWriter, call: Call) -> str:
    value, _ = call.arguments
    first, name = writer.atom(value)
    made = comparable(call.arguments, "NULLIF")
    same = Call("=", made, BOOLEAN.with_nullable(any_nullable(made)))
    return f"(None if {first} is None or {writer.truth(same)} else {name})"


special("NULLIF", _infer_null_if, _write_null_if)


def _infer_extreme(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if not arguments:
        raise FunctionError("GREATEST and LEAST take 1 or more arguments")
    type_ = common_type([each.type for each in arguments])
    made = tuple([implicit_cast(each, type_) for each in arguments])
    return made, type_.with_nullable(any_nullable(made))


def _write_extreme(writer: CodeWriter, call: Call) -> str:
    chosen = "max" if call.function == "GREATEST" else "min"
    if len(call.arguments) == 1:
        return writer.value(call.arguments[0])
    return writer.strict(call.arguments, lambda texts: f"{chosen}({', '.join(texts)})")


special("GREATEST", _infer_extreme, _write_extreme)
special("LEAST", _infer_extreme, _write_extreme)
