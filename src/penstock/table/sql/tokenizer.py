"""How Flink SQL is cut into tokens: its quotes, comments, hints and words."""

from __future__ import annotations

from sqlglot import tokens
from sqlglot.tokenizer_core import TokenType

__all__ = ["FlinkTokenizer"]

# Words that mean something in other dialects and are plain names in Flink, or begin statements that Penstock reads.
PLAIN_WORDS = frozenset(
    """SESSION SEMI ANTI ASOF GLOB ILIKE RLIKE DIV KILL COPY STAGE PRAGMA CACHE UNCACHE REFRESH VECTOR OBJECT BEGIN END_
    MERGE GRANT REVOKE EXECUTE CALL EXPLAIN SHOW OPTIMIZE PREPARE VACUUM TRUNCATE RENAME LOCK LIST MONEY INET PIVOT
    UNPIVOT QUALIFY FINAL SETTINGS ANALYZE COMMENT LOAD""".split()  # noqa: SIM905
)


class FlinkTokenizer(tokens.Tokenizer):
    """Backticks around names, single quotes around text, hints where Flink allows them."""

    IDENTIFIERS = ["`"]
    QUOTES = ["'"]
    STRING_ESCAPES = ["'"]
    UNICODE_STRINGS = [(prefix + "'", "'") for prefix in ("U&", "u&")]
    HEX_STRINGS = [("x'", "'"), ("X'", "'")]
    COMMENTS = ["--", "//", ("/*", "*/")]
    # FETCH NEXT n ROWS is part of a query here; no word makes the rest of a statement opaque text.
    COMMANDS = set()
    TOKENS_PRECEDING_HINT = {
        TokenType.SELECT,
        TokenType.INSERT,
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.R_PAREN,
    }
    KEYWORDS = {
        **{word: kind for word, kind in tokens.Tokenizer.KEYWORDS.items() if word not in PLAIN_WORDS},
        "MATCH_RECOGNIZE": TokenType.MATCH_RECOGNIZE,
        "ROW": TokenType.STRUCT,
        "MULTISET": TokenType.LIST,
        "BYTES": TokenType.BLOB,
        "STRING": TokenType.TEXT,
        "TIMESTAMP_LTZ": TokenType.TIMESTAMPLTZ,
        "VARIANT": TokenType.VARIANT,
        # A token of a type that no other type of Flink uses.
        "BITMAP": TokenType.HLLSKETCH,
    }
