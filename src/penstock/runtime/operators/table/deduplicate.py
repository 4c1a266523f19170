"""The first or last row of each key, by processing time or row time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.bundles import MINI_BATCH_SIZE, BundlingOperator
from penstock.runtime.operators.table.last_row_columns import LastRowColumns
from penstock.runtime.operators.table.operator import ROW_FORM, Row, type_texts
from penstock.runtime.operators.table.refusals import keys_refusal, types_refusal
from penstock.runtime.operators.table.sessions import LATE_RECORDS
from penstock.state.timers import EVENT, Timer
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.refusals import MINI_BATCH, TIME_TO_LIVE, first_refusal
from penstock.vocabulary.sql.row_kinds import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.state_types import row_state_type


class DeduplicateOperator(BundlingOperator):
    """Keeps one row of each key, the input (inserts only) being keyed by the PARTITION BY fields.

    `time_field` is the row time that rows are ordered by; None: processing time, the order of arrival.
    `keep_last`: the last row, otherwise the first, which is final: it leaves at once, or by row time when the
    watermark has passed it. `generate_insert`: the first row of a key is +I, else +U.
    """

    kind = "deduplicate"
    state_identity = "DeduplicateOperator"

    def __init__(
        self,
        *,
        types: tuple[LogicalType, ...],
        keep_last: bool,
        time_field: int | None = None,
        generate_update_before: bool = True,
        generate_insert: bool = True,
        mini_batch: bool = False,
        mini_batch_size: int = MINI_BATCH_SIZE,
        state_ttl_ms: int = 0,
        key_fields: tuple[int, ...] = (),
    ) -> None:
        """Take the settings; `key_fields` are the fields that the input is keyed by, where they are known."""
        self.types = types
        self.keep_last = keep_last
        self.time_field = time_field
        self.generate_update_before = generate_update_before
        self.generate_insert = generate_insert
        self.mini_batch = mini_batch
        self.mini_batch_size = mini_batch_size
        self.state_ttl_ms = state_ttl_ms
        self.key_fields = key_fields

    def refusal(self) -> str | None:
        """Refuse all but the last row by row time, kept for ever."""
        return first_refusal(
            None if self.keep_last else "the first row of each key is kept",
            None if self.time_field is not None else "the order is by processing time",
            MINI_BATCH if self.mini_batch else None,
            TIME_TO_LIVE if self.state_ttl_ms > 0 else None,
            keys_refusal(self.types, self.key_fields, self.column_names),
            types_refusal(self.types, self.column_names),
        )

    def waits_for_event_time(self) -> bool:
        """The first row by time is known when the watermark has reached it."""
        return self.time_field is not None and not self.keep_last

    def layout(self) -> Layout:
        """What is kept of each key."""
        return {
            "operator": self.kind,
            "types": type_texts(self.types),
            "keep_last": self.keep_last,
            "event_time": self.time_field is not None,
        }

    def open(self) -> None:
        """Get the state."""
        self._row = self.value_state("_row", row_state_type(self.types))
        self._is_done = self.value_state("_is_done", Types.BOOLEAN())
        self._late = self.context.metrics.counter(LATE_RECORDS)
        self._columns = None
        if self.refusal() is None:
            assert self.time_field is not None
            self._columns = LastRowColumns(
                self.backend,
                self._row,
                row_state_type(self.types),
                self.time_field,
                with_update_before=self.generate_update_before,
                with_insert=self.generate_insert,
            )

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Work on columns, unless rows have to be looked at one by one."""
        made = None if self._columns is None or not len(block) else self._columns.changes(block.batch, keys)
        if made is None:
            super().process_columns(block, timestamps, keys)
        elif made.num_rows:
            self.output.emit(ColumnBlock(made, ROW_FORM), None)

    def process_bundle(self, values: list[Any], keys: list[Any]) -> None:
        """Compare each row with the one that is kept."""
        if self._columns is not None:
            self._columns.settle()
        if self.mini_batch and self.time_field is None:
            values, keys = self._last_of_each(values, keys) if self.keep_last else (values, keys)
        take = self._take_last
        if not self.keep_last:
            take = self._take_first if self.time_field is None else self._take_earliest
        results: list[Row] = []
        for _, row in zip(self.backend.walk(keys), values, strict=True):
            take(row, results)
        self.output.emit(results, None)

    def _last_of_each(self, values: list[Any], keys: list[Any]) -> tuple[list[Any], list[Any]]:
        latest: dict[Any, tuple[Any, Any]] = {}
        for key, row in zip(keys, values, strict=True):
            self.backend.set_key(key)
            latest[self.backend.hashable_key] = row, key
        return [row for row, _ in latest.values()], [key for _, key in latest.values()]

    def _take_first(self, row: Row, results: list[Row]) -> None:
        if self._is_done.held() is None:
            self._is_done.hold(True)
            results.append((INSERT, *row[1:]))

    def _take_earliest(self, row: Row, results: list[Row]) -> None:
        assert self.time_field is not None
        time = row[self.time_field + 1]
        if self._is_done.held() is not None:
            return
        if time <= self.watermark:
            self._late.inc()
            return
        held = self._row.held()
        if held is not None:
            if held[self.time_field] <= time:
                return
            self.timers.delete(EVENT, held[self.time_field])
        self._row.hold(row[1:])
        self.timers.register(EVENT, time)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Emit first rows that are final."""
        results: list[Row] = []
        for _, key, _ in due:
            self.backend.set_key(key)
            held = self._row.held()
            if held is not None:
                results.append((INSERT, *held))
                self._row.hold(None)
                self._is_done.hold(True)
        self.output.emit(results, None)

    def _take_last(self, row: Row, results: list[Row]) -> None:
        fields = row[1:]
        held = self._row.held()
        if held is not None:
            if self.time_field is not None and held[self.time_field] > fields[self.time_field]:
                return
            if self.time_field is None and self.state_ttl_ms <= 0 and held == fields:
                return
        self._row.hold(fields)
        if held is None and self.generate_insert:
            results.append((INSERT, *fields))
            return
        if held is not None and self.generate_update_before:
            results.append((UPDATE_BEFORE, *held))
        results.append((UPDATE_AFTER, *fields))
