"""Changes told by a code in a field, and the other way round."""

from __future__ import annotations

from typing import Any

from penstock.errors import PenstockError
from penstock.runtime.operators.table.operator import TableOperator
from penstock.runtime.rows import Timestamps


class ChangeCodeError(PenstockError, ValueError):
    """A row does not say what it does."""


class ToChangelogOperator(TableOperator):
    """Makes a row to add of each change, with the code of its kind in front; kinds without a code are left out."""

    kind = "to changelog"
    state_identity = "ToChangelogOperator"

    def __init__(self, *, codes: tuple[str | None, ...]) -> None:
        self.codes = codes

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Tell the changes of a block."""
        codes = self.codes
        self.output.emit([(0, codes[row[0]], *row[1:]) for row in values if codes[row[0]] is not None], None)


class FromChangelogOperator(TableOperator):
    """Makes a change of each row, of the kind that its field `code` says; a code that is not known is refused."""

    kind = "from changelog"
    state_identity = "FromChangelogOperator"

    def __init__(self, *, code: int, kinds: tuple[tuple[str, int], ...]) -> None:
        self.code = code
        self.kinds = kinds

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Make the changes of a block."""
        kinds, place = dict(self.kinds), self.code + 1
        made = []
        for row in values:
            kind = kinds.get(row[place])
            if kind is None:
                code = row[place]
                told = "NULL op code" if code is None else f"invalid op code '{code}'"
                error = ChangeCodeError(f"Received {told}; FROM_CHANGELOG knows {', '.join(kinds)}.")
                raise self.failure(error, "reading the code of a change", row)
            made.append((kind, *row[1:place], *row[place + 1 :]))
        self.output.emit(made, None)
