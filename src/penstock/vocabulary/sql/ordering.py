"""The order of rows as plain data: by which fields, which way, and where NULL comes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SortField"]


@dataclass(frozen=True)
class SortField:
    """A field to order by. As in Flink NULL is the lowest value unless said otherwise: first ascending, else last."""

    index: int
    descending: bool = False
    nulls_last: bool | None = None

    @property
    def puts_nulls_last(self) -> bool:
        """Where NULL comes."""
        return self.descending if self.nulls_last is None else self.nulls_last
