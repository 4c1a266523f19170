"""Which expressions give the same value whenever they are computed."""

from __future__ import annotations

from penstock.vocabulary.sql.scalar.user_calls import VARYING
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression

__all__ = ["is_deterministic"]

WORDS = """PROCTIME NOW CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME LOCALTIME LOCALTIMESTAMP CURRENT_ROW_TIMESTAMP
    CURRENT_WATERMARK RAND RAND_INTEGER UUID UNIX_TIMESTAMP"""
CHANGING = frozenset(WORDS.split())


def is_deterministic(expression: TypedExpression, but: frozenset[str] = frozenset()) -> bool:
    """Return whether an expression depends on nothing but its row, and on the functions in `but`."""
    if not isinstance(expression, Call):
        return True
    if expression.function == VARYING or expression.function in CHANGING - but:
        return False
    return all(is_deterministic(each, but) for each in expression.arguments)
