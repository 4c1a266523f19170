"""The statement around the cursor: what stands before the word that is typed, and which tables it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pygments.token import Comment, Name, String, Whitespace

from penstock.cli.sql_shell.highlighting import FlinkSqlLexer
from penstock.cli.sql_shell.words import KEYWORDS
from penstock.table.sql.splitting import split

_WORD = re.compile(r"(?:[\w$]+|`[^`]*`|\.)*[\w$]*$")
_CLOSED = re.compile(r"'(?:[^']|'')*'")
_CLOSED_NAME = re.compile(r"`[^`]*`")
_LEXER = FlinkSqlLexer(stripnl=False, ensurenl=False)


@dataclass(frozen=True)
class TypedStatement:
    """A statement and a cursor in it.

    `before` are the words and signs before the typed word, in capitals, quoted names and texts as they are. `word` is
    what is typed, an open backtick too; `qualifier` are the names before its last point. `quoted` is the text behind an
    open quote, None outside.
    """

    before: tuple[str, ...]
    word: str
    qualifier: str
    quoted: str | None
    all_words: tuple[str, ...]

    @staticmethod
    def at(text: str, cursor: int) -> TypedStatement:
        """The statement of a text at a cursor.

        >>> typed = TypedStatement.at("SELECT 1; SELECT o.am FROM orders AS o", 21)
        >>> typed.before, typed.qualifier, typed.word, dict(typed.tables())
        (('SELECT',), 'o', 'am', {'o': 'orders', 'orders': 'orders'})
        """
        rest = split(text[:cursor]).rest
        start = cursor if rest is None else rest.start
        whole = split(text[start:])
        end = len(whole.statements[0].text) if whole.statements else len(text)
        before = text[start:cursor]
        tokens = list(_tokens(before))
        last = tokens[-1] if tokens else ""
        everything = tuple(_tokens(text[start : start + end]))
        if last.startswith("'") and not _CLOSED.fullmatch(last):
            return TypedStatement(tuple(tokens[:-1]), "", "", last[1:], everything)
        if last.startswith("`") and not _CLOSED_NAME.fullmatch(last):
            return TypedStatement(tuple(tokens[:-1]), last, "", None, everything)
        match = _WORD.search(before)
        typed = match[0] if match else ""
        qualifier, _, word = typed.rpartition(".")
        told = tuple(_tokens(before[: len(before) - len(typed)]))
        return TypedStatement(told, word, qualifier, None, everything)

    def tables(self) -> Iterator[tuple[str, str]]:
        """Names by which columns can be qualified, and the tables they mean."""
        words = [*self.all_words, "", ""]
        for index, word in enumerate(self.all_words):
            if word not in ("FROM", "JOIN", "INTO", "TABLE", ","):
                continue
            name, behind = _dotted(words, index + 1)
            if not name:
                continue
            alias = words[behind + 1] if words[behind] == "AS" else words[behind]
            if _is_name(alias):
                yield alias, name
            yield name.rpartition(".")[2].strip("`"), name

    def last(self, count: int = 1) -> str:
        """One of the words before the cursor, counted from the last."""
        return self.before[-count] if len(self.before) >= count else ""

    def option(self, key: str) -> str | None:
        """The value of `'key' = 'value'` in the statement."""
        words = self.all_words
        for index in range(len(words) - 2):
            if words[index] == f"'{key}'" and words[index + 1] == "=":
                return words[index + 2].strip("'")
        return None


def _tokens(text: str) -> Iterator[str]:
    for kind, value in _LEXER.get_tokens(text):
        if kind in Whitespace or kind in Comment:
            continue
        is_given = kind in String or kind in Name or value.upper() not in KEYWORDS
        yield value if is_given else value.upper()


def _dotted(words: list[str], index: int) -> tuple[str, int]:
    """A name of several parts that begins here, and the first word behind it."""
    parts = []
    while index < len(words) and _is_name(words[index]):
        parts.append(words[index])
        if words[index + 1] != ".":
            break
        index += 2
    return ".".join(parts), index + 1


def _is_name(word: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z_][\w$]*|`[^`]+`", word)) and word.upper() not in KEYWORDS
