"""Numbers for elements, so that those of one key can be spread."""

from __future__ import annotations

from itertools import count
from typing import Any

from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps


class SaltOperator(StreamOperator):
    """Makes pairs of a salt, from 0 to `salts` - 1 in turn, and the element.

    Each batch begins anew, so that one that is run again deals its elements out in the same way.
    """

    kind = "salt"
    state_identity = "SaltOperator"

    def __init__(self, salts: int) -> None:
        self.salts = salts

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Begin with the first salt, another one in each subtask."""
        self._turns = count(self.context.subtask)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Emit the pairs."""
        salts = self.salts
        self.output.emit([(turn % salts, value) for value, turn in zip(values, self._turns, strict=False)], timestamps)
