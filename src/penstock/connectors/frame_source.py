"""Sources that Spark reads: creating the frame, and converting its Arrow batches to Python values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.common.column_block import FORMS, ColumnBlock, columns_or_objects, objects_of
from penstock.common.type_variables import T_co
from penstock.connectors.source import Source
from penstock.errors import ConfigurationError, GraphError, SourceError

RowFormat = str | Callable[[dict[str, Any]], Any]
"""What a row becomes: "row", "dict", "tuple", "value" (single column), or a function of the row as a dict."""


class FrameSource(Source[T_co]):
    """A Spark streaming DataFrame as a source; positions and replay are Spark's.

    A bounded frame source ends once what is there when the job starts has been read.
    """

    def __init__(
        self, make_frame: Callable[[Any], Any], *, bounded: bool = False, row_format: RowFormat = "row"
    ) -> None:
        """Take the function session -> streaming DataFrame; it runs on the driver when the job starts."""
        self.row_format = checked_row_format(row_format)
        self.bounded = bounded
        self._make_frame = make_frame

    def make_frame(self, spark: Any) -> Any:
        """Make the streaming DataFrame (called by the engine, on the driver)."""
        return self._make_frame(spark)

    def __getstate__(self) -> dict[str, Any]:
        """What tasks need: a frame, and the function that makes it, stay on the driver."""
        return {name: value for name, value in self.__dict__.items() if name != "_make_frame"}

    def is_bounded(self) -> bool:
        """Whether the job ends with this source."""
        return self.bounded

    def gives_columns(self) -> bool | None:
        """Return whether rows come as they are: a function that makes records of them sees each."""
        return not callable(self.row_format)

    def on_engine(self, name: str, *, has_spark: bool, is_continuous: bool = False) -> Source[T_co]:
        """Only Spark reads a frame; a job in continuous mode is refused later, or runs in micro-batches after all."""
        if not has_spark:
            raise GraphError(f"source {name!r} is read by Spark: it cannot run in process")
        return self


def checked_row_format(row_format: RowFormat) -> RowFormat:
    """Return the row format, or raise if it is none."""
    if callable(row_format) or row_format in FORMS:
        return row_format
    raise ConfigurationError(
        f"row_format must be one of {', '.join(map(repr, FORMS))} or a function of a dict, got {row_format!r}."
    )


def batch_to_values(record_batch: pa.RecordBatch, row_format: RowFormat) -> list[Any]:
    """Convert the rows of an Arrow batch to Python values, column by column."""
    if callable(row_format):
        return [row_format(record) for record in record_batch.to_pylist()]
    _check_columns(record_batch, row_format)
    return objects_of(record_batch, row_format)


def batch_to_block(record_batch: pa.RecordBatch, row_format: RowFormat) -> list[Any] | ColumnBlock:
    """The rows of an Arrow batch as columns, where they can stay that; else as Python values."""
    if callable(row_format):
        return batch_to_values(record_batch, row_format)
    _check_columns(record_batch, row_format)
    return columns_or_objects(record_batch, row_format)


def _check_columns(record_batch: pa.RecordBatch, row_format: str) -> None:
    if row_format == "value" and record_batch.num_columns != 1:
        raise SourceError(
            f'row_format "value" needs a frame of one column, but it has {record_batch.num_columns} '
            f'({", ".join(record_batch.schema.names)}): select one, or use row_format "row".'
        )
