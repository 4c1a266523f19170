"""Joins of rows whose times are near: results are final."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.constants import MAX_WATERMARK
from penstock.common.typeinfo import Types
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.layouts import Layout, difference
from penstock.runtime.operators.table.expressions import block_function, column_function, row_function
from penstock.runtime.operators.table.interval_columns import ColumnIntervalJoin, NearRows, NearSide
from penstock.runtime.operators.table.join import (
    WITHOUT_KEY,
    JoinKind,
    JoinSide,
    condition_part,
    join_refusal,
    sides_refusal,
)
from penstock.runtime.operators.table.join_state import LEFT, RIGHT
from penstock.runtime.operators.table.operator import ROW_FORM, KeyedTableOperator, Row, type_texts
from penstock.runtime.rows import Timestamps
from penstock.state.map_state import KeyedMapState
from penstock.state.timers import EVENT, PROCESSING, Timer
from penstock.vocabulary.sql.refusals import first_refusal
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import TypedExpression

_MOST_WAITING = 500_000
"""Rows of columns that are joined together."""


class TableIntervalJoinOperator(KeyedTableOperator):
    """Joins two keyed inputs on `lower_ms <= left time - right time <= upper_ms`.

    Times are fields `left_time` and `right_time`; None: processing time. Joins of kind INNER, LEFT, RIGHT and FULL.
    Rows that stay without a partner leave, with NULLs, when none can come any more.
    """

    kind = "table interval join"
    state_identity = "TableIntervalJoinOperator"

    def __init__(
        self,
        *,
        join: JoinKind,
        left: JoinSide,
        right: JoinSide,
        left_time: int | None,
        right_time: int | None,
        lower_ms: int,
        upper_ms: int,
        condition: TypedExpression | None = None,
        filter_nulls: tuple[bool, ...] = (),
    ) -> None:
        self.join = join
        self.left = left
        self.right = right
        self.left_time = left_time
        self.right_time = right_time
        self.lower_ms = lower_ms
        self.upper_ms = upper_ms
        self.condition = condition
        self.filter_nulls = filter_nulls

    def waits_for_event_time(self) -> bool:
        """Rows of event time are kept until the watermark has passed them."""
        return self.left_time is not None

    def layout(self) -> Layout:
        """Return which rows are kept of each side, and for how long.

        It follows from the query, never from whether its rows can be columns.
        """
        return {
            "operator": self.kind,
            **({"together": True} if self._keeps_near_rows else {}),
            "join": self.join.value,
            "left": type_texts(self.left.types),
            "right": type_texts(self.right.types),
            "lower": self.lower_ms,
            "upper": self.upper_ms,
        }

    def layout_refusal(self, written: Layout) -> str | None:
        """Rows of an inner join that were kept by time are brought over."""
        now = self.layout()
        if written == now or (self._keeps_near_rows and {**written, "together": True} == now):
            return None
        return difference(written, now)

    def adopt_layout(self, written: Layout | None) -> None:
        """Bring rows that were kept by time into one value for each key."""
        if written is None or "together" in written:
            return
        near = NearRows(self, self._near_sides())
        before = [self._rows_by_time(name, side) for name, side in (("left", self.left), ("right", self.right))]
        for due, key, namespace in self.timers.every(EVENT):
            self.backend.set_key(key)
            self.timers.delete(EVENT, due, namespace)
        for key in list(self.backend.keys_of_states([side.name for side in before])):
            self.backend.set_key(key)
            left, right = [tuple([row for _, rows in side.held_items() for row, _ in rows]) for side in before]
            for side in before:
                side.clear()
            near.state.hold((left, right))
            self.timers.register(EVENT, near.end((left, right)))
        self.backend.write()

    @property
    def _keeps_near_rows(self) -> bool:
        """Whether all rows of a key are kept in one value: no row waits for the time at which it has no partner."""
        return self.join is JoinKind.INNER and self.left_time is not None and self.right_time is not None

    def refusal(self) -> str | None:
        """Refuse all but inner joins in event time, with types that can be columns."""
        return first_refusal(
            join_refusal(self.join),
            None if self._keeps_near_rows else "the join is by processing time",
            None if self.left.keys else WITHOUT_KEY,
            sides_refusal(self.left, self.right, self.column_names),
        )

    def row_part(self) -> str | None:
        """Report a condition that has no column form."""
        return condition_part(self.condition, self.column_names)

    def makes_columns(self) -> bool:
        """Return whether rows wait as columns too."""
        return self.refusal() is None

    def emits_columns(self) -> bool:
        """Return whether no condition looks at pairs row by row: those would leave as rows."""
        return self.refusal() is None and self.row_part() is None

    def _near_sides(self) -> tuple[NearSide, NearSide]:
        assert self.left_time is not None and self.right_time is not None
        left = NearSide(self.left.types, self.left.keys, self.left_time, -self.upper_ms, -self.lower_ms)
        right = NearSide(self.right.types, self.right.keys, self.right_time, self.lower_ms, self.upper_ms)
        return left, right

    def _rows_by_time(self, name: str, side: JoinSide) -> KeyedMapState:
        kept = Types.TUPLE([row_state_type(side.types), Types.BOOLEAN()])
        return self.map_state(f"_{name}_rows", Types.LONG(), FrozenListTypeInfo(kept))

    def open(self) -> None:
        """Get the state and make the condition's code."""
        is_event_time = self.left_time is not None
        self._domain = EVENT if is_event_time else PROCESSING
        # A row waits that long for a partner; the result has its time, and must not be late for a window above.
        self._delay = max(-self.lower_ms, self.upper_ms, 0) if is_event_time else 0
        self._columns: ColumnIntervalJoin | None = None
        self._pending_watermark: int | None = None
        self._near: NearRows | None = None
        self._meets = None
        if self._keeps_near_rows:
            self._open_near_rows()
            return
        join, lower, upper = self.join, self.lower_ms, self.upper_ms
        left_rows, right_rows = self._rows_by_time("left", self.left), self._rows_by_time("right", self.right)
        self._left = _Side(left_rows, self.left, self.left_time, is_left=True, first=-upper, last=-lower)
        self._right = _Side(right_rows, self.right, self.right_time, is_left=False, first=lower, last=upper)
        self._left.is_outer = join in (JoinKind.LEFT, JoinKind.FULL)
        self._right.is_outer = join in (JoinKind.RIGHT, JoinKind.FULL)
        self._left.other_nulls, self._right.other_nulls = (
            (None,) * len(self.right.types),
            (None,) * len(self.left.types),
        )
        self._sides = {b"left": self._left, b"right": self._right}
        self._meets = None if self.condition is None else row_function(self, self.condition)

    def _open_near_rows(self) -> None:
        sides = self._near_sides()
        if self.refusal() is None:
            self.counts_row_blocks = False
            self._columns = ColumnIntervalJoin(self, sides, self.filter_nulls)
            self._test_columns = None if self.condition is None else column_function(self.condition, None)
            self._test_rows = block_function(self, self.condition, None)
        else:
            self._near = NearRows(self, sides)
            self._meets = None if self.condition is None else row_function(self, self.condition)

    def on_watermark(self, watermark: int) -> None:
        """Fire what is due; results have times of rows that have waited, so watermarks are held back as long."""
        self.watermark = watermark
        if self._columns is not None and self._columns.count:
            self._pending_watermark = watermark
            return
        self._fire(EVENT, watermark)
        behind = watermark if watermark == MAX_WATERMARK else watermark - self._delay
        self.output.emit_watermark(behind)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Join left rows."""
        if self._columns is not None:
            self._columns.add(LEFT, values, self.watermark)
            self._join_many(self._columns)
            return
        if self._near is not None:
            self._take_near(self._near, LEFT, values, keys)
            return
        self._take(self._left, self._right, values, keys)

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Join right rows."""
        if self._columns is not None:
            self._columns.add(RIGHT, values, self.watermark)
            self._join_many(self._columns)
            return
        if self._near is not None:
            self._take_near(self._near, RIGHT, values, keys)
            return
        self._take(self._right, self._left, values, keys)

    # ---- columns ----

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Let columns of left rows wait."""
        if self._columns is None:
            super().process_columns(block, timestamps, keys)
        else:
            self._columns.add_columns(LEFT, block.batch.columns[1:], self.watermark)
            self._join_many(self._columns)

    def process_second_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Let columns of right rows wait."""
        if self._columns is None:
            super().process_second_columns(block, timestamps, keys)
        else:
            self._columns.add_columns(RIGHT, block.batch.columns[1:], self.watermark)
            self._join_many(self._columns)

    def _join_many(self, columns: ColumnIntervalJoin) -> None:
        if columns.count >= _MOST_WAITING:
            self._join_columns()

    def _join_columns(self) -> None:
        """Emit the pairs of the rows that wait; then the watermark goes on that came behind them."""
        if self._columns is None:
            return
        for batch in self._columns.joined(self.watermark):
            self._emit_pairs(ColumnBlock(batch, ROW_FORM))
        watermark, self._pending_watermark = self._pending_watermark, None
        if watermark is not None:
            self.on_watermark(watermark)

    def _emit_pairs(self, pairs: ColumnBlock) -> None:
        if self.condition is None or self._test_columns is not None:
            self.output.emit(pairs if self._test_columns is None else self._test_columns(pairs), None)
            return
        try:
            self.output.emit(self._test_rows(pairs.values()), None)
        except Exception as error:
            raise self.failure(error, "evaluating the condition of the join") from None

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Nothing is left of a batch that failed."""
        if self._columns is not None:
            self._columns.begin_batch()
            self._pending_watermark = None

    def on_status(self, is_idle: bool) -> None:
        """Emit what came before."""
        self._join_columns()
        super().on_status(is_idle)

    def on_end(self) -> None:
        """Emit what came before."""
        self._join_columns()
        super().on_end()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Emit what waits: state and output belong to the batch."""
        self._join_columns()

    # ---- rows ----

    def _take_near(self, near: NearRows, side: int, values: list[Any], keys: list[Any] | None) -> None:
        """Join rows one by one, with the state that joins in columns have; a row without time or key has no partner."""
        assert keys is not None
        results: list[Row] = []
        consumed, meets, own = iter(values), self._meets, self._near_sides()[side]
        needed = [own.time, *[at for at, is_filtered in zip(own.keys, self.filter_nulls, strict=False) if is_filtered]]
        try:
            for _, row in zip(self.backend.walk(keys), consumed, strict=False):
                fields = row[1:]
                if any(fields[at] is None for at in needed):
                    continue
                partners = near.partners(side, fields[own.time], self.watermark)
                near.keep(side, fields, self.watermark)
                pairs = [(INSERT, *fields, *each) if side == LEFT else (INSERT, *each, *fields) for each in partners]
                results += pairs if meets is None else [pair for pair in pairs if meets(pair) is True]
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)

    def _take(self, own: _Side, other: _Side, values: list[Any], keys: list[Any] | None) -> None:
        assert keys is not None
        results: list[Row] = []
        consumed, now = iter(values), self.context.clock() if self._domain == PROCESSING else 0
        try:
            for _, row in zip(self.backend.walk(keys), consumed, strict=False):
                time = now if own.place is None else row[own.place]
                if time is not None:
                    self._take_one(own, other, row[1:], time, results)
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)

    def _take_one(self, own: _Side, other: _Side, fields: Row, time: int, results: list[Row]) -> None:
        has_partner = False
        if not own.has_null_key(fields, self.filter_nulls):
            has_partner = self._join(own, other, fields, time, results)
        reached = self.watermark if self._domain == EVENT else self.context.clock()
        if reached <= time + own.last:
            held = own.rows.held(time)
            if held is None:
                self.timers.register(self._domain, time + own.last + 1, b"%s,%d" % (own.name, time))
            own.rows.hold(time, (*(held or ()), (fields, has_partner)))
        elif own.is_outer and not has_partner:
            results.append(own.padded(fields))

    def _join(self, own: _Side, other: _Side, fields: Row, time: int, results: list[Row]) -> bool:
        """Emit the pairs of a row; whether there are any."""
        first, last, found = time + own.first, time + own.last, False
        for other_time, held in other.rows.held_items():
            if other_time < first:
                continue
            if other_time > last:
                break
            marked = []
            for partner, had_partner in held:
                pair = (INSERT, *fields, *partner) if own.is_left else (INSERT, *partner, *fields)
                is_pair = self._meets is None or self._meets(pair) is True
                if is_pair:
                    results.append(pair)
                    found = True
                marked.append((partner, had_partner or is_pair))
            if other.is_outer and tuple(marked) != held:
                other.rows.hold(other_time, tuple(marked))
        return found

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Forget rows that can have no partner any more."""
        near = self._near if self._columns is None else self._columns
        if near is not None:
            for _, key, _ in due:
                near.forget(key, self.watermark)
            return
        results: list[Row] = []
        for _, key, namespace in due:
            self.backend.set_key(key)
            name, time = namespace.split(b",")
            side = self._sides[name]
            held = side.rows.held(int(time)) or ()
            side.rows.remove(int(time))
            if side.is_outer:
                results += [side.padded(fields) for fields, has_partner in held if not has_partner]
        self.output.emit(results, None)


class _Side:
    """One input: its rows by time, with whether they had a partner; `first` and `last` bound their partners' times."""

    def __init__(
        self,
        rows: KeyedMapState,
        side: JoinSide,
        time_field: int | None,
        *,
        is_left: bool,
        first: int,
        last: int,
    ) -> None:
        self.name = b"left" if is_left else b"right"
        self.rows = rows
        self.place = None if time_field is None else time_field + 1
        self.keys = side.keys
        self.is_left = is_left
        self.is_outer = False
        self.first = first
        self.last = last
        self.other_nulls: tuple[None, ...] = ()

    def has_null_key(self, fields: Row, filter_nulls: tuple[bool, ...]) -> bool:
        """Whether the key has a NULL that equals nothing."""
        return any(is_filtered and fields[at] is None for at, is_filtered in zip(self.keys, filter_nulls, strict=False))

    def padded(self, fields: Row) -> Row:
        """A row of this side with NULLs for the other one."""
        return (INSERT, *fields, *self.other_nulls) if self.is_left else (INSERT, *self.other_nulls, *fields)
