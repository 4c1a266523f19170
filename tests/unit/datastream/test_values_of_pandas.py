"""What programs of PyFlink's users put into rows and JSON: objects of any class, scalars of numpy and pandas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.formats.json import JsonRowSerializationSchema
from penstock.errors import DeclaredTypeError, JobFailedError

ROW = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


class Point:
    """An object with more fields than the row has."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b, self.more = a, b, None


def test_objects_of_any_class_under_a_row_type() -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    given = environment.from_collection([Point(1, "x")], ROW)
    made = given.map(lambda row: Point(row.a + 1, row["b"]), ROW)
    assert list(made.execute_and_collect()) == [Row(a=2, b="x")]


def test_an_object_without_a_field_is_refused() -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    with pytest.raises((DeclaredTypeError, ValueError, TypeError), match="got Point without more_of_it"):
        environment.from_collection([Point(1, "x")], Types.ROW_NAMED(["a", "more_of_it"], [Types.INT(), Types.INT()]))
    environment.from_collection([1]).map(lambda value: Point(value, 5), ROW).print()
    with pytest.raises(JobFailedError, match="field 'b'"):
        environment.execute()


def test_json_of_numpy_and_pandas(tmp_path: Path) -> None:
    record = {
        "whole": np.int64(3),
        "small": np.float32(1.5),
        "nothing": np.float32("nan"),
        "true": np.bool_(True),
        "time": pd.Timestamp("2024-01-01T01:02:03"),
        "never": pd.NaT,
        "array": np.array([1, 2]),
        "day": np.datetime64("2024-01-01"),
    }
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    environment.from_collection([0]).map(lambda _: record).sink_to(FileSink.json(str(tmp_path)))
    environment.execute()
    (line,) = [path.read_text() for path in tmp_path.glob("*.json")]
    assert json.loads(line) == {
        "whole": 3,
        "small": 1.5,
        "nothing": "NaN",
        "true": True,
        "time": "2024-01-01T01:02:03",
        "never": None,
        "array": [1, 2],
        "day": "2024-01-01",
    }


def test_json_messages_of_numpy() -> None:
    declared = Types.ROW_NAMED(["a", "b", "c"], [Types.LONG(), Types.DOUBLE(), Types.SQL_TIMESTAMP()])
    schema = JsonRowSerializationSchema.builder().with_type_info(declared).build()
    written = schema.serialize(Row(np.int64(3), np.float32(1.5), pd.Timestamp("2024-01-01T01:02:03")))
    assert json.loads(written) == {"a": 3, "b": 1.5, "c": "2024-01-01T01:02:03"}
