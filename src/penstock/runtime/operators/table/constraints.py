"""What a sink's table demands of rows: no NULL where it is not allowed, lengths of texts and bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import PenstockError
from penstock.runtime.operators.table.operator import Row, TableOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType

SIZED = (Kind.CHAR, Kind.VARCHAR, Kind.BINARY, Kind.VARBINARY)
PADDED = (Kind.CHAR, Kind.BINARY)
COLLECTIONS = (Kind.ARRAY, Kind.MAP, Kind.MULTISET)
Check = Callable[[Any], Any]


class ConstraintError(PenstockError, ValueError):
    """A row is not allowed in the table that it is written to."""


class NullInside(Exception):
    """There is a NULL where none is allowed; the text is the path to it."""


class ConstraintEnforcerOperator(TableOperator):
    """Checks rows before a sink, whose columns have `names` and `types`.

    A NULL in a column that is NOT NULL fails, or drops the row silently with `drops_null` (the setting
    `table.exec.sink.not-null-enforcer` is DROP). `lengths` (`table.exec.sink.type-length-enforcer`): IGNORE, ERROR for
    values that are too long, and too short for CHAR and BINARY, or TRIM_PAD to make them fit. `nested`
    (`table.exec.sink.nested-constraint-enforcer`): IGNORE, or ROWS and ROWS_AND_COLLECTIONS to look inside of values.
    """

    kind = "table constraints"
    state_identity = "ConstraintEnforcerOperator"

    def __init__(
        self,
        *,
        names: tuple[str, ...],
        types: tuple[LogicalType, ...],
        drops_null: bool = False,
        lengths: str = "IGNORE",
        nested: str = "IGNORE",
    ) -> None:
        self.names = names
        self.types = types
        self.drops_null = drops_null
        self.lengths = lengths
        self.nested = nested

    def open(self) -> None:
        """Make the checks of columns that need one."""
        self._not_null = [at for at, each in enumerate(self.types, 1) if not each.nullable]
        checks = _Checks(self.lengths, self.nested)
        made = [
            (at, checks.of(each, name)) for at, (name, each) in enumerate(zip(self.names, self.types, strict=True), 1)
        ]
        self._checks = [(at, check) for at, check in made if check is not None]

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Check a block."""
        places = self._not_null
        kept = [row for row in values if all([row[place] is not None for place in places])]
        if len(kept) < len(values) and not self.drops_null:
            row, at = next((row, at) for row in values for at in places if row[at] is None)
            raise self._null_failure(self.names[at - 1], row)
        if self._checks:
            checked = [self._checked(row) for row in kept]
            kept = [row for row in checked if row is not None]
        self.output.emit(kept, None)

    def _checked(self, row: Row) -> Row | None:
        changed = list(row)
        try:
            for at, check in self._checks:
                if row[at] is not None:
                    changed[at] = check(row[at])
        except NullInside as error:
            if self.drops_null:
                return None
            raise self._null_failure(str(error), row) from None
        except ConstraintError as error:
            raise self.failure(error, "checking constraints", row) from None
        return tuple(changed)

    def _null_failure(self, name: str, row: Row) -> Exception:
        error = ConstraintError(
            f"Column '{name}' is NOT NULL, however, a null value is being written into it. Set "
            "'table.exec.sink.not-null-enforcer' to 'DROP' to drop such records silently, or filter them out."
        )
        return self.failure(error, "checking constraints", row)


class _Checks:
    """Makes functions that check a value that is not NULL, and give it back, cut or padded if that is wanted."""

    def __init__(self, lengths: str, nested: str) -> None:
        self._lengths = lengths
        self._rows = nested != "IGNORE"
        self._collections = nested == "ROWS_AND_COLLECTIONS"

    def of(self, declared: LogicalType, path: str) -> Check | None:
        """The check of a type; None if there is nothing to check."""
        kind = declared.kind
        if kind in SIZED:
            return None if self._lengths == "IGNORE" else self._length(declared, path)
        if kind is Kind.ROW and self._rows:
            return self._row(declared, path)
        if kind in COLLECTIONS and self._collections:
            return self._map(declared, path) if kind is Kind.MAP else self._elements(declared, path)
        return None

    def _length(self, declared: LogicalType, path: str) -> Check | None:
        length, pads, cuts = declared.precision, declared.kind in PADDED, self._lengths == "TRIM_PAD"
        if length >= MAX_LENGTH:
            return None

        def check(value: Any) -> Any:
            if len(value) <= length and (not pads or len(value) == length):
                return value
            if cuts:
                return value[:length] + (b"\x00" if isinstance(value, bytes) else " ") * (length - len(value))
            raise ConstraintError(
                f"Column '{path}' is {declared.with_nullable(True)}, however, a string of length {len(value)} is being "
                "written into it. Set 'table.exec.sink.type-length-enforcer' to 'TRIM_PAD' to cut and pad values, or "
                "cast the column."
            )

        return check

    def _inside(self, declared: LogicalType, path: str) -> Check | None:
        """The check of a part, NULL too."""
        check = self.of(declared, path)
        if declared.nullable:
            return check and (lambda value: None if value is None else check(value))

        def never_null(value: Any) -> Any:
            if value is None:
                raise NullInside(path)
            return value if check is None else check(value)

        return never_null

    def _row(self, declared: LogicalType, path: str) -> Check | None:
        parts = [
            self._inside(part, f"{path}.{name}") for name, part in zip(declared.names, declared.parts, strict=True)
        ]
        if not any(parts):
            return None
        return lambda value: tuple(
            [each if check is None else check(each) for check, each in zip(parts, value, strict=True)]
        )

    def _elements(self, declared: LogicalType, path: str) -> Check | None:
        # The number of an element is not worth a function for each of them.
        check = self._inside(declared.parts[0], f"{path}[*]")
        if check is None:
            return None

        def elements(value: Any) -> Any:
            for each in value:
                check(each)
            return value

        return elements

    def _map(self, declared: LogicalType, path: str) -> Check | None:
        key, item = (
            self._inside(part, f"{path}[{word}]") for part, word in zip(declared.parts, ("key", "value"), strict=True)
        )
        if key is None and item is None:
            return None

        def entries(value: Any) -> Any:
            for each, held in value.items():
                if key is not None:
                    key(each)
                if item is not None:
                    item(held)
            return value

        return entries
