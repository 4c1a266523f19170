"""The regular join: two updating tables by key, whatever the time of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.layouts import Layout, difference
from penstock.runtime.operators.table.expressions import (
    block_function,
    column_function,
    column_refusal,
    row_function,
)
from penstock.runtime.operators.table.join_columns import ColumnJoin
from penstock.runtime.operators.table.join_sides import Fields, SideRows, side_rows
from penstock.runtime.operators.table.join_state import LEFT, RIGHT, RowsTogether
from penstock.runtime.operators.table.operator import ROW_FORM, KeyedTableOperator, Row, type_texts
from penstock.runtime.operators.table.refusals import keys_refusal, types_refusal
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.refusals import RETRACTED, TIME_TO_LIVE, Names, first_refusal
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import TypedExpression

_MOST_WAITING = 500_000
"""Rows of columns that are joined together."""


class JoinKind(Enum):
    """The kinds of join."""

    INNER = "InnerJoin"
    LEFT = "LeftOuterJoin"
    RIGHT = "RightOuterJoin"
    FULL = "FullOuterJoin"
    SEMI = "LeftSemiJoin"
    ANTI = "LeftAntiJoin"


@dataclass(frozen=True)
class JoinSide:
    """One input of a join.

    `types` are those of its fields, `keys` the fields it is joined by, which it is keyed by in this order. `unique_key`
    are the fields of a unique (or upsert) key of its rows, None if there is none, in which case equal rows are
    counted. Where the unique key is among the join keys there is one row for each key. `state_ttl_ms` is how long
    its idle rows are kept. `is_insert_only`: no row is ever taken back.
    """

    types: tuple[LogicalType, ...]
    keys: tuple[int, ...]
    unique_key: tuple[int, ...] | None = None
    state_ttl_ms: int = 0
    is_insert_only: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether rows are only added, and nothing is known of them."""
        return self.plain_refusal() is None

    def refusal(self, names: Names = ()) -> str | None:
        """Return why its rows cannot be columns that are looked up by the key, whatever the join."""
        return first_refusal(keys_refusal(self.types, self.keys, names), types_refusal(self.types, names))

    def plain_refusal(self) -> str | None:
        """Return why it is not plain."""
        if not self.is_insert_only:
            return RETRACTED
        if self.state_ttl_ms:
            return TIME_TO_LIVE
        return None if self.unique_key is None else "the rows of an input are unique by a key"


WITHOUT_KEY = "the join has no equality between columns of both inputs"


def join_refusal(join: JoinKind) -> str | None:
    """Return why a join of this kind has no column form."""
    return None if join is JoinKind.INNER else f"only inner joins have a column form, and this is {_NAMES[join]}"


def sides_refusal(left: JoinSide, right: JoinSide, names: Names) -> str | None:
    """Return why rows of a side cannot be columns; `names` are those of the left columns, then of the right ones."""
    width = len(left.types)
    return first_refusal(left.refusal(names[:width]), right.refusal(names[width:]))


def condition_part(condition: TypedExpression | None, names: Names) -> str | None:
    """Return what `row_part` says of a condition over the fields of both sides."""
    reason = None if condition is None else column_refusal(condition, None, names)
    return None if reason is None else f"its condition on rows: {reason}"


_NAMES = {
    JoinKind.LEFT: "a LEFT OUTER JOIN",
    JoinKind.RIGHT: "a RIGHT OUTER JOIN",
    JoinKind.FULL: "a FULL OUTER JOIN",
    JoinKind.SEMI: "a semi join (IN or EXISTS)",
    JoinKind.ANTI: "an anti join (NOT IN or NOT EXISTS)",
}


