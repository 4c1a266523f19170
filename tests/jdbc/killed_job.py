"""The job that the kill tests kill: numbered records, a count for each key from state, and plain inserts.

A statement that would hide a record written twice would hide the fault that the test looks for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration, RestartStrategies, Row, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.state import ValueStateDescriptor

KEYS = 7
TYPE = Types.ROW_NAMED(["number", "key", "nth"], [Types.LONG(), Types.INT(), Types.LONG()])


class Numbering(KeyedProcessFunction):
    """Says of every number which one of its key it is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        nth = (self.count.value() or 0) + 1
        self.count.update(nth)
        yield Row(value, value % KEYS, nth)


def faults(rows: list[tuple[int, int, int]], count: int) -> list[str]:
    """What is wrong with the rows of a whole run: each number must be there once, and each key counted through."""
    found = []
    if sorted(number for number, _, _ in rows) != list(range(count)):
        found.append(f"{len(rows)} rows of {len({number for number, _, _ in rows})} numbers instead of {count}")
    for key in range(KEYS):
        counted = sorted(nth for _, of, nth in rows if of == key)
        if counted != list(range(1, len(range(key, count, KEYS)) + 1)):
            found.append(f"key {key} was not counted through")
    return found


def build(environment: StreamExecutionEnvironment, url: str, table: str, count: int) -> None:
    """The program."""
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build()
    source = DataGeneratorSource(lambda number: number, count)
    numbers = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    counted = numbers.key_by(lambda number: number % KEYS).process(Numbering()).uid("counted")
    sink = JdbcSink.exactly_once_sink(f"INSERT INTO {table} VALUES (?, ?, ?)", TYPE, options)
    sink.inline_bytes = 2_000  # some stages in the seal, some in files
    counted.sink_to(sink).uid("table")


def main(url: str, table: str, count: str, configuration: str) -> None:
    """Run it as a program of its own."""
    environment = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(json.loads(Path(configuration).read_text()))
    )
    environment.set_parallelism(2)
    # Where the machine is very busy, Spark gives up waiting for a process of its own: a restart, as in production.
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(100, 500))
    build(environment, url, table, int(count))
    environment.execute("numbers to a table")


if __name__ == "__main__":
    main(*sys.argv[1:])
