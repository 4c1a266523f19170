"""Joins of rows of the same window: results are final, and leave when the window is over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from penstock.runtime.columns import ColumnBlock, Stamps, key_objects
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.expressions import guarded_column_function, guarded_refusal, row_function
from penstock.runtime.operators.table.join import JoinKind, JoinSide, join_refusal, sides_refusal
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, type_texts
from penstock.runtime.operators.table.sessions import LATE_RECORDS
from penstock.runtime.operators.table.window_clock import WindowClock
from penstock.runtime.operators.table.window_join_columns import ColumnWindowJoin, Piece, pieces_by_window
from penstock.runtime.rows import Timestamps
from penstock.state.hashable_keys import PLAIN_TYPES, hashable_of
from penstock.state.keyed import VOID_NAMESPACE
from penstock.state.timers import EVENT, Timer
from penstock.vocabulary.sql.refusals import first_refusal
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import TypedExpression

_MOST_IN_MEMORY = 200_000
_MOST_IN_COLUMNS = 1_000_000
_Sides = tuple[list[Row], list[Row]]
_Window = dict[Hashable, tuple[Any, _Sides]]
"""Keys of a window and their rows, by what keys are looked up by."""
_LEFT, _RIGHT = 0, 1


class TableWindowJoinOperator(KeyedTableOperator):
    """Joins two keyed inputs whose rows have windows.

    Keys are those of the sides without the windows. `left_window_end` and `right_window_end` are fields, in the local
    time of `zone` (None: UTC). Late rows are dropped, and counted. Otherwise as RegularJoinOperator.

    Rows of a batch are in memory, and become state at its end: most windows are over before that. One key of a window
    in memory has a timer for all of them.
    """

    kind = "table window join"
    state_identity = "TableWindowJoinOperator"

    def __init__(
        self,
        *,
        join: JoinKind,
        left: JoinSide,
        right: JoinSide,
        left_window_end: int,
        right_window_end: int,
        condition: TypedExpression | None = None,
        filter_nulls: tuple[bool, ...] = (),
        zone: str | None = None,
    ) -> None:
        self.join = join
        self.left = left
        self.right = right
        self.left_window_end = left_window_end
        self.right_window_end = right_window_end
        self.condition = condition
        self.filter_nulls = filter_nulls
        self.zone = zone

    def waits_for_event_time(self) -> bool:
        """Windows of tables are of event time."""
        return True

    def layout(self) -> Layout:
        """What rows are kept of each side."""
        return {"operator": self.kind, "left": type_texts(self.left.types), "right": type_texts(self.right.types)}

    def refusal(self) -> str | None:
        """Refuse all but inner joins, with types and a condition that can be columns."""
        return first_refusal(
            join_refusal(self.join),
            sides_refusal(self.left, self.right, self.column_names),
            guarded_refusal(self.condition, None, self.zone or "UTC", self.column_names),
        )

    def open(self) -> None:
        """Get the state and make the condition's code."""
        self._clock = WindowClock(self.zone)
        left = self.list_state("_left_rows", row_state_type(self.left.types))
        right = self.list_state("_right_rows", row_state_type(self.right.types))
        self._states = left, right
        self._memory: dict[int, _Window] = {}
        self._count = 0  # rows in memory
        self._begun: set[int] = set()  # windows that no key had before this batch
        self._meets = None if self.condition is None else row_function(self, self.condition, self.zone or "UTC")
        self._late = self.context.metrics.counter(LATE_RECORDS)
        self._columns = self._column_join()
        self._pieces: dict[int, list[Piece]] = {}  # rows of windows that have only come as columns in this batch

    def _column_join(self) -> ColumnWindowJoin | None:
        """The join in columns, where it can be."""
        if self.refusal() is not None:
            return None
        condition = None
        if self.condition is not None:
            condition = guarded_column_function(self, self.condition, None, self.zone or "UTC")
        return ColumnWindowJoin(self.left, self.right, self.filter_nulls, condition)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep left rows."""
        self._keep(_LEFT, self.left_window_end + 1, values, keys)

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep right rows."""
        self._keep(_RIGHT, self.right_window_end + 1, values, keys)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Keep left rows as columns."""
        if self._columns is None:
            super().process_columns(block, timestamps, keys)
        else:
            self._keep_columns(_LEFT, self.left_window_end + 1, block, keys)

    def process_second_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Keep right rows as columns."""
        if self._columns is None:
            super().process_second_columns(block, timestamps, keys)
        else:
            self._keep_columns(_RIGHT, self.right_window_end + 1, block, keys)

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Nothing is left of a batch that failed."""
        self._forget()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Put everything into the state."""
        self._write()

    def _forget(self) -> None:
        self._memory.clear()
        self._pieces.clear()
        self._begun.clear()
        self._count = 0

    def _keep_columns(self, side: int, place: int, block: ColumnBlock, keys: pa.Array) -> None:
        for end, piece in pieces_by_window(side, block.batch, keys, place) if len(block) else ():
            window = self._memory.get(end)
            if window is None:
                if end is None or self._clock.due_at(end) <= self.watermark:
                    self._late.inc(piece.row_count)
                    continue
                (key,) = key_objects(piece.keys.slice(0, 1))
                window = self._memory[end] = self._new_window(key, end)
            if window and not self._is_made_columns(end, window, piece.row_count):
                self._add(window, piece)
            else:
                self._pieces.setdefault(end, []).append(piece)
            self._count += piece.row_count
        if self._count > _MOST_IN_COLUMNS:
            self._write()

    def _is_made_columns(self, end: int, window: _Window, most: int) -> bool:
        """Make columns of the rows of a window, if they are no more than the columns that come to them."""
        sides = [[(key, row) for key, rows in window.values() for row in rows[side]] for side in (_LEFT, _RIGHT)]
        if self._columns is None or sum(map(len, sides)) > most:
            return False
        window.clear()
        made = [
            self._columns.piece(side, *map(list, zip(*rows, strict=True))) for side, rows in enumerate(sides) if rows
        ]
        self._pieces[end] = made
        return True

    def _keep_beside_columns(
        self, side: int, place: int, values: list[Any], keys: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Rows of windows that are columns become such; the others, and their keys, are left."""
        assert self._columns is not None
        for end in self._pieces.keys() & {row[place] for row in values}:
            own = [(key, row[1:]) for key, row in zip(keys, values, strict=True) if row[place] == end]
            self._pieces[end].append(self._columns.piece(side, *map(list, zip(*own, strict=True))))
            self._count += len(own)
        left = [(row, key) for row, key in zip(values, keys, strict=True) if row[place] not in self._pieces]
        return [row for row, _ in left], [key for _, key in left]

    def _add(self, window: _Window, piece: Piece) -> None:
        """Put the rows of a piece to those of their keys."""
        self.row_records += piece.row_count
        for key, row in zip(*piece.rows(), strict=True):
            hashable = key if type(key) in PLAIN_TYPES else hashable_of(key)
            found = window.get(hashable)
            if found is None:
                found = window[hashable] = key, ([], [])
            found[1][piece.side].append(row)

    def _to_rows(self, ends: Iterable[int]) -> None:
        """Make rows of the columns of some windows, which go on row by row."""
        for end in ends:
            for piece in self._pieces.pop(end, ()):
                self._add(self._memory[end], piece)

    def _keep(self, side: int, place: int, values: list[Any], keys: list[Any] | None) -> None:
        assert keys is not None
        memory = self._memory
        if self._pieces:
            values, keys = self._keep_beside_columns(side, place, values, keys)
        for key, row in zip(keys, values, strict=True):
            end = row[place]
            window = memory.get(end)
            if window is None:
                if end is None or self._clock.due_at(end) <= self.watermark:
                    self._late.inc()
                    continue
                window = memory[end] = self._new_window(key, end)
            hashable = key if type(key) in PLAIN_TYPES else hashable_of(key)
            found = window.get(hashable)
            if found is None:
                found = window[hashable] = key, ([], [])
            found[1][side].append(row[1:])
            self._count += 1
        if self._count > _MOST_IN_MEMORY:
            self._write()

    def _new_window(self, key: Any, end: int) -> _Window:
        """A window that is not in memory, with a timer; what is in state has one too."""
        if not self.timers.has_any_at(EVENT, self._clock.due_at(end)):
            self._begun.add(end)
        self._set_timer(key, end)
        return {}

    def _set_timer(self, key: Any, end: int) -> None:
        self.backend.set_key(key)
        self.timers.register(EVENT, self._clock.due_at(end), b"%d" % end)

    def _write(self) -> None:
        backend = self.backend
        self._to_rows(list(self._pieces))
        for end, window in self._memory.items():
            for key, sides in window.values():
                self._set_timer(key, end)
                backend.set_namespace(b"%d" % end)
                for state, rows in zip(self._states, sides, strict=True):
                    for row in rows:
                        state.hold(row)
                backend.set_namespace(VOID_NAMESPACE)
        self._forget()

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Join windows that are over."""
        results: list[Row] = []
        keys_of: dict[bytes, list[Any]] = defaultdict(list)
        for _, key, namespace in due:
            keys_of[namespace].append(key)
        for namespace, keys in keys_of.items():
            end = int(namespace)
            if self._is_joined_in_columns(end, results):
                continue
            self._to_rows([end])
            window = self._memory.pop(end, {})
            self._count -= sum([len(left) + len(right) for _, (left, right) in window.values()])
            for key in () if end in self._begun else keys:
                _, in_memory = window.pop(hashable_of(key), (key, ([], [])))
                self._emit_joined(key, self._taken(key, namespace, in_memory), results)
            for key, sides in window.values():
                self._emit_joined(key, sides, results)
        self.output.emit(results, None)

    def _is_joined_in_columns(self, end: int, results: list[Row]) -> bool:
        """Join a window that has come as columns and was not there before the batch, after the results before it."""
        pieces = self._pieces.get(end)
        if pieces is None or self._columns is None or end not in self._begun:
            return False
        try:
            made = self._columns.joined(pieces)
        except Exception:
            return False  # row by row it is found what to say of it
        self._count -= sum([piece.row_count for piece in pieces])
        del self._memory[end], self._pieces[end]
        self.output.emit(list(results), None)
        results.clear()
        for block in made:
            self.output.emit(block, None)
        return True

    def _taken(self, key: Any, namespace: bytes, in_memory: _Sides) -> _Sides:
        """The rows of a key in a window, which are forgotten: first those in state, which came before."""
        self.backend.set_key(key)
        self.backend.set_namespace(namespace)
        left, right = [state.take() + rows for state, rows in zip(self._states, in_memory, strict=True)]
        self.backend.set_namespace(VOID_NAMESPACE)
        return left, right

    def _emit_joined(self, key: Any, sides: _Sides, results: list[Row]) -> None:
        try:
            self._join(*sides, self._equals_nothing(key), results)
        except Exception as error:
            raise self.failure(error, f"joining rows of key {key!r}") from None

    def _equals_nothing(self, key: Any) -> bool:
        parts = (key,) if len(self.left.keys) == 1 else key
        return (
            any(is_filtered and part is None for part, is_filtered in zip(parts or (), self.filter_nulls, strict=False))
            if self.left.keys
            else False
        )

    def _join(self, left: list[Row], right: list[Row], equals_nothing: bool, results: list[Row]) -> None:
        meets, join = self._meets, self.join
        matched: set[int] = set()
        nulls = (None,) * len(self.right.types)
        for fields in left:
            partners = [] if equals_nothing else list(enumerate(right))
            if meets is not None:
                partners = [(at, other) for at, other in partners if meets((INSERT, *fields, *other)) is True]
            if join in (JoinKind.SEMI, JoinKind.ANTI):
                if bool(partners) is (join is JoinKind.SEMI):
                    results.append((INSERT, *fields))
                continue
            matched.update([at for at, _ in partners])
            results += [(INSERT, *fields, *other) for _, other in partners]
            if not partners and join in (JoinKind.LEFT, JoinKind.FULL):
                results.append((INSERT, *fields, *nulls))
        if join in (JoinKind.RIGHT, JoinKind.FULL):
            nulls = (None,) * len(self.left.types)
            results += [(INSERT, *nulls, *other) for at, other in enumerate(right) if at not in matched]
