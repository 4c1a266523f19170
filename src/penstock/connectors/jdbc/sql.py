"""SQL statements with JDBC's question marks, converted for Python drivers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import ConfigurationError

# What may hold a question mark that is none, and the marks themselves; "??" is JDBC's way to write one that is none.
_TOKENS = re.compile(
    r"""
    (?P<text> \b[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
            | --[^\n]* | /\*.*?\*/ | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
    | (?P<escaped> \?\? )
    | (?P<mark> \? )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Statement:
    """A statement as the texts around its parameters."""

    texts: tuple[str, ...]

    @classmethod
    def parse(cls, sql: str) -> Statement:
        """Find the parameters of a statement."""
        texts, end = [""], 0
        for token in _TOKENS.finditer(sql):
            texts[-1] += sql[end : token.start()]
            if token["mark"]:
                texts.append("")
            else:
                texts[-1] += "?" if token["escaped"] else token["text"]
            end = token.end()
        texts[-1] += sql[end:]
        return cls(tuple(texts))

    @property
    def parameters(self) -> int:
        """How many parameters there are."""
        return len(self.texts) - 1

    def with_question_marks(self) -> str:
        """For drivers of the style "qmark"."""
        return "?".join(self.texts)

    def with_percent_signs(self) -> str:
        """For drivers of the style "format", to which a single percent sign is the start of a parameter."""
        return "%s".join(text.replace("%", "%%") for text in self.texts)

    def with_numbers(self) -> str:
        """As PostgreSQL itself writes parameters."""
        return self.texts[0] + "".join(f"${number}{text}" for number, text in enumerate(self.texts[1:], 1))


def upsert(table: str, columns: Sequence[str], key_columns: Sequence[str]) -> str:
    """A statement that writes a row, or replaces the columns of the one that has its key.

    Names are quoted, so they may be anything, and mean exactly what they say; `schema.table` is a table in a schema.
    """
    if not key_columns:
        raise ConfigurationError("JdbcSink.upsert: name the columns of the table's key in key_columns")
    missing = [key for key in key_columns if key not in columns]
    if missing:
        raise ConfigurationError(
            f"JdbcSink.upsert: the key column {missing[0]!r} is not a field of the row type, which has "
            f"{', '.join(columns)}"
        )
    others = [column for column in columns if column not in key_columns]
    change = ", ".join(f"{_quoted(column)} = EXCLUDED.{_quoted(column)}" for column in others)
    return (
        f"INSERT INTO {'.'.join(map(_quoted, table.split('.')))} ({', '.join(map(_quoted, columns))}) "
        f"VALUES ({', '.join('?' * len(columns))}) ON CONFLICT ({', '.join(map(_quoted, key_columns))}) "
        f"DO {f'UPDATE SET {change}' if others else 'NOTHING'}"
    )


def _quoted(name: str) -> str:
    # The text goes through `Statement.parse`, which leaves what is in quotes alone.
    return '"' + name.replace('"', '""') + '"'
