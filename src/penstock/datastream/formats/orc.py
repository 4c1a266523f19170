"""ORC files, under PyFlink's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.configuration import Configuration
from penstock.datastream.formats.declared_columns import column_type, refuse_hadoop
from penstock.errors import ConfigurationError
from penstock.formats.orc_format import OrcFormat
from penstock.pyflink_names import names_from_elsewhere

__all__ = ["OrcBulkWriters"]

_COMPRESSION = "orc.compress"


class OrcBulkWriters:
    """Makes ORC writers for `FileSink.for_bulk_format`."""

    @staticmethod
    def for_row_type(
        row_type: Any, writer_properties: Configuration | None = None, hadoop_config: Configuration | None = None
    ) -> OrcFormat:
        """Write the columns of `row_type`; the property `orc.compress` is known, others name Java's own."""
        refuse_hadoop("OrcBulkWriters", hadoop_config)
        told = {} if writer_properties is None else writer_properties.to_dict()
        unknown = sorted(told.keys() - {_COMPRESSION})
        if unknown:
            raise ConfigurationError(f"OrcBulkWriters knows the property {_COMPRESSION}, not {', '.join(unknown)}.")
        compression = told.get(_COMPRESSION, "zlib").lower()
        return OrcFormat(column_type(row_type), {"none": "uncompressed"}.get(compression, compression))


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
