"""Blocks of columns that wait to be sent together to one subtask."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.columns import ColumnBlock, Stamps


class PendingColumns:
    """Blocks of one schema and form, all with timestamps or all without."""

    def __init__(self) -> None:
        self._blocks: list[ColumnBlock] = []
        self._stamps: list[Stamps | None] = []
        self._count = 0
        self.size = 0
        """Bytes of what waits, roughly."""

    def __len__(self) -> int:
        return self._count

    def takes(self, block: ColumnBlock, timestamps: Stamps | None) -> bool:
        """Whether a block can be sent together with those that wait."""
        if not self._blocks:
            return True
        first = self._blocks[0]
        is_stamped = self._stamps[0] is not None
        return (
            first.form == block.form
            and is_stamped is (timestamps is not None)
            and bool(first.batch.schema.equals(block.batch.schema))
        )

    def add(self, block: ColumnBlock, timestamps: Stamps | None) -> None:
        """Let a block wait that `takes` allows."""
        self._blocks.append(block)
        self._stamps.append(timestamps)
        self._count += len(block)
        self.size += block.batch.nbytes

    def take(self) -> tuple[ColumnBlock, Stamps | None]:
        """All that waits, as one block."""
        blocks, stamps = self._blocks, [each for each in self._stamps if each is not None]
        self.drop()
        if len(blocks) == 1:
            return blocks[0], stamps[0] if stamps else None
        whole = pa.concat_batches([block.batch for block in blocks])
        return ColumnBlock(whole, blocks[0].form), np.concatenate(stamps) if stamps else None

    def drop(self) -> None:
        """Forget what waits."""
        self._blocks, self._stamps, self._count, self.size = [], [], 0, 0
