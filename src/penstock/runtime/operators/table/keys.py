"""Keys of rows of tables: what an exchange in front of a keyed operator selects."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from penstock.common.column_block import ColumnSelector
from penstock.runtime.columns import NO_KEY


class RowKey(ColumnSelector):
    """Selects the key of a row `(kind, *fields)` by the numbers of fields, for `key_by`.

    One field is its value, several are a tuple, and none is the same key for all rows: one subtask gets them all.
    """

    def __init__(self, *fields: int) -> None:
        self.fields = fields
        self._select = self._selector()

    @property
    def key_fields(self) -> int | tuple[int, ...]:
        """The places of the fields in a row; none where all rows have one key."""
        places = tuple([field + 1 for field in self.fields])
        return places[0] if len(places) == 1 else places

    def _selector(self) -> Callable[[Any], Any]:
        return itemgetter(*[field + 1 for field in self.fields]) if self.fields else _no_key

    def __call__(self, row: tuple[Any, ...]) -> Any:
        """The key of a row."""
        return self._select(row)

    def __reduce__(self) -> Any:
        return RowKey, self.fields


def _no_key(row: tuple[Any, ...]) -> int:
    return NO_KEY
