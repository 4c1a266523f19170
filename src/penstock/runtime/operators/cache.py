"""The place of a cached stream in the job that computes it."""

from __future__ import annotations

from typing import Any

from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps


class CacheOperator(StreamOperator):
    """Passes everything on: to the operators that follow, and to the sink that keeps it."""

    kind = "cache"
    state_identity = "CacheOperator"

    def emits_columns(self) -> bool:
        """Return that everything leaves as it came."""
        return True

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Pass records on."""
        self.output.emit(values, timestamps)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Pass columns on."""
        self.output.emit(block, timestamps)
