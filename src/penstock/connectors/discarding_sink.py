"""A sink that drops every record, for benchmarks and jobs with side effects only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.common.column_block import ColumnBlock
from penstock.connectors.sink import Sink, SinkContext, SinkWriter


class DiscardingSink(Sink):
    """Drops all records, like Flink's sink of that name."""

    state_identity = "DiscardingSink"

    ignores_records = True

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make a writer that writes nothing."""
        return _Nowhere()


class _Nowhere(SinkWriter):
    def begin(self, version: int, attempt: str, state: Any) -> None:
        """Nothing to begin."""

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        """Drop the records."""

    def write_columns(self, block: ColumnBlock, timestamps: npt.NDArray[np.int64] | None, watermark: int) -> None:
        """Drop the records, without making objects of them."""

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        """Nothing was written."""
        return []
