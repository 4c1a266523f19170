"""From a text of SQL to statements: `parse`; `parse_expression`, `parse_query` and `parse_type` read parts of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import SqlParserError
from penstock.table.sql.altering import AlterParser
from penstock.table.sql.creating import CreateParser
from penstock.table.sql.data_types import logical_type
from penstock.table.sql.dialect import Flink
from penstock.table.sql.grammar import PlacedParseError
from penstock.table.sql.nesting import MOST_NESTED, deep_statements, innermost
from penstock.table.sql.places import Place, shown
from penstock.table.sql.splitting import chunks, statement_sets, tokens_of
from penstock.table.sql.statements import (
    Describe,
    Explain,
    Insert,
    Query,
    Reset,
    Set,
    Show,
    Statement,
    StatementSet,
    Use,
)
from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["parse", "parse_expression", "parse_name", "parse_query", "parse_type"]

T = TypeVar("T")

EXPLAIN_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")


class StatementParser(CreateParser, AlterParser):
    """Reads one statement by its first words."""

    def statement(self) -> Statement:
        """The statement that begins here."""
        first = self._curr
        readers: dict[str, Callable[[], Statement]] = {
            "CREATE": self.create,
            "DROP": self.drop,
            "ALTER": self.alter,
            "INSERT": self.insert,
            "USE": self._use,
            "SHOW": self._show,
            "DESCRIBE": self._describe,
            "DESC": self._describe,
            "SET": self._set,
            "RESET": lambda: Reset(self.string() if self._curr else None),
            "EXPLAIN": self._explain,
        }
        if first.text.upper() == "EXECUTE" and self._next.text.upper() in ("INSERT", "STATEMENT", "SELECT"):
            self._advance()
        word = "" if self._curr.token_type in (TokenType.IDENTIFIER, TokenType.STRING) else self._curr.text.upper()
        if word in readers:
            self._advance()
            read = readers[word]()
        else:
            read = self.query_statement()
        return replace(read, text=str(self.sql[first.start : self._prev.end + 1]))

    def insert(self) -> Insert:
        """The rest of a statement, after INSERT."""
        is_overwrite = self.one_of("INTO", "OVERWRITE") == "OVERWRITE"
        self._match(TokenType.TABLE)
        table = self.name()
        options = self.hinted_options()
        partition = self._partition() if self._match(TokenType.PARTITION) else {}
        columns = None if self._is_query_in_brackets() or not self.is_bracket_next() else self.names_in_brackets()
        query = self.query_statement()
        conflict = self._on_conflict()
        return Insert(table, query.query, columns, is_overwrite, partition, options, conflict, source=self.sql)

    def _on_conflict(self) -> str | None:
        if not self.words("ON", "CONFLICT"):
            return None
        self.expect("DO")
        return self.one_of("NOTHING", "ERROR", "DEDUPLICATE")

    def _is_query_in_brackets(self) -> bool:
        starts = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN)
        return self.is_bracket_next() and self._next.token_type in starts

    def _partition(self) -> dict[str, exp.Expr]:
        def pair() -> tuple[str, exp.Expr | None]:
            name = self.name_part()
            return name, self._parse_disjunction() if self._match(TokenType.EQ) else None

        return {name: value for name, value in self.in_brackets(pair) if value is not None}

    def _explain(self) -> Explain:
        details = []
        while self._match_texts(EXPLAIN_DETAILS):
            details.append(self._prev.text.upper())
            self._match(TokenType.COMMA)
        if not self.words("PLAN", "FOR"):
            self.words("PLAN")
        return Explain(self.statement(), tuple(details))

    def _use(self) -> Use:
        if self.words("CATALOG"):
            return Use("CATALOG", (self.name_part(),))
        if self.words("MODULES"):
            names = [self.name_part()]
            while self._match(TokenType.COMMA):
                names.append(self.name_part())
            return Use("MODULES", tuple(names))
        return Use("DATABASE", self.name())

    def _show(self) -> Show:
        kind = self.name_part().upper()
        if kind in ("CURRENT", "CREATE", "USER", "FULL"):
            kind = f"{kind} {self.name_part().upper()}"
        name: tuple[str, ...] = ()
        if (
            kind in ("CREATE TABLE", "CREATE VIEW", "CREATE CATALOG", "PARTITIONS")
            or self._match(TokenType.FROM)
            or self._match(TokenType.IN)
        ):
            name = self.name()
        is_not = bool(self._match(TokenType.NOT))
        is_case_insensitive = self.words("ILIKE")
        like = self.string() if is_case_insensitive or self._match(TokenType.LIKE) else None
        return Show(kind, name, like, is_not, is_case_insensitive)

    def _describe(self) -> Describe:
        kind = "TABLE"
        if self._curr and self._next and self._next.token_type != TokenType.DOT:
            for word in ("CATALOG", "DATABASE", "FUNCTION", "TABLE"):
                if self.words(word):
                    kind = word
                    break
        is_extended = bool(self._next) and self._next.token_type != TokenType.DOT and self.words("EXTENDED")
        return Describe(kind, self.name(), is_extended)

    def _set(self) -> Set:
        if not self._curr:
            return Set()
        key = self.string()
        if not self._match(TokenType.EQ):
            self.raise_error("Expected = and the value of the setting")
        return Set(key, self.string())


def parse(text: str) -> list[Statement]:
    """The statements of a text, separated by semicolons.

    >>> [type(each).__name__ for each in parse("USE shop; SELECT 1; SHOW TABLES")]
    ['Use', 'Query', 'Show']
    """
    tokens = tokens_of(text)
    statements: list[Statement] = []
    done = 0
    for head, first, last, end in statement_sets(tokens):
        statements += _plain_statements(tokens[done:head], text)
        statements.append(_statement_set(tokens[head:first], tokens[first:last], text))
        done = end
    return statements + _plain_statements(tokens[done:], text)


def parse_query(text: str) -> Query:
    """The one query of a text."""
    statements = parse(text)
    if len(statements) != 1 or not isinstance(statements[0], Query):
        raise SqlParserError(f"Expected one query, got: {text.strip()}")
    return statements[0]


def parse_expression(text: str) -> exp.Expr:
    """A scalar expression."""
    found = _read(tokens_of(text), text, lambda parser: parser._parse_disjunction())
    if found is None:
        raise SqlParserError(f"Expected an expression, got: {text!r}")
    return found


def parse_name(text: str) -> tuple[str, ...]:
    """A name of one to three parts, such as `db`.`my table`."""
    return _read(tokens_of(text), text, lambda parser: parser.name())


def parse_type(text: str) -> LogicalType:
    """A type, as `DECIMAL(10, 2) NOT NULL`.

    >>> str(parse_type("ROW<a INT, b ARRAY<STRING NOT NULL>> NOT NULL"))
    'ROW<`a` INT, `b` ARRAY<STRING NOT NULL>> NOT NULL'
    """
    found = _read(tokens_of(text), text, lambda parser: parser._parse_types())
    if found is None:
        raise SqlParserError(f"Expected a type, got: {text!r}")
    return logical_type(found)


def _plain_statements(tokens: Sequence[Token], text: str) -> list[Statement]:
    return [_read(chunk, text, lambda parser: parser.statement()) for chunk in chunks(tokens)]


def _read(tokens: Sequence[Token], text: str, read: Callable[[StatementParser], T]) -> T:
    _refuse_lone_commas(tokens, text)
    found: list[T] = []

    def method(parser: Any) -> None:
        found.append(read(parser))

    _refuse_depth(tokens, text)
    try:
        with deep_statements():
            StatementParser(dialect=Flink())._parse(method, list(tokens), text)
    except PlacedParseError as error:
        raise _error(str(error), text, error.token) from None
    except IndexError:  # sqlglot looks for what the text does not have any more
        raise _error("The statement ends too early", text, Token.string("")) from None
    return found[0]


def _refuse_depth(tokens: Sequence[Token], text: str) -> None:
    token = innermost(tokens)
    if token is not None:
        message = f"Brackets are nested more than {MOST_NESTED} deep; compute parts in views or in a function"
        raise _error(message, text, token)


def _refuse_lone_commas(tokens: Sequence[Token], text: str) -> None:
    """Refuse a comma with nothing behind it, which sqlglot passes over."""
    for comma, behind in zip(tokens, [*tokens[1:], None], strict=True):
        is_lone = behind is None or behind.token_type in (TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM)
        if comma.token_type is TokenType.COMMA and is_lone:
            raise _error("Nothing stands behind this comma", text, comma)


def _error(message: str, text: str, token: Token) -> SqlParserError:
    place = Place(text, token.start, max(token.end, token.start)) if token.text else Place(text, len(text), len(text))
    if message.startswith("Invalid expression / Unexpected token"):
        message = f"Unexpected {token.text!r}"
    message = message.split(" but got <Token")[0]  # sqlglot shows the token as Python object; the caret is at it
    return SqlParserError(shown(message, place), place.line, place.column)


def _statement_set(head: Sequence[Token], inner: Sequence[Token], text: str) -> Statement:
    inserts = [each for each in _plain_statements(inner, text) if isinstance(each, Insert)]
    if len(inserts) < len(list(chunks(inner))) or not inserts:
        raise _error("A STATEMENT SET holds INSERT statements, at least one, and nothing else", text, head[0])
    whole = text[head[0].start : inner[-1].end + 1]
    made = StatementSet(tuple(inserts), text=whole)
    if head[0].text.upper() != "EXPLAIN":
        return made
    return Explain(made, tuple(each.text.upper() for each in head if each.text.upper() in EXPLAIN_DETAILS), text=whole)
