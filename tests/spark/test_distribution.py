"""How records reach subtasks: partitioners, parallelism, chaining, and shapes of the graph computed once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.datastream import (
    DataStream,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from tests.spark.collecting import collect_all
from tests.spark.conftest import NewEnvironment

COUNT = 24
NUMBERS = list(range(COUNT))
LOW = OutputTag("low")
LOWEST = OutputTag("lowest")


class Stamped(MapFunction):
    """Adds the number of the subtask that saw the record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: Any) -> tuple[Any, ...]:
        self.seen.inc()
        path = value if isinstance(value, tuple) else (value,)
        return (*path, self.index)


class ByRemainder(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


class Split(ProcessFunction):
    def __init__(self, tag: OutputTag, limit: int) -> None:
        self.tag = tag
        self.limit = limit

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
        if value < self.limit:
            ctx.output(self.tag, value)
        yield value


class Discard(SinkFunction):
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        pass


def stamped(stream: DataStream, parallelism: int = 3) -> DataStream:
    return stream.map(Stamped()).set_parallelism(parallelism)


@pytest.fixture(scope="module")
def paths(spark: SparkSession) -> dict[str, list[Any]]:
    """Records with the subtasks they went through, by how they were dealt out."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    source = environment.from_collection(NUMBERS)
    first = stamped(source, 2)  # rebalanced from 1 to 2
    return collect_all(
        {
            "1 to 3 to 2": stamped(stamped(source, 3), 2),
            "forward chained": stamped(first, 2),
            "forward said": stamped(first.forward(), 2),
            "forward not chained": stamped(first, 2).disable_chaining(),
            "new chain": stamped(first, 2).start_new_chain(),
            "shuffle": stamped(first.shuffle()),
            "rebalance": stamped(first.rebalance()),
            "rescale up": stamped(first.rescale(), 4),
            "rescale down": stamped(stamped(source, 4).rescale(), 2),
            "broadcast": stamped(first.broadcast()),
            "global": stamped(first.global_()),
            "custom class": stamped(source.partition_custom(ByRemainder(), lambda value: value)),
            "custom lambda": stamped(first.partition_custom(lambda key, count: key % count, 0)),
        }
    )


def spread(records: list[Any]) -> Counter[int]:
    return Counter(path[-1] for path in records)


def values(records: list[Any]) -> list[int]:
    return sorted(path[0] for path in records)


@pytest.mark.parametrize(
    "way",
    ["1 to 3 to 2", "forward chained", "forward said", "forward not chained", "new chain", "shuffle", "rebalance",
     "rescale up", "rescale down", "global", "custom class", "custom lambda"],
)  # fmt: skip
def test_every_record_arrives_once(paths: dict[str, list[Any]], way: str) -> None:
    assert values(paths[way]) == NUMBERS


def test_changing_parallelism_deals_records_out_evenly(paths: dict[str, list[Any]]) -> None:
    assert Counter(path[1] for path in paths["1 to 3 to 2"]) == {0: 8, 1: 8, 2: 8}
    assert spread(paths["1 to 3 to 2"]) == {0: 12, 1: 12}


@pytest.mark.parametrize("way", ["forward chained", "forward said", "forward not chained", "new chain"])
def test_forward_stays_in_its_subtask(paths: dict[str, list[Any]], way: str) -> None:
    assert all(before == after for _, before, after in paths[way])
    assert set(spread(paths[way])) == {0, 1}


def test_shuffle_reaches_all_subtasks(paths: dict[str, list[Any]]) -> None:
    assert set(spread(paths["shuffle"])) == {0, 1, 2}


def test_rebalance_deals_each_senders_records_out_evenly(paths: dict[str, list[Any]]) -> None:
    assert Counter((before, after) for _, before, after in paths["rebalance"]) == {
        (before, after): 4 for before in (0, 1) for after in (0, 1, 2)
    }


def test_rescale_reaches_only_the_near_subtasks(paths: dict[str, list[Any]]) -> None:
    assert {(before, after) for _, before, after in paths["rescale up"]} == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert {(before, after) for _, before, after in paths["rescale down"]} == {(0, 0), (1, 0), (2, 1), (3, 1)}


def test_broadcast_brings_each_record_to_each_subtask_once(paths: dict[str, list[Any]]) -> None:
    expected = {(value, index): 1 for value in NUMBERS for index in (0, 1, 2)}
    assert Counter((path[0], path[-1]) for path in paths["broadcast"]) == expected


def test_global_goes_to_the_first_subtask(paths: dict[str, list[Any]]) -> None:
    assert set(spread(paths["global"])) == {0}


@pytest.mark.parametrize("way", ["custom class", "custom lambda"])
def test_partitioner_decides(paths: dict[str, list[Any]], way: str) -> None:
    assert all(path[-1] == path[0] % 3 for path in paths[way])


def test_shared_upstream_is_computed_once_whatever_hangs_below_it(
    new_environment: NewEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = new_environment(2, **{"penstock.batch.max-records": 10})
    other = environment.from_collection([100, 101])
    shared = environment.from_collection(NUMBERS).union(other).map(Stamped()).uid("shared")
    plain = shared.map(lambda path: path[0])
    left = plain.filter(lambda value: value % 2 == 0)
    right = plain.filter(lambda value: value % 2 == 1).rebalance().map(lambda value: value)
    low = left.union(right).process(Split(LOW, 10)).uid("diamond")  # the diamond closes at different levels
    lowest = low.get_side_output(LOW).key_by(lambda value: value % 2).map(lambda value: value).process(Split(LOWEST, 3))
    low.print("all")
    lowest.get_side_output(LOWEST).print("lowest")
    shared.add_sink(Discard()).uid("sink")
    client: Any = environment.execute_async()
    client.wait()
    metrics = client.metrics()
    assert metrics["shared"]["records_in"] == COUNT + 2
    assert metrics["shared"]["seen"] == COUNT + 2
    assert metrics["diamond"]["records_in"] == COUNT + 2
    assert metrics["diamond"]["side_records_out"] == 10
    assert metrics["sink"]["records_in"] == COUNT + 2
    assert client.progress().batch >= 2  # the counters above held over several batches
    assert client.progress().records == COUNT + 2
    printed = [line.partition("> ") for line in capsys.readouterr().out.splitlines()]
    assert sorted(int(value) for lead, _, value in printed if lead.startswith("all")) == [*NUMBERS, 100, 101]
    assert sorted(int(value) for lead, _, value in printed if lead.startswith("lowest")) == [0, 1, 2]


def test_explain_shows_levels_chains_and_exchanges(new_environment: NewEnvironment) -> None:
    environment = new_environment(2)
    stream = environment.from_sequence(1, 3).map(lambda value: value).name("first").uid("first-uid")
    stream.filter(bool).key_by(lambda value: value).map(lambda value: value).name("keyed").print()
    text = environment.explain()
    assert "Level 0 (sources)" in text
    assert "Source: Sequence Source -> first -> Filter, parallelism 2 (max 128)" in text
    assert "first <MapOperator> uid=first-uid\n" in text
    assert "--keyed--> [1]" in text
    assert "--to driver--> [2]" in text
    assert "Sink: Print to Std. Out" in text
