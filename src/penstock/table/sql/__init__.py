"""Flink SQL: text to statements.

`parse(text)` returns dataclasses of `penstock.table.sql.statements`; queries in them are trees of sqlglot.
"""

from penstock.table.sql.parsing import parse, parse_expression, parse_query, parse_type

__all__ = ["parse", "parse_expression", "parse_query", "parse_type"]
