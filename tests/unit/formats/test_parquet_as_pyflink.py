"""Parquet by PyFlink's signatures: Hadoop's settings, zones and the case of names."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.common.types import Row
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, FileSource
from penstock.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from penstock.errors import ConfigurationError
from penstock.table import DataTypes

ROW = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT()), DataTypes.FIELD("at", DataTypes.TIMESTAMP(3))])


def test_what_pyflink_programs_give_is_taken(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.in_process()
    rows = [Row(id=1, at=datetime.datetime(2024, 2, 29, 1, 2, 3, 456000))]
    writer = ParquetBulkWriters.for_row_type(ROW, Configuration(), utc_timestamp=True)
    env.from_collection(rows).sink_to(FileSink.for_bulk_format(str(tmp_path), writer).build())
    env.execute()
    reader = ParquetColumnarRowInputFormat(ROW, Configuration(), 10, True, True)
    source = FileSource.for_bulk_file_format(reader, str(tmp_path)).build()
    assert list(env.from_source(source, None, "parquet").execute_and_collect()) == rows


@pytest.mark.parametrize("make", [ParquetColumnarRowInputFormat, ParquetBulkWriters.for_row_type])
def test_there_is_no_hadoop_to_configure(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="there is no Hadoop to configure; remove hadoop_config"):
        make(ROW, Configuration().set_string("fs.defaultFS", "x"))


def test_names_of_columns_keep_their_case() -> None:
    with pytest.warns(UserWarning, match="is_case_sensitive=False has no effect"):
        ParquetColumnarRowInputFormat(ROW, is_case_sensitive=False)
