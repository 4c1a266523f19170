"""OVER: aggregates of the rows before each row."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.operator import KeyedTableOperator, described_calls, type_texts
from penstock.runtime.operators.table.over_fields import OverFields
from penstock.runtime.operators.table.over_time import OverTime
from penstock.runtime.rows import Timestamps
from penstock.state.timers import Timer
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import AggregateCall


class OverOrder(Enum):
    """What the rows of an OVER are ordered by."""

    ROWTIME = "ROWTIME"
    PROCTIME = "PROCTIME"
    FIELDS = "FIELDS"


class OverAggregateOperator(KeyedTableOperator):
    """Emits each row with the results of `aggregates` over the rows up to it of the same key.

    The input is keyed by the PARTITION BY fields. `is_rows`: ROWS, otherwise RANGE. `preceding` is how many rows, or
    milliseconds, before the present row take part; None: all (UNBOUNDED PRECEDING). `order` says what by:
    the row time (field `time_field`), processing time, or other `sort_fields` (then UNBOUNDED only; the input may
    update, and rows are emitted anew when their results change).
    """

    kind = "over aggregate"
    state_identity = "OverAggregateOperator"

    def __init__(
        self,
        *,
        aggregates: tuple[AggregateCall, ...],
        input_types: tuple[LogicalType, ...],
        order: OverOrder,
        time_field: int | None = None,
        sort_fields: tuple[SortField, ...] = (),
        is_rows: bool = False,
        preceding: int | None = None,
        generate_update_before: bool = True,
        state_ttl_ms: int = 0,
    ) -> None:
        self.aggregates = aggregates
        self.input_types = input_types
        self.order = order
        self.time_field = time_field
        self.sort_fields = sort_fields
        self.is_rows = is_rows
        self.preceding = preceding
        self.generate_update_before = generate_update_before
        self.state_ttl_ms = state_ttl_ms

    def layout(self) -> Layout:
        """What rows are kept, in which order, and what the accumulators hold."""
        return {
            "operator": self.kind,
            "types": type_texts(self.input_types),
            "aggregates": described_calls(self.aggregates),
            "order": self.order.value,
            "rows": self.is_rows,
            "preceding": -1 if self.preceding is None else self.preceding,
        }

    def open(self) -> None:
        """Get the state and make the code."""
        is_by_fields = self.order is OverOrder.FIELDS
        self._part: OverFields | OverTime = OverFields(self) if is_by_fields else OverTime(self)

    @property
    def is_event_time(self) -> bool:
        """Whether rows wait for the watermark."""
        return self.order is OverOrder.ROWTIME

    def waits_for_event_time(self) -> bool:
        """Rows of event time do."""
        return self.is_event_time

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Take a block."""
        assert keys is not None
        self.output.emit(self._part.take(values, keys), None)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Emit rows whose time has come, and forget those that are no longer needed."""
        assert isinstance(self._part, OverTime)
        self.output.emit(self._part.fire(due), None)
