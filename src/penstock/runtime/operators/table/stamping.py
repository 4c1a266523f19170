"""Where tables and DataStreams meet: event time is a column of a table and a timestamp of an element."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.table.operator import TableOperator
from penstock.runtime.rows import Timestamps


class StampOperator(TableOperator):
    """Gives rows the time of a field as their timestamps; watermarks pass as they are.

    `rowtime` is the number of the field, milliseconds in it. A row without a time gets no timestamp.
    """

    kind = "table timestamps"
    state_identity = "StampOperator"

    def __init__(self, *, rowtime: int) -> None:
        self.rowtime = rowtime

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Emit the block with its times."""
        place = self.rowtime + 1
        self.output.emit(values, [row[place] for row in values])
