"""A job whose state is queried while it is killed: `python -m tests.spark.jobs.queried FOLDER COUNT RATE SETTINGS`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor

KEYS = 7


def number(index: int) -> int:
    """A record is its number."""
    return index


class Keep(KeyedProcessFunction):
    """Keeps all numbers of a key, and their sum."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the states."""
        total = ValueStateDescriptor("total", Types.LONG())
        total.set_queryable("totals")
        self._total = runtime_context.get_state(total)
        self._numbers = runtime_context.get_list_state(ListStateDescriptor("numbers", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """Keep one number."""
        self._total.update((self._total.value() or 0) + value)
        self._numbers.add(value)
        yield value


def main(folder: str, count: str, rate: str, settings: str) -> None:
    """Run the job to its end."""
    configuration = Configuration()
    for key, value in {"spark.master": "local[2,4]", **json.loads(settings)}.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(2)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(f"{folder}/checkpoint")
    source = DataGeneratorSource(number, int(count), RateLimiterStrategy(float(rate)))
    # One split, so that its position tells which numbers a version has seen.
    numbers = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").set_parallelism(1)
    keyed = numbers.uid("numbers").key_by(lambda value: value % KEYS, Types.LONG())
    keyed.process(Keep()).uid("keep").print()
    environment.execute("queried")


if __name__ == "__main__":
    main(*sys.argv[1:])
