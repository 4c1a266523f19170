"""How deep statements may be nested: a limit that is told in a sentence, before Python's own is reached."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import SqlParserError, SqlValidationError
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression

__all__ = ["MOST_NESTED", "deep_statements", "innermost", "refuse_depth"]

MOST_NESTED = 100
"""Brackets within brackets; the code that expressions become may hold 200."""

_FRAMES = 6_000
_MOST_DEEP = 250
_MOST_OPERATORS = 150
_TOO_DEEP = (
    "The statement is too deep: its operators, CASEs or subqueries stand within each other too many times. Compute "
    "parts of it in views, or in a user-defined function."
)
_OPENING = frozenset([TokenType.L_PAREN, TokenType.L_BRACKET])
_CLOSING = frozenset([TokenType.R_PAREN, TokenType.R_BRACKET])


def innermost(tokens: Sequence[Token]) -> Token | None:
    """Return the bracket that is nested too deeply; None if there is none."""
    depth = 0
    for token in tokens:
        if token.token_type in _OPENING:
            depth += 1
            if depth > MOST_NESTED:
                return token
        elif token.token_type in _CLOSING:
            depth -= 1
    return None


def refuse_depth(expressions: Iterable[TypedExpression | None]) -> None:
    """Refuse expressions that tasks could not be sent, or could not make code of."""
    waiting = [(each, 1, 1) for each in expressions]
    while waiting:
        expression, depth, nested = waiting.pop()
        if depth > _MOST_DEEP or nested > _MOST_OPERATORS:
            raise SqlValidationError(_TOO_DEEP)
        if isinstance(expression, Call):
            inside = nested + (expression.function != "AND")  # whose parts stand beside each other in code
            waiting += [(each, depth + 1, inside) for each in expression.arguments]


@contextmanager
def deep_statements() -> Iterator[None]:
    """Read and plan statements that need more calls within calls than Python allows; refuse those beyond that."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    except RecursionError:
        raise SqlParserError(_TOO_DEEP) from None
    finally:
        sys.setrecursionlimit(before)
