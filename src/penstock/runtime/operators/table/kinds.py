"""Operators that only look at the kinds of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.operators.table.operator import TableOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.row_kinds import UPDATE_BEFORE


class DropUpdateBeforeOperator(TableOperator):
    """Drops -U rows, for a consumer that updates by key."""

    kind = "drop update before"
    state_identity = "DropUpdateBeforeOperator"

    def refusal(self) -> str | None:
        """Return None: kinds are a column of their own."""
        return None

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Drop them from a block."""
        self.output.emit([row for row in values if row[0] != UPDATE_BEFORE], None)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Drop them from columns."""
        places = np.flatnonzero(block.batch.column(0).to_numpy() != UPDATE_BEFORE)
        self.output.emit(block if len(places) == len(block) else block.take(places), None)
