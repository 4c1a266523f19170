"""CREATE statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.catalog.entries import Distribution
from penstock.table.sql.clauses import ClauseParser, SchemaParts
from penstock.table.sql.statements import (
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    Like,
    Query,
    Statement,
)

__all__ = ["CreateParser"]

LIKE_FEATURES = ("ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")


NOT_THERE = {
    "LOAD": "there are the built-in functions, and no modules to load",
    "UNLOAD": "there are the built-in functions, and no modules to unload",
    "ANALYZE": "plans of streams need no statistics",
    "TRUNCATE": "a stream only adds to tables; empty them in the system that holds them",
    "DELETE": "rows are deleted by queries that take them back, or in the system that holds them",
    "UPDATE": "rows are updated by queries with a primary key to write by, or in the system that holds them",
    "CALL": "there are no procedures",
    "STOP": "stop a job by its client, result.get_job_client(), or by the command line",
    "ADD": "there is no Java to add jars for; Python files are shipped by add_python_file",
    "REMOVE": "there is no Java to remove jars of",
    "COMPILE": "plans are not written to files; uids of operators come from the query, so that state is found again",
}
"""Statements of Flink that are known by name, and why they are not there."""


class CreateParser(ClauseParser):
    """Everything that begins with CREATE."""

    def query_statement(self) -> Query:
        """A query."""
        first = self._curr
        query = self._parse_statement() if first and self._may_begin_query() else None
        if not isinstance(query, exp.Query | exp.Values):
            word = first.text if first else "the end"
            reason = NOT_THERE.get(word.upper())
            self.raise_error(
                f"Expected a statement, found {word}"
                if reason is None
                else f"{word.upper()} is not supported: {reason}",
                first,
            )
        assert first is not None
        return Query(query, text=str(self.sql[first.start : self._prev.end + 1]), source=self.sql)  # type: ignore[arg-type]

    def _may_begin_query(self) -> bool:
        starts = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN, TokenType.FROM)
        return self._curr.token_type in starts

    def create(self) -> Statement:
        """The rest of a statement, after CREATE."""
        or_replace = self.words("OR", "REPLACE")
        is_temporary = bool(self._match(TokenType.TEMPORARY)) or self.words("TEMPORARY")
        is_system = self.words("SYSTEM")
        readers: dict[str, Callable[[], Statement]] = {
            "TABLE": lambda: self._table(is_temporary, or_replace),
            "VIEW": lambda: self._view(is_temporary, or_replace),
            "FUNCTION": lambda: self._function(is_temporary, is_system),
            "CATALOG": self._catalog,
            "DATABASE": self._database,
        }
        if self._curr.text.upper() not in readers:
            self.raise_error(f"CREATE {self._curr.text.upper()} is not supported; expected one of {', '.join(readers)}")
        return readers[self.one_of(*readers)]()

    def _if_not_exists(self) -> bool:
        return self.words("IF", "NOT", "EXISTS")

    # ---- tables ----

    def _table(self, is_temporary: bool, or_replace: bool) -> CreateTable:
        if_not_exists = self._if_not_exists()
        name = self.name()
        parts, column_names = SchemaParts(), None
        if self.is_bracket_next():
            column_names = self._plain_names()
            if column_names is None:
                self.in_brackets(lambda: self.schema_part(parts))
        self._refuse_positions(parts)
        clauses = self._table_clauses()
        return CreateTable(
            name,
            columns=tuple(change.column for change in parts.columns),
            watermark=parts.watermark,
            primary_key=parts.primary_key,
            column_names=column_names,
            is_temporary=is_temporary,
            if_not_exists=if_not_exists,
            or_replace=or_replace,
            **clauses,
        )

    def _refuse_positions(self, parts: SchemaParts) -> None:
        if any(change.after is not None for change in parts.columns):
            self.raise_error("FIRST and AFTER belong to ALTER TABLE", self._prev)
        for index, change in enumerate(parts.columns):
            if change.column.name in [each.column.name for each in parts.columns[:index]]:
                self.raise_error(f"Column {change.column.name} is declared twice", self._prev)

    def _plain_names(self) -> tuple[str, ...] | None:
        """`(a, b)` of CREATE TABLE t (a, b) AS SELECT: names that reorder the columns of the query."""
        after = self._tokens[self._index + 2].token_type if self._index + 2 < len(self._tokens) else None
        if after not in (TokenType.COMMA, TokenType.R_PAREN):
            return None
        return self.names_in_brackets()

    def _table_clauses(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        readers: dict[str, Callable[[], Any]] = {
            "comment": self.comment,
            "distribution": self._distribution,
            "partition_keys": self._partition_keys,
            "options": lambda: self.options() if self._match(TokenType.WITH) else None,
            "like": self._like,
            "query": lambda: self.query_statement() if self._match(TokenType.ALIAS) else None,
        }
        while self._curr:
            before = self._index
            for key, read in readers.items():
                value = read()
                if value is not None:
                    found[key] = value
            if self._index == before:
                break
        return found

    def _distribution(self) -> Distribution | None:
        if not self._match_texts(("DISTRIBUTED",)):
            return None
        kind, buckets = None, None
        columns: tuple[str, ...] = ()
        if self.words("BY"):
            kind = None if self.is_bracket_next() else self.name_part().upper()
            columns = self.names_in_brackets()
        if self._match(TokenType.INTO):
            number = self._parse_number()
            buckets = int(number.name) if number is not None else None
            self.expect("BUCKETS")
        return Distribution(kind, columns, buckets)

    def _partition_keys(self) -> tuple[str, ...] | None:
        if not (self._match(TokenType.PARTITION_BY) or self.words("PARTITIONED", "BY")):
            return None
        return self.names_in_brackets()

    def _like(self) -> Like | None:
        if not self._match(TokenType.LIKE):
            return None
        table = self.name()
        options = []
        if self._match(TokenType.L_PAREN):
            while not self._match(TokenType.R_PAREN):
                strategy = self.one_of("INCLUDING", "EXCLUDING", "OVERWRITING")
                options.append((strategy, self.one_of(*LIKE_FEATURES)))
        return Like(table, tuple(options))

    # ---- the others ----

    def _view(self, is_temporary: bool, or_replace: bool) -> CreateView:
        if_not_exists = self._if_not_exists()
        name = self.name()
        columns = self._view_columns() if self.is_bracket_next() else None
        comment = self.comment()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS and the query of the view")
        query = self.text_of(self.query_statement)
        return CreateView(name, query, columns, comment, is_temporary, if_not_exists, or_replace)

    def _view_columns(self) -> tuple[str, ...]:
        def column() -> str:
            name = self.name_part()
            self.comment()
            return name

        return tuple(self.in_brackets(column))

    def _function(self, is_temporary: bool, is_system: bool) -> CreateFunction:
        if_not_exists = self._if_not_exists()
        name = self.name()
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS and the name of the function's class in quotes")
        class_name = self.string()
        language = self.one_of("JAVA", "SCALA", "PYTHON") if self.words("LANGUAGE") else "JAVA"
        if self._match(TokenType.USING):
            self._jars()
        if self._match(TokenType.WITH):
            self.options()
        return CreateFunction(name, class_name, language, is_temporary, is_system, if_not_exists)

    def _jars(self) -> None:
        while True:
            self.one_of("JAR", "ARTIFACT")
            self.string()
            if not self._match(TokenType.COMMA):
                return

    def _catalog(self) -> CreateCatalog:
        if_not_exists = self._if_not_exists()
        name = self.name_part()
        comment = self.comment()
        options = self.options() if self._match(TokenType.WITH) else {}
        return CreateCatalog(name, options, comment, if_not_exists)

    def _database(self) -> CreateDatabase:
        if_not_exists = self._if_not_exists()
        name = self.name()
        comment = self.comment()
        options = self.options() if self._match(TokenType.WITH) else {}
        return CreateDatabase(name, comment, options, if_not_exists)
