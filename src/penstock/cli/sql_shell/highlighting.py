"""Colours for SQL while it is typed: keywords, types, strings, quoted names, numbers, comments and hints."""

from __future__ import annotations

from collections.abc import Iterator

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace, _TokenType

from penstock.cli.sql_shell.words import KEYWORDS, TYPES


class FlinkSqlLexer(RegexLexer):  # type: ignore[misc]
    """The words of Flink SQL; a quote or comment that is not closed yet reaches to the end."""

    name = "Flink SQL"

    @staticmethod
    def _rules() -> Iterator[tuple[object, _TokenType]]:
        yield r"\s+", Whitespace
        yield r"--.*|//.*", Comment.Single
        yield r"/\*\+[\s\S]*?(\*/|\Z)", Comment.Preproc
        yield r"/\*[\s\S]*?(\*/|\Z)", Comment.Multiline
        yield r"'(?:[^']|'')*('|\Z)", String.Single
        yield r"`[^`]*(`|\Z)", Name.Variable
        yield r"\d+(\.\d*)?([eE][+-]?\d+)?", Number
        yield words(sorted(TYPES), prefix=r"(?i:\b", suffix=r"\b)"), Keyword.Type
        yield words(sorted(KEYWORDS), prefix=r"(?i:\b", suffix=r"\b)"), Keyword
        yield r"[A-Za-z_][\w$]*(?=\s*\()", Name.Function
        yield r"[A-Za-z_][\w$]*", Name
        yield r"[+*/<>=!|%^-]+", Operator
        yield r"[(),.;:\[\]{}?]", Punctuation
        yield r".", Text

    tokens = {"root": list(_rules())}  # noqa: RUF012
