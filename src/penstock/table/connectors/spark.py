"""The connector 'spark': any source or sink that Spark has, by its format and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.datastream.stream import DataStream
from penstock.table.connectors.contract import INSERTS, Connector, TableContext, TableSink, TableSource
from penstock.table.element_functions import ToElement, ToRow
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["SparkConnector"]

_NAMES = {
    Kind.INTEGER: "int",
    Kind.VARCHAR: "string",
    Kind.CHAR: "string",
    Kind.VARBINARY: "binary",
    Kind.BINARY: "binary",
    Kind.TIMESTAMP: "timestamp_ntz",
    Kind.TIMESTAMP_LTZ: "timestamp",
    Kind.TIME: "string",
}


class SparkConnector(Connector):
    """Reads by `spark.readStream` and writes each batch by `DataFrame.write`."""

    name = "spark"

    def keys(self) -> Mapping[str, str]:
        """Spark's format, and its options behind `options.`."""
        return {
            "format": "the format, as spark.readStream.format(...) takes it",
            "path": "where it is, for formats of files",
            "options.": "options of the format",
            "mode": "how batches are written: append, overwrite, ...",
            "bounded": "whether the table ends with what is there when the job starts",
        }

    def source(self, table: TableContext) -> TableSource:
        """A stream that Spark reads."""
        return _SparkTable(table)

    def sink(self, table: TableContext) -> TableSink:
        """Batches that Spark writes."""
        return _SparkTableSink(table)


def spark_schema(row_type: LogicalType) -> str:
    """The columns as Spark's DDL has them."""
    return ", ".join(f"`{n}` {_spark_type(t)}" for n, t in zip(row_type.names, row_type.parts, strict=True))


def _spark_type(declared: LogicalType) -> str:
    kind = declared.kind
    if kind is Kind.DECIMAL:
        return f"decimal({declared.precision},{declared.scale})"
    if kind is Kind.ARRAY:
        return f"array<{_spark_type(declared.parts[0])}>"
    if kind is Kind.MAP:
        return f"map<{_spark_type(declared.parts[0])},{_spark_type(declared.parts[1])}>"
    if kind is Kind.ROW:
        inner = ",".join(f"`{n}`:{_spark_type(t)}" for n, t in zip(declared.names, declared.parts, strict=True))
        return f"struct<{inner}>"
    return _NAMES.get(kind, str(kind.value).lower())


class _SparkTable(TableSource):
    def __init__(self, table: TableContext) -> None:
        self.table = table
        self.is_bounded = table.options.boolean("bounded")

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        options = self.table.options
        form, path, own = options["format"], options.get("path"), options.under("options.")
        schema = spark_schema(row_type)
        columns = list(row_type.names)

        def frame(spark: Any) -> Any:
            reader = spark.readStream.format(form).options(**own)
            if form in ("json", "csv", "parquet", "orc", "avro", "text"):
                reader = reader.schema(schema)
            return (reader.load(path) if path else reader.load()).select(*columns)

        stream = environment.from_spark(frame, name or self.table.path[-1], "dict", bounded=self.is_bounded)
        made: DataStream[tuple[Any, ...]] = stream.map(ToRow(row_type))
        return made


class _SparkTableSink(TableSink):
    def __init__(self, table: TableContext) -> None:
        self.table = table

    def accepts(self, kinds: frozenset[int]) -> frozenset[int]:
        return INSERTS

    def consume(
        self,
        stream: DataStream[tuple[Any, ...]],
        row_type: LogicalType,
        primary_key: tuple[int, ...] = (),
        name: str = "",
        metadata: tuple[str, ...] = (),
    ) -> Any:
        options = self.table.options
        form, path, own = options["format"], options.get("path"), options.under("options.")
        mode = options.get("mode") or "append"

        def write(frame: Any, batch: int) -> None:
            writer = frame.write.format(form).mode(mode).options(**own)
            writer.save(path) if path else writer.save()

        return stream.map(ToElement(row_type)).write_with_spark(write, spark_schema(row_type))
