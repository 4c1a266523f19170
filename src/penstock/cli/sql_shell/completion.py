"""What Tab offers: keywords, tables, columns, functions, keys and values of settings and options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from penstock.cli.sql_shell.known_names import KnownNames
from penstock.cli.sql_shell.shell_commands import SHORT_FORMS
from penstock.cli.sql_shell.typed_statement import TypedStatement
from penstock.cli.sql_shell.words import BEFORE_TABLES, KEYWORDS, STATEMENTS, TYPES

_PLAIN = re.compile(r"[A-Za-z_][\w$]*")
_SHOWN = ("TABLES", "VIEWS", "DATABASES", "CATALOGS", "FUNCTIONS", "JOBS", "CREATE", "COLUMNS", "CURRENT", "USER")
_MOST_TABLES = 50
_WORDS = ("", "statement", "type", "function")
"""What is said of offers that are words of SQL and no names of the user's."""
Offer = tuple[str, str]


class SqlCompleter(Completer):
    """Offers what fits where the cursor is, by the names of a session."""

    def __init__(self, names: KnownNames) -> None:
        """Offer these names."""
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent | None) -> Iterator[Completion]:
        """What can stand at the cursor."""
        before = document.text_before_cursor
        if before.lstrip().startswith("\\"):
            short = before.lstrip()
            forms = ((form, alone) for form, (alone, _) in SHORT_FORMS.items())
            yield from _matching(short, forms)
            return
        typed = TypedStatement.at(document.text, document.cursor_position)
        if typed.quoted is not None:
            yield from _matching(typed.quoted, self._quoted(typed))
        else:
            yield from _matching(typed.word, self._unquoted(typed), typed.word)

    # ---- in quotes ----

    def _quoted(self, typed: TypedStatement) -> Iterable[Offer]:
        if typed.last() == "=":
            return ((value, "value") for value in self._names.values(typed.last(2).strip("'")))
        if typed.before[:1] in (("SET",), ("RESET",)):
            return self._names.settings().items()
        if typed.last() == "JOB":
            return ((job, "job") for job in self._names.jobs())
        if "WITH" in typed.before or "OPTIONS" in typed.before:
            connector = typed.option("connector")
            keys = ["connector"] if connector is None else self._names.options(connector)
            return ((key, "option") for key in keys)
        return ()

    # ---- words and names ----

    def _unquoted(self, typed: TypedStatement) -> Iterator[Offer]:
        if typed.qualifier:
            yield from self._qualified(typed)
        elif not typed.before:
            yield from ((word, "statement") for word in STATEMENTS)
        elif typed.last() == "SHOW":
            yield from ((word, "") for word in _SHOWN)
        elif typed.last() == "USE":
            yield from ((_quoted_name(name), "database") for name in self._names.databases())
            yield "CATALOG", ""
        elif typed.last() == "CATALOG":
            yield from ((_quoted_name(name), "catalog") for name in self._names.catalogs())
        elif typed.last() in BEFORE_TABLES and typed.last(2) != "CREATE":
            yield from self._tables(typed)
        else:
            yield from self._anything(typed)

    def _qualified(self, typed: TypedStatement) -> Iterator[Offer]:
        name = typed.qualifier.strip("`")
        table = dict(typed.tables()).get(name)
        if table is not None and typed.last() not in BEFORE_TABLES:
            yield from ((_quoted_name(column), f"column of {table}") for column in self._names.columns(table))
        yield from ((_quoted_name(each), f"table of {name}") for each in self._names.tables(name))

    def _tables(self, typed: TypedStatement) -> Iterator[Offer]:
        yield from ((_quoted_name(name), "table") for name in self._names.tables())
        if typed.last() in ("FROM", "JOIN"):
            yield from (("TABLE", ""), ("LATERAL", ""), ("UNNEST", ""))

    def _anything(self, typed: TypedStatement) -> Iterator[Offer]:
        named = dict.fromkeys(table for _, table in typed.tables())
        # What is selected is typed before the tables it comes from: then it may be from any of them.
        for table in named or list(map(_quoted_name, self._names.tables()))[:_MOST_TABLES]:
            yield from ((_quoted_name(column), f"column of {table}") for column in self._names.columns(table))
        if typed.word:
            yield from ((f"{name}(", "function") for name in self._names.functions())
        yield from ((word, "") for word in sorted(KEYWORDS))
        yield from ((word, "type") for word in sorted(TYPES))


def _matching(prefix: str, offers: Iterable[Offer], word: str = "") -> Iterator[Completion]:
    """The offers that begin with what is typed, whatever its case; words of SQL in small letters if it is."""
    is_quoted, typed, seen = prefix.startswith("`"), prefix.lstrip("`").lower(), set()
    for text, meta in offers:
        is_word = meta in _WORDS
        if text in seen or (is_quoted and is_word) or not text.lstrip("`").lower().startswith(typed):
            continue
        seen.add(text)
        if is_quoted and not text.startswith("`"):
            text = f"`{text}`"
        elif is_word and text.isupper() and word.islower():
            text = text.lower()
        yield Completion(text, start_position=-len(prefix), display_meta=meta)


def _quoted_name(name: str) -> str:
    is_plain = _PLAIN.fullmatch(name) and name.upper() not in KEYWORDS and name.upper() not in TYPES
    return name if is_plain else f"`{name}`"
