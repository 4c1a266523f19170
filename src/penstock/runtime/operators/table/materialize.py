"""Upsert materialize: changes that may come in the wrong order become upserts by the primary key of a sink."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, type_texts
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER
from penstock.vocabulary.sql.state_types import row_state_type


class UpsertMaterializeOperator(KeyedTableOperator):
    """Keeps the rows of each primary key, which the input is keyed by, in the order they came, and emits the last.

    `upsert_key` are fields by which the input itself updates, None if it has no such key: then a row is
    taken back by all its fields.
    """

    kind = "upsert materialize"
    state_identity = "UpsertMaterializeOperator"

    def __init__(
        self, *, types: tuple[LogicalType, ...], upsert_key: tuple[int, ...] | None = None, state_ttl_ms: int = 0
    ) -> None:
        self.types = types
        self.upsert_key = upsert_key
        self.state_ttl_ms = state_ttl_ms

    def layout(self) -> Layout:
        """What rows are kept, and what tells them apart."""
        key = None if self.upsert_key is None else list(self.upsert_key)
        return {"operator": self.kind, "types": type_texts(self.types), "upsert_key": key}

    def open(self) -> None:
        """Get the state."""
        self._rows = self.value_state("_rows", FrozenListTypeInfo(row_state_type(self.types)))
        self._identity = itemgetter(*self.upsert_key) if self.upsert_key else _whole

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Add and take back the rows of a block."""
        assert keys is not None
        results: list[Row] = []
        for _, row in zip(self.backend.walk(keys), values, strict=True):
            if row[0] & 1:
                self._retract(row, results)
            else:
                self._add(row, results)
        self.output.emit(results, None)

    def _place(self, held: tuple[Any, ...], fields: Row) -> int | None:
        wanted, identity = self._identity(fields), self._identity
        return next((at for at, each in enumerate(held) if identity(each) == wanted), None)

    def _add(self, row: Row, results: list[Row]) -> None:
        held, fields = self._rows.held() or (), row[1:]
        at = self._place(held, fields) if self.upsert_key else None
        self._rows.hold((*held, fields) if at is None else (*held[:at], fields, *held[at + 1 :]))
        results.append((UPDATE_AFTER if held else INSERT, *fields))

    def _retract(self, row: Row, results: list[Row]) -> None:
        held = self._rows.held() or ()
        at = self._place(held, row[1:])
        if at is None:
            return
        left = (*held[:at], *held[at + 1 :])
        self._rows.hold(left or None)
        if not left:
            results.append((DELETE, *row[1:]))
        elif at == len(left):
            results.append((UPDATE_AFTER, *left[-1]))


def _whole(fields: Row) -> Any:
    return fields
