"""Plan nodes between changelogs and rows that only tell of them: TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.table.algebra.plan_node import OneInput, unique_names
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType, row_of

__all__ = ["FromChangelog", "ToChangelog"]

CODE = LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))


@dataclass(frozen=True, eq=False)
class ToChangelog(OneInput):
    """Each change as a row to add: a code for its kind in front. `codes` are by kind; None leaves such rows out."""

    state_identity = "ToChangelog"

    column: str
    codes: tuple[str | None, ...]

    @cached_property
    def row_type(self) -> LogicalType:
        """The code, then the columns of the input."""
        names = unique_names((self.column, *self.input.names))
        return row_of(names, (CODE, *self.input.types))

    def identity_text(self) -> str:
        """The codes."""
        return f"ToChangelog(op=[{self.column}], codes=[{', '.join(map(str, self.codes))}])"


@dataclass(frozen=True, eq=False)
class FromChangelog(OneInput):
    """Rows whose field `code` says what they do, as a changelog. `kinds` are the numbers of kinds by code."""

    state_identity = "FromChangelog"

    code: int
    kinds: tuple[tuple[str, int], ...]

    @cached_property
    def row_type(self) -> LogicalType:
        """The columns of the input without the code."""
        kept = [each for each in range(len(self.input.names)) if each != self.code]
        return row_of(tuple([self.input.names[i] for i in kept]), tuple([self.input.types[i] for i in kept]))

    def identity_text(self) -> str:
        """The codes."""
        return f"FromChangelog(op=[{self.input.names[self.code]}], codes=[{', '.join(code for code, _ in self.kinds)}])"
