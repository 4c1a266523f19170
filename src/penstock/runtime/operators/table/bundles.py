"""Rows gathered before they are looked at: mini-batches, of a number of rows or what came before a watermark."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.runtime.operators.table.operator import KeyedTableOperator
from penstock.runtime.rows import Timestamps

__all__ = ["MINI_BATCH_SIZE", "BundlingOperator"]

MINI_BATCH_SIZE = 10_000


class BundlingOperator(KeyedTableOperator):
    """Gathers `mini_batch_size` rows if `mini_batch` is set, and looks at blocks as they come if it is not.

    What has been gathered is looked at before a watermark passes, at the end of the input and at the end of a batch:
    state and output belong to the batch.
    """

    mini_batch: bool = False
    mini_batch_size: int = MINI_BATCH_SIZE
    _gathered: list[Any]
    _gathered_keys: list[Any]

    @abstractmethod
    def process_bundle(self, values: list[Any], keys: list[Any]) -> None:
        """Look at rows that were gathered, or at a block."""

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Nothing is left of a batch that failed."""
        self._gathered, self._gathered_keys = [], []

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Gather rows, and look at them if there are enough."""
        assert keys is not None
        if not self.mini_batch:
            self.process_bundle(values, keys)
            return
        size = self.mini_batch_size
        gathered, gathered_keys = self._gathered + values, self._gathered_keys + keys
        full = len(gathered) - len(gathered) % size
        for start in range(0, full, size):
            self.process_bundle(gathered[start : start + size], gathered_keys[start : start + size])
        self._gathered, self._gathered_keys = gathered[full:], gathered_keys[full:]

    def _process_rest(self) -> None:
        if self.mini_batch and self._gathered:
            values, keys = self._gathered, self._gathered_keys
            self._gathered, self._gathered_keys = [], []
            self.process_bundle(values, keys)

    def on_watermark(self, watermark: int) -> None:
        """Look at what came before the watermark."""
        self._process_rest()
        super().on_watermark(watermark)

    def on_end(self) -> None:
        """Look at what came before the end."""
        self._process_rest()
        super().on_end()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Look at what is left of the batch."""
        self._process_rest()
