"""Flink's SQL as a dialect of sqlglot: tokens, grammar, and how a parsed query is written back."""

from __future__ import annotations

from sqlglot.dialects.dialect import Dialect, NormalizationStrategy

from penstock.table.sql.grammar import FlinkParser
from penstock.table.sql.tokenizer import FlinkTokenizer
from penstock.table.sql.writing import FlinkGenerator

__all__ = ["Flink"]


class Flink(Dialect):
    """Names are case-sensitive, division of integers gives integers, arrays begin at 1 and are not shifted."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    ALIAS_POST_VERSION = True  # rates FOR SYSTEM_TIME AS OF o.ts AS r
    ALIAS_POST_TABLESAMPLE = True
    TYPED_DIVISION = True
    SAFE_DIVISION = False
    CONCAT_COALESCE = False
    STRICT_STRING_CONCAT = True
    SUPPORTS_USER_DEFINED_TYPES = False
    INDEX_OFFSET = 0  # arrays begin at 1, which the planner knows; sqlglot must not shift or fold an index
    NULL_ORDERING = "nulls_are_small"
    SUPPORTS_COLUMN_JOIN_MARKS = False

    Tokenizer = FlinkTokenizer
    Parser = FlinkParser
    Generator = FlinkGenerator
