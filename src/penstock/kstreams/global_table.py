"""Global tables: every task has all rows."""

from __future__ import annotations

from penstock.runtime.operators.kstreams.tables import TableSource


class GlobalKTable:
    """A table that streams are joined with by any key they choose."""

    def __init__(self, processor: TableSource, queryable_name: str | None) -> None:
        self.processor = processor
        self._queryable_name = queryable_name

    def queryable_store_name(self) -> str | None:
        """The name of its store, if it was given one."""
        return self._queryable_name
