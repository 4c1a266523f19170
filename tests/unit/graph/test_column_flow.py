"""`explain()` of streams says which operators work on columns and which on records, and why; and so it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.connectors.generated.collection import CollectionSource
from penstock.connectors.generated.held_rows import RowSource
from penstock.connectors.generated.sequence import NumberSequence
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.source import JdbcSource
from penstock.connectors.socket_source import SocketSource
from penstock.connectors.source import Source, SplitSource
from penstock.datastream import DataStream, StreamExecutionEnvironment, count, sum_of
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSource
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.expressions import col, lit
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.datastream.window import TumblingEventTimeWindows

ROWS = 2_000
RECORD = Types.ROW_NAMED(["user", "price", "ms"], [Types.LONG(), Types.LONG(), Types.LONG()])
LINE = re.compile(r"^ {8}(.+?) <\w+> uid=([^\s*]+)\*?.*\n {12}(columns|columns, .*|rows: .*)$", re.MULTILINE)


def user_of(row: Any) -> Any:
    return row.user


def time_of(row: Any, timestamp: int) -> Any:
    return row.ms


def parse(row: Any) -> Any:
    return row


def trades(env: StreamExecutionEnvironment, assigner: Any = "ms") -> DataStream[Any]:
    def made(numbers: Any) -> dict[str, Any]:
        return {"user": numbers % 9, "price": numbers, "ms": numbers * 10}

    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    source = DataGeneratorSource.of_columns(made, ROWS, RECORD)
    return env.from_source(source, strategy.with_timestamp_assigner(assigner), "trades").name("source")


def summed(stream: DataStream[Any], key: Any) -> DataStream[Any]:
    return stream.key_by(key).window(TumblingEventTimeWindows.of(Time.seconds(5))).aggregate_fields(sum_of("price"))


Build = Callable[[StreamExecutionEnvironment], DataStream[Any]]
PIPELINES: dict[str, tuple[Build, str, str]] = {
    "source": (lambda env: trades(env), "Source: source", "columns"),
    "timestamps by a function": (
        lambda env: trades(env, time_of),
        "Source: source",
        "rows: the Python function time_of() reads each timestamp",
    ),
    "a collection": (
        lambda env: env.from_collection([1, 2]).name("source"),
        "Source: source",
        "rows: the source gives records one by one",
    ),
    "expressions": (lambda env: trades(env).filter(col("price") > 3).name("it"), "it", "columns"),
    "selected fields": (lambda env: trades(env).select(col("user"), col("price")).name("it"), "it", "columns"),
    "a constant": (
        lambda env: trades(env).filter(lit(Decimal("1.5")) < col("price")).name("it"),
        "it",
        "rows: the constant Decimal('1.5') is a Decimal",
    ),
    "a function": (
        lambda env: trades(env).map(parse).name("it"),
        "it",
        "rows: the Python function parse() is called for each record",
    ),
    "behind a function": (
        lambda env: trades(env).map(parse).filter(col("price") > 3).name("it"),
        "it",
        "rows: its records come as rows",
    ),
    "behind a function that filters": (
        lambda env: trades(env).filter(lambda row: True).select(col("price")).name("it"),
        "it",
        "rows: its records come as rows",
    ),
    "a running aggregate": (
        lambda env: trades(env).key_by("user").aggregate_fields(count()).name("it"),
        "it",
        "columns",
    ),
    "a running aggregate behind a key function": (
        lambda env: trades(env).key_by(user_of).aggregate_fields(count()).name("it"),
        "it",
        "rows: its records come as rows",
    ),
    "watermarks anew": (
        lambda env: (
            trades(env)
            .assign_timestamps_and_watermarks(
                WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("ms")
            )
            .name("it")
        ),
        "it",
        "columns",
    ),
    "before the exchange": (lambda env: summed(trades(env), "user"), "(local)", "columns"),
    "before the exchange by a function": (
        lambda env: summed(trades(env), user_of),
        "(local)",
        "rows: the Python function user_of() selects each key",
    ),
}


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.in_process().set_parallelism(1)


def shown(text: str) -> list[tuple[str, str, str]]:
    """Name, uid and form of each operator that has two forms."""
    return LINE.findall(text)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_explain_says_what_an_operator_works_on_and_so_it_is(pipeline: str) -> None:
    build, name, form = PIPELINES[pipeline]
    env = environment()
    build(env).print()
    said = shown(env.explain())
    assert [told for each, _, told in said if name in each] == [form]
    client = env.execute_async("job")
    client.wait()
    figures = {each["uid"]: each for each in client.metrics().values() if "row_records" in each}
    assert sorted(uid for _, uid, _ in said) == sorted(figures)
    for _, uid, told in said:
        assert bool(figures[uid]["column_records"]) is told.startswith("columns")
        assert bool(figures[uid]["row_records"]) is told.startswith("rows")


def test_columns_that_a_block_does_not_allow_are_counted_as_rows() -> None:
    """Whether a whole number fits into 64 bits is found in the data: `explain()` cannot know."""
    env = environment()
    made = trades(env).select((col("price") * 2**62).alias("large")).name("it")
    made.print()
    assert [told for each, _, told in shown(env.explain()) if each == "it"] == ["columns"]
    client = env.execute_async("job")
    client.wait()
    assert (client.metrics()["it"]["column_records"], client.metrics()["it"]["row_records"]) == (0, ROWS)


@pytest.mark.parametrize(
    "source",
    [
        CollectionSource([1]),
        RowSource([(1,)]),
        NumberSequence(0, 1),
        SocketSource("localhost", 1),
        JdbcSource("SELECT 1", database_of("jdbc:sqlite:none")),
    ],
    ids=lambda source: type(source).__name__,
)
def test_sources_of_single_records_say_so(source: Source[Any]) -> None:
    assert source.gives_columns() is False


class OwnSource(SplitSource[Any]):
    """A source of the program: nobody knows what it gives."""

    def is_bounded(self) -> bool:
        return True

    def split_count(self, parallelism: int) -> int:
        return 1

    def split_end(self, split: int, split_count: int) -> int:
        return 0

    def read(self, split: int, split_count: int, start: int, stop: int) -> Iterator[Any]:
        return iter(())


def test_what_nobody_knows_is_not_said() -> None:
    env = environment()
    env.from_source(OwnSource(), None, "own").filter(col("price") > 3).name("it").print()
    forms = [told for _, _, told in shown(env.explain())]
    assert forms == ["columns, where its records come as columns"] * 2
    assert DataGeneratorSource.of_columns(lambda numbers: {"n": numbers}, 1).gives_columns()
    assert DataGeneratorSource(lambda number: number, 1).gives_columns() is False


def test_files_of_columns_give_them_unless_a_function_makes_records(tmp_path: Path) -> None:
    assert FileSource.parquet(str(tmp_path)).gives_columns()
    assert FileSource.text(str(tmp_path)).gives_columns() is None
    assert FileSource.parquet(str(tmp_path), row_format=lambda record: record).gives_columns() is False


@pytest.mark.parametrize("has_columns", [True, False])
def test_messages_of_kafka_are_columns_if_their_schema_decodes_many_at_once(has_columns: bool) -> None:
    schema: Any = SimpleStringSchema()
    if has_columns:
        schema = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["n"], [Types.LONG()])).build()
    builder = KafkaSource.builder().set_bootstrap_servers("localhost:1").set_topics("t").set_group_id("g")
    assert builder.set_value_only_deserializer(schema).build().gives_columns() is has_columns
