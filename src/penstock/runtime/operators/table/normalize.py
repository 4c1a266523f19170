"""Changelog normalize: upserts and deletes by key become a changelog with the rows as they were."""

from __future__ import annotations

from typing import Any

from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.bundles import MINI_BATCH_SIZE, BundlingOperator
from penstock.runtime.operators.table.expressions import row_function
from penstock.runtime.operators.table.operator import Row, type_texts
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import TypedExpression


class ChangelogNormalizeOperator(BundlingOperator):
    """Keeps the last row of each key, the input being keyed by the unique key.

    The first row of a key becomes +I, another one -U (if `generate_update_before`) and +U, a delete -D with the row as
    it was. Repeated rows and deletes of nothing are dropped. Rows that do not meet `condition` are no rows.
    """

    kind = "changelog normalize"
    state_identity = "ChangelogNormalizeOperator"

    def __init__(
        self,
        *,
        types: tuple[LogicalType, ...],
        generate_update_before: bool,
        condition: TypedExpression | None = None,
        mini_batch: bool = False,
        mini_batch_size: int = MINI_BATCH_SIZE,
        state_ttl_ms: int = 0,
        zone: str = "UTC",
    ) -> None:
        self.types = types
        self.generate_update_before = generate_update_before
        self.condition = condition
        self.mini_batch = mini_batch
        self.mini_batch_size = mini_batch_size
        self.state_ttl_ms = state_ttl_ms
        self.zone = zone

    def layout(self) -> Layout:
        """What rows are kept."""
        return {"operator": self.kind, "types": type_texts(self.types)}

    def open(self) -> None:
        """Get the state and make the condition's code."""
        self._last = self.value_state("_last_row", row_state_type(self.types))
        self._meets = None
        if self.condition is not None:
            # As in Flink, CURRENT_WATERMARK is NULL in a condition that was pushed here.
            self._meets = row_function(self, self.condition, self.zone, knows_watermark=False)

    def process_bundle(self, values: list[Any], keys: list[Any]) -> None:
        """Compare each row with the last one of its key."""
        results: list[Row] = []
        if self.mini_batch:
            # Only the last row of a key in a bundle counts; it takes the place of the first.
            latest = dict(zip(map(self._hashable, keys), zip(values, keys, strict=True), strict=True))
            values, keys = [row for row, _ in latest.values()], [key for _, key in latest.values()]
        consumed = iter(values)
        try:
            for _, row in zip(self.backend.walk(keys), consumed, strict=False):
                self._take(row, results)
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)

    def _hashable(self, key: Any) -> Any:
        self.backend.set_key(key)
        return self.backend.hashable_key

    def _take(self, row: Row, results: list[Row]) -> None:
        last = self._last.held()
        if row[0] & 1 or (self._meets is not None and self._meets(row) is not True):
            if last is not None:
                results.append((DELETE, *last))
                self._last.hold(None)
            return
        fields = row[1:]
        if last is None:
            results.append((INSERT, *fields))
        elif self.state_ttl_ms <= 0 and last == fields:
            return
        else:
            if self.generate_update_before:
                results.append((UPDATE_BEFORE, *last))
            results.append((UPDATE_AFTER, *fields))
        self._last.hold(fields)
