"""The event-time temporal join: each left row beside the version that a table had at the time of the row."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from operator import itemgetter
from typing import Any

from penstock.common.typeinfo import TypeInformation, Types
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.expressions import row_function
from penstock.runtime.operators.table.join import JoinKind, JoinSide
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, type_texts
from penstock.runtime.rows import Timestamps
from penstock.state.hashable_keys import PLAIN_TYPES, hashable_of
from penstock.state.timers import EVENT, PROCESSING, Timer
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import ADDS
from penstock.vocabulary.sql.state_types import state_type
from penstock.vocabulary.sql.typed_expressions import TypedExpression

NEVER = 2**63
Version = tuple[int, Row]
"""From when on a row holds, and the row; one that deletes says that there is none from then on."""


class TemporalJoinOperator(KeyedTableOperator):
    """Joins left rows with the newest right row that is not newer, by key; kinds INNER and LEFT.

    Times are the fields `left_time` and `right_time`. Left rows wait for the watermark of both inputs; they leave in
    the order of their times, those of one time in the order in which they came, and keep their kind. A right row of a
    time that is there already replaces it. Versions that no row at or behind the watermark needs are forgotten, and
    so is a delete that the watermark has passed: Flink keeps that one, so that a late version from before it cannot
    come up again. Late rows take part with what is still there, as in Flink.

    Left rows of a batch wait in memory, since most leave within it; what still waits at its end becomes state.
    """

    kind = "temporal join"
    state_identity = "TemporalJoinOperator"

    def __init__(
        self,
        *,
        join: JoinKind,
        left: JoinSide,
        right: JoinSide,
        left_time: int,
        right_time: int,
        condition: TypedExpression | None = None,
        filter_nulls: tuple[bool, ...] = (),
        state_ttl_ms: int = 0,
        zone: str = "UTC",
    ) -> None:
        self.join = join
        self.left = left
        self.right = right
        self.left_time = left_time
        self.right_time = right_time
        self.condition = condition
        self.filter_nulls = filter_nulls
        self.state_ttl_ms = state_ttl_ms
        self.zone = zone

    def waits_for_event_time(self) -> bool:
        """Rows of the left side do."""
        return True

    def layout(self) -> Layout:
        """What rows are kept of each side."""
        return {"operator": self.kind, "left": type_texts(self.left.types), "right": type_texts(self.right.types)}

    def open(self) -> None:
        """Get the state and make the condition's code."""
        waiting = Types.LIST(_row_with_kind(self.left.types))
        # What lives too long is removed for a whole key at a time, so no entry has a time to live of its own.
        self._waiting = self.map_state("_left_rows", Types.LONG(), waiting, ttl_ms=0)
        self._versions = self.map_state("_right_rows", Types.LONG(), _row_with_kind(self.right.types), ttl_ms=0)
        self._timer = self.value_state("_timer", Types.LONG(), ttl_ms=0)
        self._cleanup = self.value_state("_cleanup", Types.LONG(), ttl_ms=0)
        self._meets = None if self.condition is None else row_function(self, self.condition, self.zone)
        self._is_left = self.join is JoinKind.LEFT
        self._nulls = (None,) * len(self.right.types)
        self._fresh: dict[Hashable, _Fresh] = {}
        self._null_places = [
            place + 1 for place, is_filtered in zip(self.left.keys, self.filter_nulls, strict=False) if is_filtered
        ]

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """What waits is in the state."""
        self._fresh = {}

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """What still waits goes to the state."""
        place, waiting = self.left_time + 1, self._waiting
        for fresh in self._fresh.values():
            self.backend.set_key(fresh.key)
            for row in fresh.rows:
                held = waiting.held(row[place]) or []
                held.append(row)
                waiting.hold(row[place], held)
        self._fresh = {}

    # ---- rows ----

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep left rows until their time is reached."""
        assert keys is not None
        place, waiting, expires = self.left_time + 1, self._fresh, self.state_ttl_ms > 0
        hashables = keys if PLAIN_TYPES.issuperset(map(type, keys)) else map(hashable_of, keys)
        timeless: list[Row] = []
        for key, hashable, row in zip(keys, hashables, values, strict=True):
            time = row[place]
            if time is None:  # what an outer join below has filled up: there is no version at no time
                timeless.append(row)
                continue
            fresh = waiting.get(hashable)
            if fresh is None:
                fresh = waiting[hashable] = _Fresh(key)
            fresh.rows.append(row)
            if time < fresh.first or expires:
                self.backend.set_key(key)
                self._keep_alive()
                if time < fresh.first:
                    fresh.first = time
                    self._wake_at(time)
        if timeless and self._is_left:
            self.output.emit([row + self._nulls for row in timeless], None)

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep versions."""
        assert keys is not None
        place = self.right_time + 1
        consumed = iter(values)
        try:
            for _, row in zip(self.backend.walk(keys), consumed, strict=False):
                time = row[place]
                if time is not None:
                    self._versions.hold(time, row)
                    self._wake_at(time)
                    self._keep_alive()
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None

    def _wake_at(self, time: int) -> None:
        """Have a timer at a time or before; a key has one timer."""
        known = self._timer.held()
        if known is None or time < known:
            if known is not None:
                self.timers.delete(EVENT, known)
            self.timers.register(EVENT, time)
            self._timer.hold(time)

    def _keep_alive(self) -> None:
        """Put off the end of a key. As in Flink it lives half as long again, so that not every row moves a timer."""
        if self.state_ttl_ms <= 0:
            return
        now, known = self.context.clock(), self._cleanup.held()
        if known is None or now + self.state_ttl_ms > known:
            if known is not None:
                self.timers.delete(PROCESSING, known)
            end = now + self.state_ttl_ms * 3 // 2
            self.timers.register(PROCESSING, end)
            self._cleanup.hold(end)

    # ---- time ----

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Join the rows whose time is reached; or forget keys that were idle for too long."""
        results: list[Row] = []
        for _, key, _ in due:
            self.backend.set_key(key)
            if domain == EVENT:
                self._join_due(results)
            else:
                self._forget()
        self.output.emit(results, None)

    def _join_due(self, results: list[Row]) -> None:
        watermark = self.watermark
        versions: list[Version] = list(self._versions.held_items())
        place, found, at = self.left_time + 1, None, 0
        due, next_time = self._due_rows(watermark)
        for row in due:
            time = row[place]
            while at < len(versions) and versions[at][0] <= time:
                found, at = versions[at][1], at + 1
            self._join(row, found, results)
        wanted = [each for each in (next_time, self._pruned(versions)) if each is not None]
        self._timer.hold(None)
        if wanted:
            self._wake_at(min(wanted))

    def _due_rows(self, watermark: int) -> tuple[list[Row], int | None]:
        """Take out the left rows up to the watermark, in order; and the time of the next one."""
        due: list[Row] = []
        next_time = None
        for time, rows in self._waiting.held_items():
            if time > watermark:
                next_time = time
                break
            due += rows
            self._waiting.remove(time)
        fresh = self._fresh.pop(self.backend.hashable_key, None)
        place = self.left_time + 1
        if fresh is not None:
            due += [row for row in fresh.rows if row[place] <= watermark]
            fresh.rows = [row for row in fresh.rows if row[place] > watermark]
            if fresh.rows:
                fresh.first = min(row[place] for row in fresh.rows)
                self._fresh[self.backend.hashable_key] = fresh
                next_time = fresh.first if next_time is None else min(next_time, fresh.first)
        due.sort(key=itemgetter(place))  # which keeps the order of arrival of those of one time
        return due, next_time

    def _join(self, row: Row, version: Row | None, results: list[Row]) -> None:
        if version is not None and ADDS[version[0]] and not any(row[place] is None for place in self._null_places):
            pair = row + version[1:]
            if self._meets is None or self._meets(pair) is True:
                results.append(pair)
                return
        if self._is_left:
            results.append(row + self._nulls)

    def _pruned(self, versions: list[Version]) -> int | None:
        """Remove versions that are over; the time at which there is something to remove again, if it is known."""
        reached = [index for index, (time, _) in enumerate(versions) if time <= self.watermark]
        kept = versions
        if reached:
            last = reached[-1]
            # A delete that everybody has seen says the same as no version at all.
            kept = versions[last if ADDS[versions[last][1][0]] else last + 1 :]
            for time, _ in versions[: len(versions) - len(kept)]:
                self._versions.remove(time)
        if not kept:
            return None
        ahead = [time for time, row in kept if time > self.watermark and (time != kept[0][0] or not ADDS[row[0]])]
        return ahead[0] if ahead else None

    def _forget(self) -> None:
        known = self._timer.held()
        if known is not None:
            self.timers.delete(EVENT, known)
        self._timer.hold(None)
        self._cleanup.hold(None)
        self._waiting.clear()
        self._versions.clear()
        self._fresh.pop(self.backend.hashable_key, None)


class _Fresh:
    """Left rows of a key that came in this batch, and the earliest of their times."""

    __slots__ = ("first", "key", "rows")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.rows: list[Row] = []
        self.first = NEVER


def _row_with_kind(types: tuple[LogicalType, ...]) -> TypeInformation[Any]:
    return Types.TUPLE([Types.INT(), *[state_type(each) for each in types]])
