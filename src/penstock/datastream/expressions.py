"""Column expressions, under PyFlink's path; defined in `penstock.vocabulary.expressions`."""

from __future__ import annotations

from penstock.vocabulary.expressions import (
    Column,
    Constant,
    Expression,
    Named,
    Operation,
    as_expression,
    col,
    lit,
    named_expressions,
)

__all__ = [
    "Column",
    "Constant",
    "Expression",
    "Named",
    "Operation",
    "as_expression",
    "col",
    "lit",
    "named_expressions",
]
