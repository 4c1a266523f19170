"""Top-N and deduplication within windows: results are final, and leave when the window is over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import TypeInformation, Types
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, type_texts
from penstock.runtime.operators.table.ordering import sort_key
from penstock.runtime.operators.table.sessions import LATE_RECORDS
from penstock.runtime.operators.table.window_clock import WindowClock
from penstock.runtime.rows import Timestamps
from penstock.state.timers import EVENT, Timer
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type

Fields = tuple[Any, ...]


class PerWindowOperator(KeyedTableOperator, ABC):
    """Keeps something for each key and window, until the window is over."""

    types: tuple[LogicalType, ...]
    window_end: int
    zone: str | None

    def open(self) -> None:
        """Get the state."""
        self._clock = WindowClock(self.zone)
        self._windows = self.map_state("_windows", Types.LONG(), self.content_type())
        self._late = self.context.metrics.counter(LATE_RECORDS)

    def waits_for_event_time(self) -> bool:
        """Windows of tables are of event time."""
        return True

    @abstractmethod
    def content_type(self) -> TypeInformation:
        """Return the type of what is kept of a window."""

    @abstractmethod
    def with_row(self, content: Any, fields: Fields) -> Any:
        """Return what is kept of a window after one more row; None in the beginning."""

    @abstractmethod
    def results(self, content: Any) -> list[Row]:
        """Return what is emitted of a window."""

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Put rows into their windows."""
        assert keys is not None
        for _, row in zip(self.backend.walk(keys), values, strict=True):
            end = row[self.window_end + 1]
            if end is None or self._clock.due_at(end) <= self.watermark:
                self._late.inc()
                continue
            held = self._windows.held(end)
            if held is None:
                self.timers.register(EVENT, self._clock.due_at(end), b"%d" % end)
            made = self.with_row(held, row[1:])
            if made is not held:
                self._windows.hold(end, made)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Emit windows that are over."""
        found: list[Row] = []
        for _, key, namespace in due:
            self.backend.set_key(key)
            end = int(namespace)
            held = self._windows.held(end)
            if held is not None:
                self._windows.remove(end)
                found += self.results(held)
        self.output.emit(found, None)


class WindowRankOperator(PerWindowOperator):
    """Rows `start` to `end` (from 1) of each key and window, in the order of `sort_fields`.

    The input is keyed by the PARTITION BY fields without the window's; `window_end` is the field of the window's end,
    in the local time of `zone` (None: UTC). Late rows are dropped, and counted.
    """

    kind = "window rank"
    state_identity = "WindowRankOperator"

    def __init__(
        self,
        *,
        types: tuple[LogicalType, ...],
        sort_fields: tuple[SortField, ...],
        window_end: int,
        start: int = 1,
        end: int = 1,
        emits_rank: bool = False,
        zone: str | None = None,
    ) -> None:
        self.types = types
        self.sort_fields = sort_fields
        self.window_end = window_end
        self.start = start
        self.end = end
        self.emits_rank = emits_rank
        self.zone = zone

    def layout(self) -> Layout:
        """What rows are kept."""
        return {
            "operator": self.kind,
            "types": type_texts(self.types),
            "order": [f"{field.index} {field.descending} {field.puts_nulls_last}" for field in self.sort_fields],
            "end": self.end,
        }

    def open(self) -> None:
        """Get the state."""
        super().open()
        self._sort_key = sort_key(self.sort_fields)

    def content_type(self) -> TypeInformation:
        """The first rows in order."""
        return FrozenListTypeInfo(row_state_type(self.types))

    def with_row(self, content: Any, fields: Fields) -> Any:
        """The first rows with another one."""
        held = content or ()
        at = bisect_right(held, self._sort_key(fields), key=self._sort_key)
        return content if at >= self.end else (*held[:at], fields, *held[at:])[: self.end]

    def results(self, content: Any) -> list[Row]:
        """The rows of the range."""
        numbered = list(enumerate(content, start=1))[self.start - 1 :]
        return [(INSERT, *fields, rank) if self.emits_rank else (INSERT, *fields) for rank, fields in numbered]


class WindowDeduplicateOperator(PerWindowOperator):
    """The first or last row (by row time `time_field`) of each key and window; keyed as for WindowRankOperator."""

    kind = "window deduplicate"
    state_identity = "WindowDeduplicateOperator"

    def __init__(
        self,
        *,
        types: tuple[LogicalType, ...],
        keep_last: bool,
        time_field: int,
        window_end: int,
        zone: str | None = None,
    ) -> None:
        self.types = types
        self.keep_last = keep_last
        self.time_field = time_field
        self.window_end = window_end
        self.zone = zone

    def layout(self) -> Layout:
        """What row is kept."""
        return {"operator": self.kind, "types": type_texts(self.types), "keep_last": self.keep_last}

    def content_type(self) -> TypeInformation:
        """A row."""
        return row_state_type(self.types)

    def with_row(self, content: Any, fields: Fields) -> Any:
        """The earlier or later row."""
        if content is None:
            return fields
        held, time = content[self.time_field], fields[self.time_field]
        return fields if (time >= held if self.keep_last else time < held) else content

    def results(self, content: Any) -> list[Row]:
        """The row."""
        return [(INSERT, *content)]
