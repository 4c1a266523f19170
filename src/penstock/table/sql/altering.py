"""ALTER and DROP statements."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from penstock.table.sql.clauses import ClauseParser, SchemaParts
from penstock.table.sql.statements import (
    AlterDrop,
    AlterOptions,
    AlterRenameColumn,
    AlterSchema,
    AlterView,
    Drop,
    Name,
    Rename,
    Statement,
)

__all__ = ["AlterParser"]


class AlterParser(ClauseParser):
    """Everything that begins with ALTER or DROP."""

    def drop(self) -> Drop:
        """The rest of a statement, after DROP."""
        is_temporary = bool(self._match(TokenType.TEMPORARY)) or self.words("TEMPORARY")
        is_system = self.words("SYSTEM")
        kind = self.one_of("TABLE", "VIEW", "FUNCTION", "CATALOG", "DATABASE")
        if_exists = self.words("IF", "EXISTS")
        name = self.name()
        is_cascade = self.words("CASCADE")
        if not is_cascade:
            self.words("RESTRICT")
        return Drop(kind, name, if_exists, is_temporary, is_system, is_cascade)

    def alter(self) -> Statement:
        """The rest of a statement, after ALTER."""
        kind = self.one_of("TABLE", "VIEW", "DATABASE", "CATALOG")
        if_exists = self.words("IF", "EXISTS")
        name = self.name()
        if kind == "TABLE":
            return self._alter_table(name, if_exists)
        if kind == "VIEW" and self._match(TokenType.ALIAS):
            return AlterView(name, self.text_of(self._parse_statement))
        if kind == "VIEW":
            self.expect("RENAME", "TO")
            return Rename(kind, name, self.name(), if_exists)
        return self._alter_options(kind, name, if_exists)

    def _alter_options(self, kind: str, name: Name, if_exists: bool) -> AlterOptions:
        if self.one_of("SET", "RESET") == "SET":
            return AlterOptions(kind, name, self.options(), (), if_exists)
        return AlterOptions(kind, name, {}, tuple(self.in_brackets(self.string)), if_exists)

    def _alter_table(self, name: Name, if_exists: bool) -> Statement:
        action = self._curr.text.upper() if self._curr else ""
        if action in ("SET", "RESET"):
            return self._alter_options("TABLE", name, if_exists)
        self.one_of("ADD", "MODIFY", "DROP", "RENAME")
        if action == "RENAME":
            return self._alter_rename(name, if_exists)
        if action == "DROP":
            return self._alter_drop(name, if_exists)
        return self._alter_schema(name, action == "MODIFY", if_exists)

    def _alter_rename(self, name: Name, if_exists: bool) -> Statement:
        if self.words("TO"):
            return Rename("TABLE", name, self.name(), if_exists)
        column = self.name_part()
        self.expect("TO")
        return AlterRenameColumn(name, column, self.name_part(), if_exists)

    def _alter_drop(self, name: Name, if_exists: bool) -> AlterDrop:
        if self._match(TokenType.PRIMARY_KEY) or self.words("PRIMARY", "KEY"):
            return AlterDrop(name, what="PRIMARY KEY", if_exists=if_exists)
        if self.words("WATERMARK"):
            return AlterDrop(name, what="WATERMARK", if_exists=if_exists)
        if self.words("CONSTRAINT"):
            return AlterDrop(name, (self.name_part(),), "CONSTRAINT", if_exists)
        if self.is_bracket_next():
            return AlterDrop(name, self.names_in_brackets(), if_exists=if_exists)
        return AlterDrop(name, (self.name_part(),), if_exists=if_exists)

    def _alter_schema(self, name: Name, is_modify: bool, if_exists: bool) -> AlterSchema:
        parts = SchemaParts()
        if self.is_bracket_next():
            self.in_brackets(lambda: self.schema_part(parts))
        else:
            self.schema_part(parts)
        return AlterSchema(name, is_modify, tuple(parts.columns), parts.watermark, parts.primary_key, if_exists)
