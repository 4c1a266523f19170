"""Avro container files as records of a schema: `AvroInputFormat`; the reading is done in `penstock.connectors`."""

from __future__ import annotations

import os

from penstock.common.avro_type import AvroSchema, GenericRecordAvroTypeInfo
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.connectors.file_system import FileSource
from penstock.errors import ConfigurationError

__all__ = ["AvroInputFormat"]


class AvroInputFormat:
    """Avro files below a path, for `StreamExecutionEnvironment.create_input`; each record is a dict."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        """Take the path and the schema that records are read as; that of a file may be an older one."""
        if not isinstance(schema, AvroSchema):
            raise ConfigurationError(f"AvroInputFormat: expected an AvroSchema, got {schema!r}")
        self._path = os.fspath(path)
        self._schema = schema

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return GenericRecordAvroTypeInfo(self._schema)

    def create_source(self) -> FileSource:
        """Make the source."""
        return FileSource.avro(self._path, self._schema, row_format="dict")