class RegularJoinOperator(KeyedTableOperator):
    """Joins two keyed inputs; emits the fields of both, of SEMI and ANTI joins those of the left one.

    `condition` is over the fields of both rows, on top of equal keys. `filter_nulls` says for each key whether
    NULL equals nothing, as `=` has it (False: IS NOT DISTINCT FROM).
    """

    kind = "regular join"
    state_identity = "RegularJoinOperator"

    def __init__(
        self,
        *,
        join: JoinKind,
        left: JoinSide,
        right: JoinSide,
        condition: TypedExpression | None = None,
        filter_nulls: tuple[bool, ...] = (),
        zone: str = "UTC",
    ) -> None:
        self.join = join
        self.left = left
        self.right = right
        self.condition = condition
        self.filter_nulls = filter_nulls
        self.zone = zone

    def layout(self) -> Layout:
        """Return which rows are kept of each side, and whether their partners are counted.

        It follows from the query, never from whether its rows can be columns.
        """
        if self._keeps_together:
            return {"operator": self.kind, "together": [_side_layout(self.left), _side_layout(self.right)]}
        return {
            "operator": self.kind,
            "join": self.join.value,
            "left": _side_layout(self.left),
            "right": _side_layout(self.right),
        }

    def layout_refusal(self, written: Layout) -> str | None:
        """Rows that are kept in another way are brought over; they must be rows of the same join."""
        now = self.layout()
        if written == now:
            return None
        is_same = written.get("operator") == self.kind and _meaning(written) == _meaning(now)
        return None if is_same and not _has_other_keys(written, now) else difference(written, now)

    def adopt_layout(self, written: Layout | None) -> None:
        """Bring rows that are kept in another way into the present one."""
        if written is None:
            return
        before, now = self._side_rows(written), self._side_rows(self.layout())
        names = [name for side in before for name in side.state_names]
        for key in list(self.backend.keys_of_states(names)):
            self.backend.set_key(key)
            held = [side.rows() for side in before]
            for side in before:
                side.clear()
            for side, rows in zip(now, held, strict=True):
                for fields, partners in rows:
                    side.add(fields, partners)
        self.backend.write()

    def _side_rows(self, layout: Layout) -> tuple[SideRows, SideRows]:
        """The rows of both sides as a layout keeps them."""
        if "together" in layout:
            left, right = row_state_type(self.left.types), row_state_type(self.right.types)
            return RowsTogether(self, left, right, LEFT), RowsTogether(self, left, right, RIGHT)
        made = []
        for name, side in (("left", self.left), ("right", self.right)):
            unique = layout[name]["unique_key"]
            ttl_ms = side.state_ttl_ms or self.state_ttl_ms
            made.append(side_rows(self, name, side.types, side.keys, None if unique is None else tuple(unique), ttl_ms))
        return made[LEFT], made[RIGHT]

    @property
    def _keeps_together(self) -> bool:
        is_inner = self.join is JoinKind.INNER and self.state_ttl_ms == 0
        return is_inner and self.left.is_plain and self.right.is_plain

    def refusal(self) -> str | None:
        """Refuse all but inner joins of rows that are only added, with types that can be columns."""
        return first_refusal(
            join_refusal(self.join),
            self.left.plain_refusal(),
            self.right.plain_refusal(),
            None if self._keeps_together else TIME_TO_LIVE,
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

    def open(self) -> None:
        """Get the state of both sides and make the condition's code."""
        self._columns: ColumnJoin | None = None
        if self.refusal() is None:
            self.counts_row_blocks = False
            types, keys = (self.left.types, self.right.types), (self.left.keys, self.right.keys)
            self._columns = ColumnJoin(self, types, keys, self.filter_nulls)
            self._test_columns = None if self.condition is None else column_function(self.condition, None)
            self._test_rows = block_function(self, self.condition, None, self.zone)
            self._pending_watermark: int | None = None
            return
        meets = None if self.condition is None else row_function(self, self.condition, self.zone)
        join, (left_rows, right_rows) = self.join, self._side_rows(self.layout())
        left = _Side(left_rows, is_outer=join in (JoinKind.LEFT, JoinKind.FULL), is_left=True)
        right = _Side(right_rows, is_outer=join in (JoinKind.RIGHT, JoinKind.FULL), is_left=False)
        left.filter_nulls, right.filter_nulls = self._null_keys(self.left), self._null_keys(self.right)
        left.other_nulls = (None,) * len(self.right.types)
        right.other_nulls = (None,) * len(self.left.types)
        self._left, self._right = left, right
        self._meets = meets

    def _null_keys(self, side: JoinSide) -> tuple[int, ...]:
        """Fields of the key that equal nothing where they are NULL, as places in a row."""
        return tuple([at + 1 for at, is_filtered in zip(side.keys, self.filter_nulls, strict=False) if is_filtered])

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Join a block of left rows."""
        if self._columns is not None:
            self._columns.add(LEFT, values)
            self._join_many(self._columns)
            return
        take = self._take_left_of_semi if self.join in (JoinKind.SEMI, JoinKind.ANTI) else self._take
        self._take_block(self._left, self._right, take, values, keys)

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Join a block of right rows."""
        if self._columns is not None:
            self._columns.add(RIGHT, values)
            self._join_many(self._columns)
            return
        take = self._take_right_of_semi if self.join in (JoinKind.SEMI, JoinKind.ANTI) else self._take
        self._take_block(self._right, self._left, take, values, keys)

    # ---- columns ----

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Let columns of left rows wait."""
        if self._columns is None:
            super().process_columns(block, timestamps, keys)
        else:
            self._columns.add_columns(LEFT, block.batch)
            self._join_many(self._columns)

    def process_second_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Let columns of right rows wait."""
        if self._columns is None:
            super().process_second_columns(block, timestamps, keys)
        else:
            self._columns.add_columns(RIGHT, block.batch)
            self._join_many(self._columns)

    def _join_many(self, columns: ColumnJoin) -> None:
        if columns.count >= _MOST_WAITING:
            self._join_columns()

    def _join_columns(self) -> None:
        """Emit the pairs of the rows that wait; then the watermark goes on that came behind them."""
        if self._columns is None:
            return
        for batch in self._columns.joined():
            self._emit_pairs(ColumnBlock(batch, ROW_FORM))
        watermark, self._pending_watermark = self._pending_watermark, None
        if watermark is not None:
            self.output.emit_watermark(watermark)

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

    def on_watermark(self, watermark: int) -> None:
        """Pass it on; behind columns that wait it waits too."""
        if self._columns is not None and self._columns.count:
            self.watermark = self._pending_watermark = watermark
        else:
            super().on_watermark(watermark)

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

    def _take_block(
        self, own: _Side, other: _Side, take: Callable[..., None], values: list[Any], keys: list[Any] | None
    ) -> None:
        assert keys is not None
        results: list[Row] = []
        consumed, nulls = iter(values), own.filter_nulls
        try:
            for _, row in zip(self.backend.walk(keys), consumed, strict=False):
                is_matchable = True
                for place in nulls:
                    if row[place] is None:
                        is_matchable = False
                take(own, other, row, is_matchable, results)
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)

    def _partners(self, own: _Side, other: _Side, fields: Fields) -> list[tuple[Fields, int]]:
        """Rows of the other side that make a pair with a row."""
        found, meets = other.rows.rows(), self._meets
        if meets is None or not found:
            return found
        if own.is_left:
            return [held for held in found if meets((0, *fields, *held[0])) is True]
        return [held for held in found if meets((0, *held[0], *fields)) is True]

    def _take(self, own: _Side, other: _Side, row: Row, is_matchable: bool, results: list[Row]) -> None:
        kind, fields = row[0], row[1:]
        if not is_matchable:
            # It has no partner and never will, so nothing of it has to be kept.
            if own.is_outer:
                results.append(own.padded(DELETE if kind & 1 else INSERT, fields))
            return
        partners = self._partners(own, other, fields)
        if kind & 1:
            self._retract(own, other, kind, fields, partners, results)
        else:
            self._accumulate(own, other, kind, fields, partners, results)

    def _accumulate(
        self,
        own: _Side,
        other: _Side,
        kind: int,
        fields: Fields,
        partners: list[tuple[Fields, int]],
        results: list[Row],
    ) -> None:
        own.rows.add(fields, len(partners) if own.is_outer else 0)
        if not partners:
            if own.is_outer:
                results.append(own.padded(INSERT, fields))
            return
        if other.is_outer:
            for held, count in partners:
                if count == 0:
                    results.append(other.padded(DELETE, held))
                other.rows.set_partners(held, count + 1)
        made = INSERT if own.is_outer or other.is_outer else kind
        if own.is_left:
            results += [(made, *fields, *held) for held, _ in partners]
        else:
            results += [(made, *held, *fields) for held, _ in partners]

    def _retract(
        self,
        own: _Side,
        other: _Side,
        kind: int,
        fields: Fields,
        partners: list[tuple[Fields, int]],
        results: list[Row],
    ) -> None:
        own.rows.retract(fields)
        if not partners:
            if own.is_outer:
                results.append(own.padded(DELETE, fields))
            return
        made = DELETE if own.is_outer else kind
        if own.is_left:
            results += [(made, *fields, *held) for held, _ in partners]
        else:
            results += [(made, *held, *fields) for held, _ in partners]
        if other.is_outer:
            for held, count in partners:
                if count == 1:
                    results.append(other.padded(INSERT, held))
                other.rows.set_partners(held, max(count - 1, 0))

    def _take_left_of_semi(self, own: _Side, other: _Side, row: Row, is_matchable: bool, results: list[Row]) -> None:
        fields = row[1:]
        partners = self._partners(own, other, fields) if is_matchable else []
        if bool(partners) is (self.join is JoinKind.SEMI):
            results.append(row)
        if not is_matchable:
            return
        if row[0] & 1:
            own.rows.retract(fields)
        else:
            own.rows.add(fields, len(partners))

    def _take_right_of_semi(self, own: _Side, other: _Side, row: Row, is_matchable: bool, results: list[Row]) -> None:
        if not is_matchable:
            return
        kind, fields, is_anti = row[0], row[1:], self.join is JoinKind.ANTI
        partners = self._partners(own, other, fields)
        if kind & 1:
            own.rows.retract(fields)
            for held, count in partners:
                if count == 1:
                    results.append((INSERT if is_anti else kind, *held))
                other.rows.set_partners(held, max(count - 1, 0))
            return
        own.rows.add(fields, 0)
        for held, count in partners:
            if count == 0:
                results.append((DELETE if is_anti else kind, *held))
            other.rows.set_partners(held, count + 1)


