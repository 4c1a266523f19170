"""Finding the WITHIN clause of MATCH_RECOGNIZE, which only Flink has."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

__all__ = ["read_within"]


def read_within(tokens: Sequence[Token], start: int) -> int | None:
    """The number of the token WITHIN in the clause that begins with token `start`; None if it has none."""
    depth = 0
    for index in range(start + 1, len(tokens)):
        kind = tokens[index].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 1 and kind != TokenType.STRING and tokens[index].text.upper() == "WITHIN":
            return index
        if depth == 0 and index > start + 1:
            return None
    return None
