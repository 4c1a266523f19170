"""Jobs whose states change their types: from a savepoint, a checkpoint of another job, or one of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock.common import Types
from penstock.common.state_type import StateType
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import (
    CheckpointedFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
    state_aliases,
)
from penstock.errors import CheckpointError, JobFailedError, PickledStateWarning
from penstock.savepoint import open_origin
from penstock.testing import CollectSink, InProcessJobClient
from tests.unit.savepoint.ledger import Start, run_some, started

COUNT, KEYS = 40, 4


class OldTotals(NamedTuple):
    count: int
    sum: int


@state_aliases(total="sum")
@dataclass
class NewTotals:
    total: float
    count: int
    note: str = "none"


@dataclass
class WrongTotals:
    count: str
    sum: int


class Summing(KeyedProcessFunction):
    """Keeps totals of the type it is given; emits them as plain tuples."""

    def __init__(self, totals: Any, map_key: StateType | None = None) -> None:
        self.totals = totals
        self.map_key = Types.INT() if map_key is None else map_key

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("totals", self.totals))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", self.map_key, Types.INT()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        held = self.state.value()
        self.seen.put(value, 1)
        if self.totals is NewTotals:
            held = held or NewTotals(0.0, 0)
            self.state.update(NewTotals(held.total + value, held.count + 1, held.note))
            yield ctx.get_current_key(), held.count + 1, held.total + value
        else:
            held = held or (0, 0)
            self.state.update(OldTotals(held[0] + 1, held[1] + value))
            yield ctx.get_current_key(), held[0] + 1, held[1] + value


class Keeping(MapFunction, CheckpointedFunction):
    """Keeps all values in operator state of the type it is given."""

    def __init__(self, element: StateType | None) -> None:
        self.element = element
        self.kept: list[Any] = []

    def initialize_state(self, context: Any) -> None:
        self.states = context.get_operator_state_store().get_list_state(ListStateDescriptor("kept", self.element))
        self.kept = list(self.states.get())

    def snapshot_state(self, context: Any) -> None:
        self.states.update(self.kept)

    def map(self, value: Any) -> Any:
        self.kept.append(value[2])
        return (*value, len(self.kept))


Program = tuple[StreamExecutionEnvironment, CollectSink]


def program(start: Start, function: KeyedProcessFunction, element: StateType | None = None) -> Program:
    environment = start.environment()
    numbers = environment.from_source(DataGenerator(lambda n: n, COUNT), None, "numbers").uid("numbers")
    summed = numbers.key_by(lambda n: n % KEYS).process(function).uid("sums").name("Sums")
    kept = summed.map(Keeping(Types.INT() if element is None else element)).uid("keeping").name("Keeping")
    sink = CollectSink()
    kept.add_sink(sink).uid("sink")
    return environment, sink


def oracle() -> list[tuple[int, int, int]]:
    return sorted((n % KEYS, n // KEYS + 1, sum(range(n % KEYS, n + 1, KEYS))) for n in range(COUNT))


def results(sink: CollectSink) -> list[Any]:
    return [value[:3] for value in sink.results]


def begun(start: Start) -> tuple[InProcessJobClient, list[Any]]:
    environment, sink = program(start, Summing(OldTotals))
    client = started(environment)
    run_some(client, 2)
    return client, results(sink)


def starting(tmp_path: Path, **more: Any) -> Start:
    return Start(tmp_path / "out", batch=10, seed=None, **more)


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize("origin", ["savepoint", "checkpoint"])
def test_a_job_goes_on_with_changed_types(tmp_path: Path, origin: str, parallelism: int) -> None:
    client, before = begun(starting(tmp_path, checkpoint=tmp_path / "first"))
    if origin == "savepoint":
        place = client.stop_with_savepoint(False, str(tmp_path)).result()
    else:
        client.cancel()
        place = str(tmp_path / "first")
    start = starting(tmp_path, recovery=place, parallelism=parallelism, checkpoint=tmp_path / "second")
    environment, sink = program(start, Summing(NewTotals, Types.DOUBLE()), Types.DOUBLE())
    started(environment).wait()
    assert sorted(before + results(sink)) == oracle()


def test_a_savepoint_tells_the_types_of_its_states(tmp_path: Path) -> None:
    client, _ = begun(starting(tmp_path))
    origin = open_origin(client.stop_with_savepoint(False, str(tmp_path)).result())
    schemas = origin.manifest.operators["sums"].schemas
    assert [each["name"] for each in schemas["totals"]["value"][0]["fields"]] == ["count", "sum"]
    assert schemas["seen"] == {"map_key": [{"type": "INT"}], "value": [{"type": "INT"}]}
    again = starting(tmp_path, recovery=origin.place)
    environment, _ = program(again, Summing(NewTotals), Types.DOUBLE())
    client = started(environment)
    run_some(client, 1)
    both = open_origin(client.stop_with_savepoint(False, str(tmp_path)).result())
    names = [
        [each["name"] for each in one["fields"]] for one in both.manifest.operators["sums"].schemas["totals"]["value"]
    ]
    assert sorted(names) == [["count", "sum"], ["total", "count", "note"]]


REFUSED = [
    (Summing(WrongTotals), r"field 'count' was LONG and is STRING now: LONG may only become"),
    (Summing(None), r"it was OldTotals\(count: LONG, sum: LONG\) and has no declared type now"),
    (Summing(OldTotals, Types.STRING()), "as for the key of the map, it was INT and is STRING now"),
]


@pytest.mark.parametrize(("function", "reason"), REFUSED)
def test_types_that_cannot_read_a_savepoint_are_refused_before_the_job_starts(
    tmp_path: Path, function: Summing, reason: str
) -> None:
    client, before = begun(starting(tmp_path))
    place = client.stop_with_savepoint(False, str(tmp_path)).result()
    start = starting(tmp_path, recovery=place, checkpoint=tmp_path / "second")
    environment, _ = program(start, function)
    with pytest.raises(
        CheckpointError, match=rf"state '\w+' of operator 'Sums' \(uid 'sums'\) cannot resume .*{reason}"
    ):
        started(environment)
    # The directory can be used by the corrected program.
    environment, sink = program(start, Summing(OldTotals))
    started(environment).wait()
    assert sorted(before + results(sink)) == oracle()


@pytest.mark.parametrize(("function", "reason"), REFUSED)
def test_they_are_refused_on_the_directory_of_the_job_itself_too(
    tmp_path: Path, function: Summing, reason: str
) -> None:
    start = starting(tmp_path, checkpoint=tmp_path / "ck")
    client, before = begun(start)
    client.cancel()
    environment, _ = program(start, function)
    with pytest.raises(CheckpointError, match=rf"of operator 'Sums' \(uid 'sums'\) cannot resume .*{reason}"):
        started(environment)
    environment, sink = program(start, Summing(NewTotals), Types.DOUBLE())
    started(environment).wait()
    assert sorted(before + results(sink)) == oracle()


def test_a_type_of_operator_state_is_refused_before_any_record(tmp_path: Path) -> None:
    client, _ = begun(starting(tmp_path))
    place = client.stop_with_savepoint(False, str(tmp_path)).result()
    environment, sink = program(starting(tmp_path, recovery=place), Summing(OldTotals), Types.STRING())
    with pytest.raises(JobFailedError, match=r"(?s)State 'kept' cannot be read .* it was INT and is STRING.*'Keeping'"):
        started(environment).wait()
    assert sink.results == []


def test_a_value_of_another_type_fails_the_job_naming_operator_and_state(tmp_path: Path) -> None:
    environment, _ = program(starting(tmp_path), Summing(WrongTotals))
    with pytest.raises(JobFailedError, match=r"(?s)State 'totals' is declared as WrongTotals.*in operator 'Sums'"):
        started(environment).wait()


def test_pickled_states_are_told_once_for_each_operator(tmp_path: Path) -> None:
    environment, _ = program(starting(tmp_path), Summing(None), Types.PICKLED_BYTE_ARRAY())
    with pytest.warns(PickledStateWarning) as told:
        started(environment).wait()
    texts = sorted(str(each.message) for each in told)
    assert len(texts) == 2
    assert texts[0].startswith("operator 'Keeping' (uid 'keeping') pickles its state 'kept': ")
    assert texts[1].startswith("operator 'Sums' (uid 'sums') pickles its state 'totals': ")


@pytest.mark.filterwarnings("error")
def test_what_penstock_keeps_for_itself_is_not_told_of(tmp_path: Path) -> None:
    environment, sink = program(starting(tmp_path), Summing(OldTotals))
    keyed = environment.from_collection([1, 2, 3]).key_by(lambda n: n % 2)
    keyed.reduce(lambda a, b: a + b).add_sink(sink)
    keyed.count_window(1).reduce(lambda a, b: a + b).add_sink(sink)
    started(environment).wait()
