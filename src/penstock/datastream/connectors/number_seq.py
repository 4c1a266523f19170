"""Number sequences, under PyFlink's path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.connectors.generated.sequence import NumberSequence
from penstock.pyflink_names import names_from_elsewhere

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(NumberSequence):
    """The whole numbers from `start` to `end`, both included, in even contiguous splits: exactly-once."""

    def __init__(self, start: int, end: int) -> None:
        """Take the first and the last number."""
        super().__init__(start, end)


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
