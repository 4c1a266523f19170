"""A source that Spark reads: how to make its frame, and how Arrow batches of it become Python values.

Owns no Spark code: the session and the frame are opaque here, the engine calls `make_frame` with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.common.types import Row
from penstock.connectors.source import Source
from penstock.errors import ConfigurationError, SourceError

RowFormat = str | Callable[[dict[str, Any]], Any]
"""What a row becomes: "row", "dict", "tuple", "value" (single column), or a function of the row as a dict."""


class FrameSource(Source):
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


def checked_row_format(row_format: RowFormat) -> RowFormat:
    """Return the row format, or raise if it is none."""
    if callable(row_format) or row_format in _CONVERTERS:
        return row_format
    raise ConfigurationError(
        f"row_format must be one of {', '.join(map(repr, _CONVERTERS))} or a function of a dict, got {row_format!r}."
    )


def batch_to_values(record_batch: pa.RecordBatch, row_format: RowFormat) -> list[Any]:
    """Convert the rows of an Arrow batch to Python values, column by column."""
    if callable(row_format):
        return [row_format(record) for record in record_batch.to_pylist()]
    return _CONVERTERS[row_format](record_batch)


def _to_tuples(record_batch: pa.RecordBatch) -> list[Any]:
    if not record_batch.num_columns:
        return [()] * record_batch.num_rows
    return list(zip(*(column.to_pylist() for column in record_batch.columns), strict=True))


def _to_rows(record_batch: pa.RecordBatch) -> list[Any]:
    names = tuple(record_batch.schema.names)
    of_fields = Row.of_fields
    return [of_fields(names, list(values)) for values in _to_tuples(record_batch)]


def _to_dicts(record_batch: pa.RecordBatch) -> list[Any]:
    names = record_batch.schema.names
    return [dict(zip(names, values, strict=True)) for values in _to_tuples(record_batch)]


def _to_single_values(record_batch: pa.RecordBatch) -> list[Any]:
    if record_batch.num_columns != 1:
        raise SourceError(
            f'row_format "value" needs a frame of one column, but it has {record_batch.num_columns} '
            f'({", ".join(record_batch.schema.names)}): select one, or use row_format "row".'
        )
    values: list[Any] = record_batch.column(0).to_pylist()
    return values


_CONVERTERS: dict[str, Callable[[pa.RecordBatch], list[Any]]] = {
    "row": _to_rows,
    "dict": _to_dicts,
    "tuple": _to_tuples,
    "value": _to_single_values,
}
