"""What a sink's table demands of rows: no NULL where it is not allowed, lengths of texts and bytes."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from penstock.errors import PenstockError
from penstock.runtime.operators.table.operator import Row, TableOperator
from penstock.runtime.rows import Timestamps


class ConstraintError(PenstockError, ValueError):
    """A row is not allowed in the table that it is written to."""


class ConstraintEnforcerOperator(TableOperator):
    """Checks rows before a sink.

    `not_null`: numbers of fields that must have a value; `drops_null` drops other rows silently (the setting
    `table.exec.sink.not-null-enforcer` is DROP) instead of failing. `lengths`: field, length, and whether shorter ones
    are padded (CHAR, BINARY), for `table.exec.sink.type-length-enforcer`; `cuts` makes them fit (TRIM_PAD),
    otherwise longer ones fail (ERROR). `names` are those of all fields, for messages.
    """

    kind = "table constraints"

    def __init__(
        self,
        *,
        names: tuple[str, ...],
        not_null: tuple[int, ...] = (),
        drops_null: bool = False,
        lengths: tuple[tuple[int, int, bool], ...] = (),
        cuts: bool = True,
    ) -> None:
        self.names = names
        self.not_null = not_null
        self.drops_null = drops_null
        self.lengths = lengths
        self.cuts = cuts

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Check a block."""
        if self.not_null:
            values = self._with_values(values)
        if self.lengths:
            values = [self._with_length(row) for row in values]
        self.output.emit(values, None)

    def _with_values(self, rows: list[Row]) -> list[Row]:
        places = [field + 1 for field in self.not_null]
        kept = [row for row in rows if all(row[place] is not None for place in places)]
        if len(kept) < len(rows) and not self.drops_null:
            raise self._null_failure(rows)
        return kept

    def _null_failure(self, rows: list[Row]) -> Exception:
        row, field = next((row, field) for row in rows for field in self.not_null if row[field + 1] is None)
        error = ConstraintError(
            f"Column '{self.names[field]}' is NOT NULL, however, a null value is being written into it. Set "
            "'table.exec.sink.not-null-enforcer' to 'DROP' to drop such records silently, or filter them out."
        )
        return self.failure(error, "checking constraints", row)

    def _with_length(self, row: Row) -> Row:
        changed = list(row)
        for field, length, pads in self.lengths:
            value = row[field + 1]
            if value is not None and (len(value) > length or (pads and len(value) < length)):
                changed[field + 1] = self._fitted(value, field, length, row)
        return tuple(changed)

    def _fitted(self, value: Any, field: int, length: int, row: Row) -> Sized:
        if not self.cuts:
            relation = "exceeds" if len(value) > length else "is shorter than"
            error = ConstraintError(
                f"Column '{self.names[field]}' has the length {len(value)}, which {relation} {length}. Set "
                "'table.exec.sink.type-length-enforcer' to 'TRIM_PAD' to cut and pad values, or cast the column."
            )
            raise self.failure(error, "checking constraints", row)
        padding: Any = b"\x00" if isinstance(value, bytes) else " "
        fitted: Sized = value[:length] + padding * (length - len(value))
        return fitted
