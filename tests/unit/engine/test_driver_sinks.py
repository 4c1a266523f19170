"""What a Spark writer makes of records: columns of Spark's types, exactly, or a refusal with field and value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from penstock.common.column_block import ColumnBlock
from penstock.engine.spark.driver_sinks import _decoder, _inferred
from penstock.errors import SinkError
from penstock.runtime.rows import encode_block

NOON = dt.datetime(2020, 1, 1, 12)


def given_to_spark(values: Any, *fields: spark.StructField, is_declared: bool = True) -> list[dict[str, Any]]:
    schema = spark.StructType([*fields])
    payload = encode_block(values, None, None)
    batch = pa.RecordBatch.from_arrays([pa.array([payload])], names=["payload"])
    return [row for made in _decoder(schema, "lake", is_declared)(iter([batch])) for row in made.to_pylist()]


def field(kind: spark.DataType, nullable: bool = True) -> spark.StructField:
    return spark.StructField("a", kind, nullable)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (spark.LongType(), 2.5),
        (spark.LongType(), Decimal("2.5")),
        (spark.LongType(), 2**63),
        (spark.LongType(), True),
        (spark.ByteType(), 300),
        (spark.IntegerType(), 2**31),
        (spark.FloatType(), 1e300),
        (spark.DoubleType(), 2**53 + 1),
        (spark.DecimalType(4, 2), Decimal("1.234")),
        (spark.DecimalType(4, 2), Decimal("100")),
        (spark.DecimalType(4, 2), 1.5),
        (spark.DateType(), NOON),
        (spark.TimestampType(), 5),
        (spark.StringType(), 5),
        (spark.StringType(), b"x"),
        (spark.BooleanType(), 1),
        (spark.ArrayType(spark.LongType()), [1, 2.5]),
        (spark.MapType(spark.StringType(), spark.LongType()), {"x": 2.5}),
        (spark.StructType([spark.StructField("x", spark.LongType())]), {"x": 2.5}),
        (spark.StructType([spark.StructField("x", spark.LongType())]), {"x": 1, "y": 2}),
        (spark.StructType([spark.StructField("x", spark.LongType(), False)]), {"x": None}),
    ],
    ids=repr,
)
def test_a_value_that_would_change_is_refused(kind: spark.DataType, value: Any) -> None:
    with pytest.raises(SinkError, match=r"'lake'.*field 'a'.*declare") as refused:
        given_to_spark([{"a": None}, {"a": value}], field(kind))
    assert repr(value)[:10] in str(refused.value)


def test_records_that_do_not_fit_the_columns_are_refused() -> None:
    with pytest.raises(SinkError, match=r"'lake'.*field 'b'.*value 2.*columns are a"):
        given_to_spark([{"a": 1}, {"a": 1, "b": 2}], field(spark.LongType()))
    with pytest.raises(SinkError, match=r"'lake' cannot write \(1, 2\): it has 2 fields"):
        given_to_spark([(1,), (1, 2)], field(spark.LongType()))
    with pytest.raises(SinkError, match=r"'lake'.*'a'.*None.*must have a value"):
        given_to_spark([{"a": 1}, {"a": None}], field(spark.LongType(), nullable=False))
    block = ColumnBlock(pa.RecordBatch.from_pylist([{"a": 1, "b": 2}]), "dict")
    with pytest.raises(SinkError, match=r"'lake'.*field 'b'"):
        given_to_spark(block, field(spark.LongType()))


def test_what_fits_passes() -> None:
    utc_noon = NOON.replace(tzinfo=dt.UTC)
    kinds = [spark.FloatType(), spark.DecimalType(4, 2), spark.DateType(), spark.DoubleType(), spark.TimestampType()]
    fields = [spark.StructField(f"f{at}", kind) for at, kind in enumerate(kinds)]
    values = [(0.5, Decimal("1.2"), dt.date(2020, 1, 1), 7, utc_noon), (None,) * 5]
    rows = given_to_spark(values, *fields)
    assert [tuple(row.values()) for row in rows] == values


def test_columns_that_were_learned_say_declare_the_types() -> None:
    schema = _inferred([{"a": 1}, {"a": None}], "lake")
    with pytest.raises(SinkError, match=r"'lake'.*field 'a'.*2\.5.*Declare the types"):
        given_to_spark([{"a": 2.5}], *schema.fields, is_declared=False)
    with pytest.raises(SinkError, match=r"'lake'.*field 'a'.*Declare the types"):
        _inferred([{"a": dt.date(2020, 1, 1)}, {"a": NOON}], "lake")
