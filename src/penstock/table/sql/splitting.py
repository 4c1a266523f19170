"""Where statements begin and end: `split` cuts a text at its semicolons.

Those in strings, quoted names, comments and hints end nothing. A statement set ends with its END: the INSERTs in it
are parts of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import SqlParserError
from penstock.table.sql.dialect import Flink
from penstock.table.sql.places import Place, shown

__all__ = ["Script", "StatementText", "chunks", "split", "statement_sets", "tokens_of"]

_OPENING = re.compile(r"['`]|/\*")
_UNCLOSED = {
    "'": "The text that begins here has no closing '",
    "`": "The name that begins here has no closing `",
    "/*": "The comment that begins here has no closing */",
}


@dataclass(frozen=True)
class StatementText:
    """A statement of a text: from its first word to its last, and where the first one is, counted from 0."""

    text: str
    start: int

    def in_place(self, whole: str) -> str:
        """The statement, moved to its line and column by white space, so that errors name those of the whole text."""
        line_start = whole.rfind("\n", 0, self.start) + 1
        return "\n" * whole.count("\n", 0, self.start) + " " * (self.start - line_start) + self.text


@dataclass(frozen=True)
class Script:
    """The statements of a text that have their semicolon, and the one behind them that has none yet, if any."""

    statements: tuple[StatementText, ...]
    rest: StatementText | None


def split(text: str) -> Script:
    """Cut a text into statements.

    >>> script = split("SET 'a' = ';'; SELECT 1 -- one;")
    >>> [each.text for each in script.statements], script.rest.text
    (["SET 'a' = ';'"], 'SELECT 1')
    """
    tokens, open_at = _read(text)
    closed, last = list(_closed(tokens)), None
    if closed:
        last = closed[-1][1]
    behind = tokens if last is None else [each for each in tokens if each.start > last.start]
    rest = None
    if behind or open_at is not None:
        start = behind[0].start if behind else open_at or 0
        rest = StatementText(text[start : behind[-1].end + 1 if open_at is None else len(text)], start)
    return Script(tuple(_statement(text, inner) for inner, _ in closed if inner), rest)


def _statement(text: str, tokens: Sequence[Token]) -> StatementText:
    return StatementText(text[tokens[0].start : tokens[-1].end + 1], tokens[0].start)


def _closed(tokens: Sequence[Token]) -> Iterator[tuple[Sequence[Token], Token]]:
    """The statements that have a semicolon, and it."""
    sets = {head: end for head, _, _, end in statement_sets(tokens)}
    begin = index = 0
    while index < len(tokens):
        if index == begin and index in sets:
            index = min(sets[index], len(tokens)) - 1
            if not _is_end(tokens, index - 1):
                return  # no END yet, or one without its semicolon
        if tokens[index].token_type == TokenType.SEMICOLON:
            yield tokens[begin:index], tokens[index]
            begin = index + 1
        index += 1


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text; refused where a quote or comment is left open."""
    tokens, open_at = _read(text)
    if open_at is None:
        return tokens
    place = Place(text, open_at, open_at)
    opening = _OPENING.match(text, open_at)
    message = _UNCLOSED[opening[0]] if opening else "The text cannot be read as SQL from here"
    raise SqlParserError(shown(message, place), place.line, place.column)


def _read(text: str) -> tuple[list[Token], int | None]:
    """The tokens of a text up to a quote or comment that is left open, and where that begins."""
    try:
        return list(Flink().tokenize(text)), None
    except SqlglotError:
        pass  # sqlglot does not say where: the last opening before which everything can be read is the one
    for opening in reversed(list(_OPENING.finditer(text))):
        try:
            return list(Flink().tokenize(text[: opening.start()])), opening.start()
        except SqlglotError:
            continue
    return [], 0


def chunks(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, without semicolons and empty statements."""
    chunk: list[Token] = []
    for token in tokens:
        if token.token_type != TokenType.SEMICOLON:
            chunk.append(token)
        elif chunk:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def statement_sets(tokens: Sequence[Token]) -> Iterator[tuple[int, int, int, int]]:
    """Of each statement set: its first token, that of its first INSERT, END, and the first behind it."""
    texts = [each.text.upper() for each in tokens]
    head = 0
    for index in range(len(texts)):
        if tokens[index].token_type == TokenType.SEMICOLON:
            head = index + 1
        if texts[index : index + 2] != ["STATEMENT", "SET"] or texts[head] not in ("EXECUTE", "BEGIN", "EXPLAIN"):
            continue
        first = index + 2
        if first < len(texts) and (texts[first] == "BEGIN" or tokens[first].token_type == TokenType.SEMICOLON):
            first += 1
        last = next((i for i in range(first, len(texts)) if _is_end(tokens, i)), len(texts))
        has_semicolon = last + 1 < len(texts) and tokens[last + 1].token_type == TokenType.SEMICOLON
        yield head, first, last, last + 1 + has_semicolon


def _is_end(tokens: Sequence[Token], index: int) -> bool:
    return tokens[index].text.upper() == "END" and tokens[index - 1].token_type == TokenType.SEMICOLON
