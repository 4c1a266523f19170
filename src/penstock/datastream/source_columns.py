"""Which sources are known to give their records one by one: what `explain()` says of them and of what follows.

Classes are told by their names, so that asking loads no connector that a program does not use.
"""

from __future__ import annotations

from typing import Any

from penstock.common.serialization import DeserializationSchema
from penstock.connectors.source import Source

__all__ = ["GIVE_RECORDS", "KAFKA", "gives_columns"]

_CONNECTORS = "penstock.connectors."
_GENERATOR = f"{_CONNECTORS}generated.columns.ColumnGenerator"
_FRAME = f"{_CONNECTORS}frame_source.FrameSource"
KAFKA = f"{_CONNECTORS}kafka.partitions.KafkaPartitions"
GIVE_RECORDS = frozenset(
    f"{_CONNECTORS}{name}"
    for name in (
        "generated.collection.CollectionSource",
        "generated.held_rows.RowSource",
        "generated.numbered.DataGenerator",
        "generated.sequence.NumberSequence",
        "jdbc.source.JdbcSource",
        "socket_source.SocketSource",
    )
)


def gives_columns(source: Source[Any]) -> bool | None:
    """Return whether records come as columns, where types allow it; None where nobody knows, as of a program's own."""
    names = {f"{each.__module__}.{each.__qualname__}" for each in type(source).__mro__}
    if _FRAME in names:
        return _frame_gives_columns(source)
    if KAFKA in names:
        return _decodes_columns(source)
    if _GENERATOR in names:
        return True
    return False if names & GIVE_RECORDS else None


def _frame_gives_columns(source: Any) -> bool | None:
    """What a frame, or files, give; of files of lines it depends on the engine."""
    if callable(source.row_format):
        return False
    reading = getattr(source, "reading", None)
    return True if reading is None or reading.file_format in ("parquet", "orc") else None


def _decodes_columns(source: Any) -> bool:
    """Return whether a schema of values decodes many of them at once; one of whole records sees each."""
    values = getattr(source.reading.schema, "schema", None)
    decode = getattr(type(values), "deserialize_columns", DeserializationSchema.deserialize_columns)
    return decode is not DeserializationSchema.deserialize_columns