class _Side:
    """One input of a running join."""

    def __init__(self, rows: SideRows, *, is_outer: bool, is_left: bool) -> None:
        self.rows = rows
        self.is_outer = is_outer
        self.is_left = is_left
        self.filter_nulls: tuple[int, ...] = ()
        self.other_nulls: tuple[None, ...] = ()

    def padded(self, kind: int, fields: Fields) -> Row:
        """A row of this side with NULLs for the other one."""
        return (kind, *fields, *self.other_nulls) if self.is_left else (kind, *self.other_nulls, *fields)


def _meaning(layout: Layout) -> Layout:
    """What a layout says of the join, without how rows are kept."""
    left, right = layout["together"] if "together" in layout else (layout["left"], layout["right"])
    sides = [{"types": side["types"], "keys": side["keys"]} for side in (left, right)]
    return {"join": layout.get("join", JoinKind.INNER.value), "sides": sides}


def _has_other_keys(written: Layout, now: Layout) -> bool:
    """Whether a side is kept by another unique key, under the same name: its entries could not be told apart."""
    if "together" in written or "together" in now:
        return False
    pairs = [(written[side], now[side]) for side in ("left", "right")]
    return any(was["unique_key"] != is_now["unique_key"] and _by_key(was) and _by_key(is_now) for was, is_now in pairs)


def _by_key(side: Layout) -> bool:
    return side["unique_key"] is not None and not set(side["unique_key"]) <= set(side["keys"])


def _side_layout(side: JoinSide) -> Layout:
    unique = None if side.unique_key is None else list(side.unique_key)
    return {"types": type_texts(side.types), "keys": list(side.keys), "unique_key": unique}
