"""The lookup join of a table that changes: what was found for a row is kept, so that it is taken back as it was."""

from __future__ import annotations

from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.layouts import Layout
from penstock.runtime.lookups import CacheSettings, Lookup
from penstock.runtime.operators.table.lookup_join import BlockFinder, LookupTerms
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, type_texts
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import ADDS
from penstock.vocabulary.sql.state_types import row_state_type


class MaterializedLookupJoinOperator(KeyedTableOperator):
    """Looks up rows that are added, keyed by what identifies a left row; rows that are taken back find what they found.

    `types` are those of the projected fields that are found. A row is taken back for which nothing is known any more
    (its state has expired) is looked up again.
    """

    kind = "materialized lookup join"
    state_identity = "MaterializedLookupJoinOperator"

    def __init__(
        self,
        *,
        lookup: Lookup,
        terms: LookupTerms,
        types: tuple[LogicalType, ...],
        cache: CacheSettings | None = None,
        state_ttl_ms: int = 0,
    ) -> None:
        self.lookup = lookup
        self.terms = terms
        self.types = types
        self.cache = cache
        self.state_ttl_ms = state_ttl_ms

    def layout(self) -> Layout:
        """What is kept of what was found."""
        return {"operator": self.kind, "found": type_texts(self.types)}

    def open(self) -> None:
        """Get the state, make the code, open the lookup."""
        self._found = self.value_state("_found_rows", Types.LIST(row_state_type(self.types)))
        self._finder = BlockFinder(self, self.lookup, self.terms, self.cache)

    def close(self) -> None:
        """Close the lookup."""
        self.close_function(self.lookup)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Join a block; only rows that are added are looked up, together."""
        assert keys is not None
        added = [row for row in values if ADDS[row[0]]]
        found = iter(self._finder.found(added))
        results: list[Row] = []
        consumed = iter(values)
        try:
            for _, row in zip(self.backend.walk(keys), consumed, strict=False):
                if ADDS[row[0]]:
                    rows = next(found)
                    self._found.hold(list(rows))
                else:
                    known = self._found.held()
                    rows = self._finder.found([row])[0] if known is None else known
                    self._found.hold(None)
                self._finder.join(row, rows, results)
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)
