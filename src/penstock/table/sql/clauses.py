"""Parts of statements: names, options, columns, constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.catalog.columns import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKey,
    WatermarkSpec,
)
from penstock.table.sql.data_types import logical_type
from penstock.table.sql.grammar import FlinkParser
from penstock.table.sql.statements import ColumnChange, Name

__all__ = ["ClauseParser", "SchemaParts"]

T = TypeVar("T")


@dataclass
class SchemaParts:
    """What was read between the brackets of CREATE TABLE or ALTER TABLE so far."""

    columns: list[ColumnChange] = field(default_factory=list)
    watermark: WatermarkSpec | None = None
    primary_key: PrimaryKey | None = None


class ClauseParser(FlinkParser):
    """The parts that several statements share."""

    # ---- words and names ----

    def words(self, *texts: str) -> bool:
        """Whether these words come next; they are then read."""
        return bool(self._match_text_seq(*texts))

    def expect(self, *texts: str) -> None:
        """Read these words, or say what was expected."""
        if not self.words(*texts):
            self.raise_error(f"Expected {' '.join(texts)}")

    def one_of(self, *texts: str) -> str:
        """Read one of these words, and return it."""
        if not self._match_texts(texts):
            self.raise_error(f"Expected {', '.join(texts[:-1])} or {texts[-1]}")
        return str(self._prev.text.upper())

    def name_part(self) -> str:
        """One name, in backticks or plain."""
        if not self._curr or self._curr.token_type == TokenType.STRING:
            self.raise_error("Expected a name")
        part = self._parse_id_var(any_token=True)
        if part is None:
            self.raise_error("Expected a name")
        assert part is not None
        return str(part.name)

    def name(self) -> Name:
        """A name of one to three parts."""
        parts = [self.name_part()]
        while self._match(TokenType.DOT):
            parts.append(self.name_part())
        if len(parts) > 3:
            self.raise_error(f"{'.'.join(parts)} has more than the parts catalog, database and name", self._prev)
        return tuple(parts)

    def string(self) -> str:
        """A text in quotes."""
        node = self._parse_string()
        if node is None:
            self.raise_error("Expected a text in quotes")
        assert node is not None
        return str(node.name)

    def in_brackets(self, read: Callable[[], T]) -> list[T]:
        """`(a, b, c)`, each read by `read`."""
        if not self._match(TokenType.L_PAREN):
            self.raise_error("Expected (")
        found = []
        while not self._match(TokenType.R_PAREN):
            found.append(read())
            if not self._match(TokenType.COMMA) and not self._match(TokenType.R_PAREN, advance=False):
                self.raise_error("Expected , or )")
        return found

    def is_bracket_next(self) -> bool:
        """Whether ( comes next."""
        return bool(self._match(TokenType.L_PAREN, advance=False))

    def names_in_brackets(self) -> tuple[str, ...]:
        """`(a, b)`: plain names."""
        return tuple(self.in_brackets(self.name_part))

    def text_of(self, read: Callable[[], Any]) -> str:
        """The text of what `read` reads, as it was written."""
        first = self._curr
        if not first or read() is None:
            self.raise_error("Expected an expression")
        return str(self.sql[first.start : self._prev.end + 1])

    # ---- options ----

    def options(self) -> dict[str, str]:
        """`('key' = 'value', ...)`; a key that is given twice is refused."""
        found: dict[str, str] = {}
        for key, value in self.in_brackets(self._option):
            if key in found:
                self.raise_error(f"Option '{key}' is given twice", self._prev)
            found[key] = value
        return found

    def _option(self) -> tuple[str, str]:
        key = self.string()
        if not self._match(TokenType.EQ):
            self.raise_error("Expected = and the value of the option")
        return key, self.string()

    def hinted_options(self) -> dict[str, str]:
        """The options of a `/*+ OPTIONS('key' = 'value') */` hint that comes next, if one does."""
        hint = self._parse_hint() if self._curr and self._curr.token_type == TokenType.HINT else None
        return {
            pair.this.name: pair.expression.name
            for call in (hint.expressions if hint else ())
            if call.name.upper() == "OPTIONS"
            for pair in call.expressions
            if isinstance(pair, exp.EQ)
        }

    def comment(self) -> str | None:
        """`COMMENT 'text'`, if it comes next."""
        return self.string() if self.words("COMMENT") else None

    # ---- schemas ----

    def schema_part(self, parts: SchemaParts) -> None:
        """A column, a watermark or a constraint of a table."""
        if self._curr.text.upper() == "WATERMARK" and self._next.text.upper() == "FOR":
            self._watermark(parts)
        elif self._is_constraint():
            name = self.name_part() if self.words("CONSTRAINT") else None
            self._primary_key(parts, name)
        else:
            column = self._column(parts)
            parts.columns.append(ColumnChange(column, self._position()))

    def _is_constraint(self) -> bool:
        first, second = self._curr.text.upper(), self._next.text.upper()
        is_plain = self._curr.token_type != TokenType.IDENTIFIER
        is_key = self._curr.token_type == TokenType.PRIMARY_KEY or (first, second) == ("PRIMARY", "KEY")
        return is_plain and (is_key or first in ("CONSTRAINT", "UNIQUE"))

    def _primary_key(self, parts: SchemaParts, name: str | None, columns: tuple[str, ...] | None = None) -> None:
        if self.words("UNIQUE"):
            self.raise_error("UNIQUE constraints are not supported; declare a PRIMARY KEY ... NOT ENFORCED", self._prev)
        if not self._match(TokenType.PRIMARY_KEY):
            self.expect("PRIMARY", "KEY")
        if parts.primary_key is not None:
            self.raise_error("A table has at most one primary key", self._prev)
        parts.primary_key = PrimaryKey(columns or self.names_in_brackets(), name)
        if not self.words("NOT", "ENFORCED"):
            self.raise_error(
                "A primary key must be declared NOT ENFORCED: Penstock, like Flink, does not own the data and cannot "
                "check it"
            )

    def _watermark(self, parts: SchemaParts) -> None:
        self.expect("WATERMARK", "FOR")
        column = ".".join(self.name())
        self.expect("AS")
        if parts.watermark is not None:
            self.raise_error("A table has at most one WATERMARK", self._prev)
        parts.watermark = WatermarkSpec(column, self.text_of(self._parse_disjunction))

    def _column(self, parts: SchemaParts) -> Column:
        name = self.name_part()
        if self._match(TokenType.ALIAS):
            expression = self.text_of(self._parse_disjunction)
            return ComputedColumn(name, expression, self.comment())
        node = self._parse_types(schema=True)
        if node is None:
            self.raise_error(f"Expected the type of column {name}")
        assert node is not None
        is_nullable = self._nullability(parts, name)
        if self.words("METADATA"):
            key = self.string() if self._match(TokenType.FROM) else None
            is_virtual = self.words("VIRTUAL")
            return MetadataColumn(name, logical_type(node, is_nullable), key, is_virtual, self.comment())
        type_ = logical_type(node, is_nullable)
        return PhysicalColumn(name, type_, self.comment())

    def _nullability(self, parts: SchemaParts, name: str) -> bool:
        is_nullable = True
        while True:
            if self._match_pair(TokenType.NOT, TokenType.NULL):
                is_nullable = False
            elif self._match(TokenType.NULL):
                pass
            elif self._curr and self._is_constraint():
                constraint = self.name_part() if self.words("CONSTRAINT") else None
                self._primary_key(parts, constraint, (name,))
            else:
                return is_nullable

    def _position(self) -> str | None:
        if self.words("FIRST"):
            return ""
        return self.name_part() if self.words("AFTER") else None
