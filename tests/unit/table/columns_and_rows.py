"""Tables that come as columns, what EXPLAIN says of each operator, and which records each worked on as columns."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.table import DataTypes, Schema, StreamTableEnvironment
from penstock.table.udf import udf

ROWS = 3_000
_FIELDS = {
    "k": Types.LONG(),
    "name": Types.STRING(),
    "price": Types.DOUBLE(),
    "tags": Types.LIST(Types.STRING()),
    "ms": Types.LONG(),
}
_FORM = re.compile(r"<(\w+)> uid=([^\s*]+)\*?\n {12}(columns|rows: .*|columns, but .*)$", re.MULTILINE)


def made(numbers: Any) -> dict[str, Any]:
    names = pa.array([f"n{number % 5}" for number in numbers.tolist()])
    return {"k": numbers % 7, "name": names, "price": numbers / 4, "ms": numbers * 10}


def made_with_tags(numbers: Any) -> dict[str, Any]:
    return {**made(numbers), "tags": pa.array([["a"]] * len(numbers))}


def slow(name: str) -> str:
    return name


def environment() -> StreamTableEnvironment:
    """Views `c` and `d` of columns, `tagged` with an ARRAY, and the function slow()."""
    env = StreamExecutionEnvironment.in_process().set_parallelism(1)
    tables = StreamTableEnvironment.create(env)
    for name, function in {"c": made, "d": made, "tagged": made_with_tags}.items():
        names = [each for each in _FIELDS if each in function(np.arange(1))]
        declared = Types.ROW_NAMED(names, [_FIELDS[each] for each in names])
        stream = env.from_source(DataGeneratorSource.of_columns(function, ROWS, declared), None, name)
        schema = Schema.new_builder()
        for each in names:
            schema = schema.column(each, _DECLARED[each])
        schema = schema.column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)").watermark("ts", "ts")
        tables.create_temporary_view(name, stream, schema.build())
    tables.create_temporary_function("slow", udf(slow, result_type=DataTypes.STRING()))
    return tables


_DECLARED = {"k": "BIGINT", "name": "STRING", "price": "DOUBLE", "tags": "ARRAY<STRING>", "ms": "BIGINT"}


def forms(text: str) -> dict[str, tuple[str, str]]:
    """Class and form of each operator with two forms, by uid, as EXPLAIN or `explain()` has them."""
    return {uid: (kind, form) for kind, uid, form in _FORM.findall(text)}


def explained(tables: StreamTableEnvironment, query: str) -> list[tuple[str, str]]:
    """Class and form of the operators of a query, in their order."""
    return list(forms(tables.explain_sql(query)).values())


def counted(tables: StreamTableEnvironment, query: str) -> dict[str, tuple[int, int]]:
    """The records that each operator worked on as columns and as rows, by uid."""
    result = tables.execute_sql(query)
    for _ in result.collect():
        pass
    client = result.get_job_client()
    assert client is not None
    figures = client.metrics().values()
    return {each["uid"]: (each["column_records"], each["row_records"]) for each in figures if "row_records" in each}
