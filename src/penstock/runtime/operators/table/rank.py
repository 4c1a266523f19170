"""Top-N: the first rows of each key in an order, kept up to date. Also ORDER BY with LIMIT, which has one key."""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum
from heapq import nsmallest
from operator import itemgetter
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import Types
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.operator import ROW_FORM, KeyedTableOperator, Row, type_texts
from penstock.runtime.operators.table.ordering import sort_key
from penstock.runtime.operators.table.refusals import keys_refusal
from penstock.runtime.operators.table.top_columns import TopColumns
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.refusals import RETRACTED, TIME_TO_LIVE, column_text, first_refusal
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.state_types import row_state_type

Fields = tuple[Any, ...]


class RankStrategy(Enum):
    """How the input changes, which decides how much has to be kept."""

    APPEND = "AppendFastStrategy"
    UPDATE = "UpdateFastStrategy"
    RETRACT = "RetractStrategy"


class RankOperator(KeyedTableOperator):
    """Keeps rows number `start` to `end` (from 1, both included) of each key in the order of `sort_fields`.

    The input is keyed by the PARTITION BY fields. `end_field` is a BIGINT field with the last number instead of `end`.
    `emits_rank` appends the row number. UPDATE needs `unique_key`, the fields by which the input updates, and an order
    that only ever improves.
    """

    kind = "rank"
    state_identity = "RankOperator"

    def __init__(
        self,
        *,
        types: tuple[LogicalType, ...],
        sort_fields: tuple[SortField, ...],
        strategy: RankStrategy,
        start: int = 1,
        end: int | None = None,
        end_field: int | None = None,
        emits_rank: bool = False,
        generate_update_before: bool = True,
        unique_key: tuple[int, ...] = (),
        state_ttl_ms: int = 0,
        key_fields: tuple[int, ...] = (),
    ) -> None:
        """Take the settings; `key_fields` are the fields that the input is keyed by, where they are known."""
        self.types = types
        self.sort_fields = sort_fields
        self.strategy = strategy
        self.start = start
        self.end = end
        self.end_field = end_field
        self.emits_rank = emits_rank
        self.generate_update_before = generate_update_before
        self.unique_key = unique_key
        self.state_ttl_ms = state_ttl_ms
        self.key_fields = key_fields

    def refusal(self) -> str | None:
        """Refuse all but a fixed number of first rows, kept for ever, of rows that are only added."""
        return first_refusal(
            None if self.strategy is RankStrategy.APPEND else RETRACTED,
            "rows are unique by a key" if self.unique_key else None,
            TIME_TO_LIVE if self.state_ttl_ms > 0 else None,
            None if self.end_field is None else f"{column_text(self.end_field, self.column_names)} says how many rows",
            "no number of rows is given" if self.end is None or self.end < 1 else None,
            keys_refusal(self.types, self.key_fields, self.column_names),
            TopColumns.refusal(self.types, self.sort_fields, self.column_names),
        )

    def layout(self) -> Layout:
        """What rows are kept."""
        return {
            "operator": self.kind,
            "types": type_texts(self.types),
            "order": [f"{field.index} {field.descending} {field.puts_nulls_last}" for field in self.sort_fields],
            "strategy": self.strategy.value,
            "end": -1 if self.end is None else self.end,
        }

    def open(self) -> None:
        """Get the state."""
        self._sort_key = sort_key(self.sort_fields)
        row = row_state_type(self.types)
        self._tops = self.value_state("_top_rows", FrozenListTypeInfo(row))
        is_retracting = self.strategy is RankStrategy.RETRACT
        self._arrivals = (
            self.map_state("_arrivals_by_row", row, FrozenListTypeInfo(Types.LONG())) if is_retracting else None
        )
        self._next = self.value_state("_next_number", Types.LONG()) if is_retracting else None
        self._unique = itemgetter(*self.unique_key) if self.unique_key else None
        self._columns = self._top_columns()

    def _top_columns(self) -> TopColumns | None:
        """The first rows in columns, where they can be."""
        if self.refusal() is not None:
            return None
        assert self.end is not None
        return TopColumns(
            self.backend,
            self._tops,
            self.types,
            self.sort_fields,
            start=self.start,
            end=self.end,
            emits_rank=self.emits_rank,
            with_update_before=self.generate_update_before,
        )

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Work on columns, unless rows have to be looked at one by one."""
        made = None if self._columns is None or not len(block) else self._columns.changes(block.batch, keys)
        if made is None:
            super().process_columns(block, timestamps, keys)
        elif made.num_rows:
            self.output.emit(ColumnBlock(made, ROW_FORM), None)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Bring the first rows of each key up to date."""
        assert keys is not None
        if self._columns is not None:
            self._columns.settle()
        results: list[Row] = []
        consumed = iter(values)
        try:
            for _, row in zip(self.backend.walk(keys), consumed, strict=False):
                self._take(row, results)
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)

    def _take(self, row: Row, results: list[Row]) -> None:
        end = self.end if self.end_field is None else row[self.end_field + 1]
        assert end is not None
        before: tuple[Fields, ...] = self._tops.held() or ()
        after = self._retracting(row, end) if self._arrivals is not None else self._improved(row[1:], before, end)
        if after is before or after == before:
            return
        self._tops.hold(after or None)
        is_top_1 = self.start == end == 1 and self._arrivals is None
        if self.emits_rank or self.start > 1 or is_top_1:
            self._emit_by_rank(before, after, end, results)
        else:
            self._emit_rows(before, after, results)

    def _improved(self, fields: Fields, before: tuple[Fields, ...], end: int) -> tuple[Fields, ...]:
        """The first rows with one more, where the input only inserts or improves."""
        unique, key = self._unique, self._sort_key(fields)
        if unique is None and len(before) >= end and not key < self._sort_key(before[-1]):
            return before  # as most rows: they are behind the last one
        kept = list(before) if unique is None else [held for held in before if unique(held) != unique(fields)]
        at = bisect_right(kept, key, key=self._sort_key)
        return (*kept[:at], fields, *kept[at:])[:end] if at < end else before

    def _retracting(self, row: Row, end: int) -> tuple[Fields, ...]:
        """The first rows of all that are there, with the row added or taken back."""
        arrivals, fields = self._arrivals, row[1:]
        assert arrivals is not None and self._next is not None
        numbers = arrivals.held(fields) or ()
        if row[0] & 1:
            arrivals.hold(fields, numbers[1:]) if len(numbers) > 1 else arrivals.remove(fields)
        else:
            number = self._next.held() or 0
            self._next.hold(number + 1)
            arrivals.hold(fields, (*numbers, number))
        key = self._sort_key
        found = ((key(held), number, held) for held, places in arrivals.held_items() for number in places)
        return tuple([held for _, _, held in nsmallest(end, found)])

    def _emit_by_rank(
        self, before: tuple[Fields, ...], after: tuple[Fields, ...], end: int, results: list[Row]
    ) -> None:
        """What has changed at each rank."""
        for rank in range(self.start, max(len(before), len(after)) + 1):
            number = (rank,) if self.emits_rank else ()
            was = before[rank - 1] if rank <= len(before) else None
            now = after[rank - 1] if rank <= len(after) else None
            if was == now:
                continue
            if was is None and now is not None:
                results.append((INSERT, *now, *number))
            elif was is not None and now is None:
                results.append((DELETE, *was, *number))
            elif was is not None and now is not None:
                if self.generate_update_before:
                    results.append((UPDATE_BEFORE, *was, *number))
                results.append((UPDATE_AFTER, *now, *number))

    def _emit_rows(self, before: tuple[Fields, ...], after: tuple[Fields, ...], results: list[Row]) -> None:
        """Which rows have left and which are new; a row that updates another one by its unique key is an update."""
        gone, new = _without(before, after), _without(after, before)
        unique = self._unique
        if unique is not None:
            updated = {unique(fields): fields for fields in new}
            for fields in [each for each in gone if unique(each) in updated]:
                now = updated[unique(fields)]
                gone.remove(fields)
                new.remove(now)
                if self.generate_update_before:
                    results.append((UPDATE_BEFORE, *fields))
                results.append((UPDATE_AFTER, *now))
        results += [(DELETE, *fields) for fields in gone]
        results += [(INSERT, *fields) for fields in new]


def _without(rows: tuple[Fields, ...], others: tuple[Fields, ...]) -> list[Fields]:
    """Rows that others do not have as often."""
    left = list(others)
    found = []
    for fields in rows:
        if fields in left:
            left.remove(fields)
        else:
            found.append(fields)
    return found
