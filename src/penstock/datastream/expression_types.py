"""The declared type of what an expression gives, as far as the type of the stream tells."""

from __future__ import annotations

from penstock.common.type_inference import from_hint
from penstock.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from penstock.errors import GraphError
from penstock.vocabulary.expressions import Column, Constant, Expression, Named, Operation

_CONDITIONS = {"==", "!=", "<", "<=", ">", ">=", "&", "|", "~", "is_null", "is_not_null"}
_WHOLE = (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG())
_FLOATING = (Types.FLOAT(), Types.DOUBLE())


def check_fields(method: str, expression: Expression, declared: TypeInformation | None) -> None:
    """Refuse fields that a declared type does not have, before anything runs."""
    if isinstance(expression, Named):
        check_fields(method, expression.expression, declared)
    elif isinstance(expression, Operation):
        for operand in expression.operands:
            check_fields(method, operand, declared)
    elif isinstance(declared, (RowTypeInfo, TupleTypeInfo)) and isinstance(expression, Column):
        _check_field(method, expression, declared)


def _check_field(method: str, column: Column, declared: TypeInformation) -> None:
    if _field_type(column, declared) is None:
        raise GraphError(f"{method}: no field {column.field!r} in {declared!r}.")


def expression_type(expression: Expression, declared: TypeInformation | None) -> TypeInformation | None:
    """The type of an expression on records of a declared type; None if that does not tell."""
    if isinstance(expression, Named):
        return expression_type(expression.expression, declared)
    if isinstance(expression, Constant):
        return None if expression.value is None else from_hint(type(expression.value))
    if isinstance(expression, Column):
        return _field_type(expression, declared)
    assert isinstance(expression, Operation)
    if expression.operator in _CONDITIONS:
        return Types.BOOLEAN()
    return _number([expression_type(operand, declared) for operand in expression.operands], expression.operator)


def _number(parts: list[TypeInformation | None], operator: str) -> TypeInformation | None:
    if not all(part in _WHOLE or part in _FLOATING for part in parts):
        return None
    is_float = operator == "/" or any(part in _FLOATING for part in parts)
    return Types.DOUBLE() if is_float else Types.LONG()


def _field_type(column: Column, declared: TypeInformation | None) -> TypeInformation | None:
    field = column.field
    if isinstance(declared, RowTypeInfo) and isinstance(field, str):
        field = declared.get_field_index(field)
    if not isinstance(declared, (RowTypeInfo, TupleTypeInfo)) or isinstance(field, str):
        return None
    types = declared.get_field_types()
    return types[field] if 0 <= field < len(types) else None
