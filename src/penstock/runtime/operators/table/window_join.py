"""Joins of rows of the same window: results are final, and leave when the window is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.expressions import row_function
from penstock.runtime.operators.table.join import JoinKind, JoinSide
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, type_texts
from penstock.runtime.operators.table.sessions import LATE_RECORDS
from penstock.runtime.operators.table.window_clock import WindowClock
from penstock.runtime.rows import Timestamps
from penstock.state.keyed import VOID_NAMESPACE
from penstock.state.list_state import KeyedListState
from penstock.state.timers import EVENT, Timer
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import TypedExpression


class TableWindowJoinOperator(KeyedTableOperator):
    """Joins two keyed inputs whose rows have windows.

    Keys are those of the sides without the windows. `left_window_end` and `right_window_end` are fields, in the local
    time of `zone` (None: UTC). Late rows are dropped, and counted. Otherwise as RegularJoinOperator.
    """

    kind = "table window join"

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

    def layout(self) -> Layout:
        """What rows are kept of each side."""
        return {"operator": self.kind, "left": type_texts(self.left.types), "right": type_texts(self.right.types)}

    def open(self) -> None:
        """Get the state and make the condition's code."""
        self._clock = WindowClock(self.zone)
        self._left = self.list_state("_left_rows", row_state_type(self.left.types))
        self._right = self.list_state("_right_rows", row_state_type(self.right.types))
        self._meets = None if self.condition is None else row_function(self, self.condition, self.zone or "UTC")
        self._late = self.context.metrics.counter(LATE_RECORDS)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep left rows."""
        self._keep(self._left, self.left_window_end + 1, values, keys)

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep right rows."""
        self._keep(self._right, self.right_window_end + 1, values, keys)

    def _keep(self, side: KeyedListState, place: int, values: list[Any], keys: list[Any] | None) -> None:
        assert keys is not None
        backend = self.backend
        for key, row in zip(keys, values, strict=True):
            end = row[place]
            if end is None or self._clock.last_instant(end) <= self.watermark:
                self._late.inc()
                continue
            backend.set_key(key)
            namespace = b"%d" % end
            self.timers.register(EVENT, self._clock.last_instant(end), namespace)
            backend.set_namespace(namespace)
            side.hold(row[1:])
            backend.set_namespace(VOID_NAMESPACE)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Join windows that are over."""
        results: list[Row] = []
        for _, key, namespace in due:
            self.backend.set_key(key)
            self.backend.set_namespace(namespace)
            left, right = self._left.take(), self._right.take()
            self.backend.set_namespace(VOID_NAMESPACE)
            try:
                self._join(left, right, self._equals_nothing(key), results)
            except Exception as error:
                raise self.failure(error, f"joining rows of key {key!r}") from None
        self.output.emit(results, None)

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
