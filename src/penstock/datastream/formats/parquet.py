"""Parquet files, under PyFlink's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.avro_type import AvroSchema
from penstock.common.configuration import Configuration
from penstock.common.no_effect import warn_of_no_effect
from penstock.connectors.files.source import FileReading
from penstock.datastream.connectors.file_system import BulkFormat, StreamFormat
from penstock.datastream.formats.declared_columns import column_type, refuse_hadoop
from penstock.errors import ConfigurationError
from penstock.formats.avro_columns import AvroColumns, AvroRecords
from penstock.formats.parquet_format import ParquetFormat
from penstock.pyflink_names import names_from_elsewhere

__all__ = ["AvroParquetReaders", "AvroParquetWriters", "ParquetBulkWriters", "ParquetColumnarRowInputFormat"]


class AvroParquetReaders:
    """Reads Parquet files as records of an Avro schema, for `FileSource.for_record_stream_format`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Read the fields of the schema, each record a dict; fields that a file does not have are None."""
        reader = AvroRecords(schema)
        return StreamFormat(FileReading("parquet", {}, reader.ddl), reader)


class ParquetColumnarRowInputFormat(BulkFormat):
    """Parquet files read as rows with the columns of `row_type`."""

    def __init__(
        self,
        row_type: Any = None,
        hadoop_config: Configuration | None = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        """Take `DataTypes.ROW(...)`, `Types.ROW_NAMED(...)`, a DDL text, or None for the columns the files have.

        The rest is accepted for PyFlink programs: batches are as large as the groups of a file, and timestamps
        without a zone are what the file says.
        """
        refuse_hadoop("ParquetColumnarRowInputFormat", hadoop_config)
        if not is_case_sensitive:
            warn_of_no_effect(
                "ParquetColumnarRowInputFormat: is_case_sensitive=False", "names are compared as they are"
            )
        super().__init__(FileReading("parquet", {}, column_type(row_type)))


class ParquetBulkWriters:
    """Makes Parquet writers for `FileSink.for_bulk_format`."""

    @staticmethod
    def for_row_type(
        row_type: Any = None, hadoop_config: Configuration | None = None, utc_timestamp: bool = False
    ) -> ParquetFormat:
        """Write the columns of `row_type`, or those learned from the first records; timestamps are never shifted."""
        refuse_hadoop("ParquetBulkWriters", hadoop_config)
        return ParquetFormat(column_type(row_type))


class AvroParquetWriters:
    """Makes Parquet writers by Avro schemas, for `FileSink.for_bulk_format`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> ParquetFormat:
        """Write the fields of the schema as columns; fields that may not be null must have a value."""
        if not isinstance(schema, AvroSchema):
            raise ConfigurationError(f"AvroParquetWriters: expected an AvroSchema, got {schema!r}.")
        return ParquetFormat(AvroColumns(str(schema)))


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
