"""Interactive queries: stores of an application, read from its checkpoint directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import StreamsError
from penstock.kstreams import (
    Consumed,
    KeyValue,
    Materialized,
    QueryableStoreType,
    QueryableStoreTypes,
    Serdes,
    SessionWindows,
    StoreQueryParameters,
    StreamsBuilder,
    TimeWindows,
    Topology,
    ValueAndTimestamp,
    Window,
    Windowed,
)
from penstock.kstreams.queries import queried_store
from penstock.kstreams.translation import Application, Translation
from penstock.queryable import Replica
from penstock.runtime.operators.kstreams.routing import partition_of_bytes

TEXT = Serdes.String()
PARTITIONS = 3
RECORDS = [("a", "x", 1), ("b", "x", 2), ("a", "y", 3), ("c", "z", 14), ("a", "z", 15)]


def topology() -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", Consumed.with_(TEXT, TEXT)).group_by_key()
    grouped.count(Materialized.as_("counts")).to_stream().to("out")
    grouped.windowed_by(TimeWindows.of_size_and_grace(10, 50)).count(Materialized.as_("windows"))
    grouped.windowed_by(SessionWindows.of_inactivity_gap_and_grace(5, 50)).count(Materialized.as_("sessions"))
    return builder.build()


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Run a job to its end, and give what asks for its stores by name and type."""
    folder: Path = tmp_path_factory.mktemp("checkpoint")
    configuration = Configuration()
    configuration.set_string("penstock.engine", "in-process")
    configuration.set_string("execution.checkpointing.dir", str(folder))
    environment = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    built = topology()
    built.with_default_serdes(TEXT, TEXT)
    translation = Translation(built, Application("test", {}, {"in": PARTITIONS}), environment)
    (reading,) = translation.readings()
    rows = [
        row
        for offset, (key, value, time) in enumerate(RECORDS)
        for row in reading.schema.arrivals(
            key.encode(), value.encode(), time, (), ("in", partition_of_bytes(key.encode(), PARTITIONS), offset)
        )
    ]
    results = translation.build([(reading, environment.from_collection(rows))])
    assert results is not None
    assert len(list(results.execute_and_collect())) == len(RECORDS)
    with Replica(str(folder), allows_pickles=True) as replica:

        def store(name: str, kind: QueryableStoreType, partition: int | None = None) -> Any:
            parameters = StoreQueryParameters.from_name_and_type(name, kind)
            chosen = parameters if partition is None else parameters.with_partition(partition)
            return queried_store(replica, translation.store_places(), chosen)

        yield store


def test_a_key_is_found_in_its_partition(ask: Any) -> None:
    counts = ask("counts", QueryableStoreTypes.key_value_store())
    assert (counts.get("a"), counts.get("b"), counts.get("nobody")) == (3, 1, None)
    assert list(counts.all()) == [KeyValue("a", 3), KeyValue("b", 1), KeyValue("c", 1)]
    assert list(counts.range("b", None)) == [KeyValue("b", 1), KeyValue("c", 1)]
    stamped = ask("counts", QueryableStoreTypes.timestamped_key_value_store())
    assert stamped.get("a") == ValueAndTimestamp(3, 15)


def test_one_partition_has_its_keys_only(ask: Any) -> None:
    kind = QueryableStoreTypes.key_value_store()
    found = [[entry.key for entry in ask("counts", kind, partition).all()] for partition in range(PARTITIONS)]
    assert found == [[k for k in "abc" if partition_of_bytes(k.encode(), PARTITIONS) == p] for p in range(PARTITIONS)]
    with pytest.raises(StreamsError, match="partitions 0 to 2"):
        ask("counts", kind, PARTITIONS)


def test_windows_and_sessions_are_found(ask: Any) -> None:
    windows = ask("windows", QueryableStoreTypes.window_store())
    assert (windows.fetch("a", 0), windows.fetch("a", 10), windows.fetch("b", 10)) == (2, 1, None)
    assert list(windows.fetch("a", 0, 100)) == [(0, 2), (10, 1)]
    assert len(list(windows.all())) == 4
    sessions = ask("sessions", QueryableStoreTypes.session_store())
    assert list(sessions.fetch("a")) == [
        KeyValue(Windowed("a", Window(1, 3)), 2),
        KeyValue(Windowed("a", Window(15, 15)), 1),
    ]


def test_a_wrong_name_or_type_says_what_there_is(ask: Any) -> None:
    with pytest.raises(StreamsError, match=r"no state store 'count'; its stores: counts, sessions, windows"):
        ask("count", QueryableStoreTypes.key_value_store())
    with pytest.raises(StreamsError, match="'counts' is a key_value store, not a window store"):
        ask("counts", QueryableStoreTypes.window_store())
