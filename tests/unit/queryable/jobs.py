"""Jobs in process whose state is queried, and what plain Python says that their state is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.checkpoint import CheckpointDirectory
from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.engine.in_process.client import InProcessJobClient
from penstock.queryable import Replica, StateQuery, answer

Record = tuple[str, int]


class Keeps(KeyedProcessFunction):
    """Keeps the records of a key in state of every kind; every seventh record clears its value and its map."""

    def open(self, runtime_context: RuntimeContext) -> None:
        count = ValueStateDescriptor("count", Types.LONG())
        count.set_queryable("counts")
        self.count = runtime_context.get_state(count)
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.LONG()))
        self.last = runtime_context.get_list_state(ListStateDescriptor("last", Types.LONG()))
        total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        self.total = runtime_context.get_reducing_state(total)

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> Iterator[Record]:
        number = value[1]
        if number % 7 == 0:
            self.count.clear()
            self.seen.clear()
        else:
            self.count.update((self.count.value() or 0) + 1)
            self.seen.put(f"n{number % 10}", number)
        self.last.add(number)
        self.total.add(number)
        yield value


def records_of(count: int, keys: int = 6) -> list[Record]:
    return [(f"k{number % keys}", number) for number in range(count)]


def expected_state(records: list[Record]) -> dict[str, dict[str, Any]]:
    """The state of each key after these records."""
    found: dict[str, dict[str, Any]] = {}
    for key, number in records:
        state = found.setdefault(key, {"count": None, "seen": {}, "last": [], "total": 0})
        if number % 7 == 0:
            state["count"], state["seen"] = None, {}
        else:
            state["count"] = (state["count"] or 0) + 1
            state["seen"][f"n{number % 10}"] = number
        state["last"].append(number)
        state["total"] += number
    return found


def environment(directory: Path | str, seed: int = 1, **options: Any) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(directory))
    configuration.set_string("penstock.batch.max-records", str(options.pop("batch", 7)))
    for name, value in options.pop("settings", {}).items():
        configuration.set_string(name, value)
    made = StreamExecutionEnvironment.in_process(seed, configuration=configuration, **options)
    made.set_parallelism(3)
    return made


def counting_job(directory: Path | str, records: list[Record], seed: int = 1, **options: Any) -> InProcessJobClient:
    """A job that keeps records by key, in batches of seven or fewer; nothing has run yet."""
    made = environment(directory, seed, **options)
    keyed = made.from_collection(records).uid("numbers").key_by(lambda record: record[0], Types.STRING())
    keyed.process(Keeps()).uid("keeps").name("Keep").print()
    client = made.execute_async("keeping")
    assert isinstance(client, InProcessJobClient)
    return client


def run_all(client: InProcessJobClient, after_batch: Callable[[], object] = lambda: None) -> None:
    while client.run_batch():
        after_batch()
    after_batch()


def queried_state(replica: Replica, keys: list[str]) -> tuple[int, dict[str, dict[str, Any]]]:
    """The version that is held, and what keys have in it, by as many queries as there are states."""
    versions = set()
    found: dict[str, dict[str, Any]] = {key: {} for key in keys}
    for state in ("count", "seen", "last", "total"):
        answered = answer(replica, StateQuery(keys=list(keys), operator="keeps", state=state))
        versions.add(answered["version"])
        for result in answered["results"]:
            value = dict(result["entries"]) if "entries" in result else result.get("value")
            found[result["key"]][state] = value
    (version,) = versions
    return version, found


def position_in(directory: Path | str, version: int) -> int:
    """How many records a sealed version has read."""
    seal = CheckpointDirectory(str(directory)).read_seal(version)
    assert seal is not None and seal.offset is not None
    return sum(seal.offset.positions["numbers"])


def is_as_expected(found: dict[str, dict[str, Any]], records: list[Record]) -> None:
    expected = expected_state(records)
    for key, states in found.items():
        wanted = expected.get(key, {"count": None, "seen": None, "last": None, "total": None})
        assert states["count"] == wanted["count"]
        assert (states["seen"] or {}) == (wanted["seen"] or {})
        assert (states["last"] or []) == (wanted["last"] or [])
        assert states["total"] == wanted["total"]
