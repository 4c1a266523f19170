"""Patterns that come and go, through the public API in process: kinds of functions, crashes, savepoints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.cep import CEP, Pattern, PatternProcessFunction, PatternUpdate
from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.data_stream import DataStream
from penstock.errors import GraphError, PenstockError
from penstock.testing import CollectSink, InProcessJobClient
from tests.unit.cep.test_dynamic_operator import put

TIMEOUTS, BAD = OutputTag("timeouts"), OutputTag("bad")
EVENTS = [("a", 1, "k"), ("a", 2, "l"), ("b", 3, "k"), ("x", 4, "l"), ("b", 20, "l")]


def timed(stream: DataStream, time: Any) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: time(event))
    return stream.assign_timestamps_and_watermarks(strategy)


def looking(environment: StreamExecutionEnvironment, updates: list[Any], events: list[Any] = EVENTS) -> Any:
    """Patterns whose updates are there before all events."""
    stream = timed(environment.from_collection(events), lambda event: event[1]).key_by(lambda event: event[2])
    return CEP.dynamic_patterns(
        stream, timed(environment.from_collection(updates), lambda _: 0)
    ).updates_in_event_time()


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return sorted(results)


UPDATES = [put("ab", "ab", within_ms=10), json.dumps(put("x", "x"))]


def test_functions_may_take_the_id_of_the_pattern() -> None:
    def key(match: dict[str, list[Any]]) -> Any:
        return next(iter(match.values()))[0][2]

    def collecting(match: dict[str, list[Any]], name: str, out: Any) -> None:
        out.collect((key(match), name))

    functions: list[tuple[str, Any, list[Any]]] = [
        ("select", key, ["k", "l"]),
        ("select", lambda match, name: (key(match), name), [("k", "ab"), ("l", "x")]),
        ("flat_select", lambda match: [key(match)], ["k", "l"]),
        ("flat_select", lambda match, name: [(key(match), name)], [("k", "ab"), ("l", "x")]),
        ("flat_select", collecting, [("k", "ab"), ("l", "x")]),
    ]
    for method, function, found in functions:
        patterns = looking(StreamExecutionEnvironment.in_process(), UPDATES)
        assert collected(getattr(patterns, method)(function)) == found


def test_timeouts_may_take_the_id_too() -> None:
    functions: list[tuple[Any, Any]] = [
        (lambda match, time: time, 12),
        (lambda match, time, name: (name, match["a"][0][2], time), ("ab", "l", 12)),
    ]
    for function, found in functions:
        patterns = looking(StreamExecutionEnvironment.in_process(), UPDATES)
        stream = patterns.select(TIMEOUTS, function, lambda match: 0)
        assert collected(stream.get_side_output(TIMEOUTS)) == [found]


def test_a_stream_without_keys_is_one_sequence() -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(3)
    stream = timed(environment.from_collection(EVENTS), lambda event: event[1])
    updates = timed(environment.from_collection(UPDATES), lambda _: 0)
    found = (
        CEP.dynamic_patterns(stream, updates)
        .updates_in_event_time()
        .select(lambda match, name: (name, [event[2] for events in match.values() for event in events]))
    )
    assert collected(found) == [("ab", ["k", "k"]), ("ab", ["l", "k"]), ("x", ["l"])]


def test_a_bad_update_fails_the_job_or_goes_to_its_side_output() -> None:
    bad = {"put": "fraud", "pattern": {"elements": 5}}
    with pytest.raises(PenstockError, match="'fraud': elements: expected a list") as raised:
        collected(looking(StreamExecutionEnvironment.in_process(), [bad]).select(len))
    assert "Dynamic Patterns" in str(raised.value)
    patterns = looking(StreamExecutionEnvironment.in_process().set_parallelism(2), [bad, *UPDATES])
    stream = patterns.side_output_malformed_updates(BAD).select(lambda match, name: name)
    told = stream.get_side_output(BAD).map(lambda each: json.dumps(each["update"]))
    assert collected(stream.union(told)) == ["ab", "x", json.dumps(bad)]


def test_wrong_arguments_are_refused() -> None:
    environment = StreamExecutionEnvironment.in_process()
    events = environment.from_collection([1])
    with pytest.raises(GraphError, match=r"CEP.dynamic_patterns: expected a DataStream, got \[\]"):
        CEP.dynamic_patterns(events, [])  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="different environments"):
        CEP.dynamic_patterns(events, StreamExecutionEnvironment.in_process().from_collection([1]))
    patterns = CEP.dynamic_patterns(events, events)
    with pytest.raises(GraphError, match="side_output_malformed_updates: expected an OutputTag"):
        patterns.side_output_malformed_updates("bad")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="updates_in_event_time"):
        patterns.updates_in_event_time().in_processing_time().select(len)


class Names(PatternProcessFunction[Any, Any]):
    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
        yield ctx.pattern_id(), ctx.get_current_key(), [event[1] for events in match.values() for event in events]


def many_events() -> list[Any]:
    return [("abbcx"[(number * 3 + number // 7) % 5], number, f"k{number % 7}") for number in range(1, 300)]


def rules() -> dict[str, Pattern]:
    one = put("one", "abc", within_ms=40, after_match="skip_past_last_event")
    return {
        "one": Pattern.from_dict(one["pattern"]),
        "two": Pattern.begin("b").where(lambda event: event[0] == "b").one_or_more().consecutive().within(30),
        "three": Pattern.from_dict(put("three", "ca")["pattern"]),
    }


@pytest.mark.parametrize("state", ["memory", "lmdb"])
def test_crashes_change_nothing_and_matches_are_those_of_jobs_of_one_pattern(seed: int, state: str) -> None:
    expected = []
    for name, pattern in rules().items():
        environment = StreamExecutionEnvironment.in_process()
        stream = timed(environment.from_collection(many_events()), lambda event: event[1])
        alone = CEP.pattern(stream.key_by(lambda event: event[2]), pattern).process(Names())
        expected += [(name, *match[1:]) for match in collected(alone.map(lambda match: ("", *match[1:])))]
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=0.05, state=state).set_parallelism(2)
    sink = CollectSink()
    updates = [PatternUpdate.put(name, pattern) for name, pattern in rules().items()]
    looking(environment, updates, many_events()).process(Names()).add_sink(sink)
    environment.execute()
    assert sorted(sink.results) == sorted(expected)
    assert len({match[0] for match in expected}) == 3


def job(folder: Path, parallelism: int, events: list[Any], updates: list[Any], recovery: str | None) -> Any:
    configuration = Configuration().set_string("penstock.batch.max-records", "40")
    configuration.set_string("execution.checkpointing.dir", str(folder / ("again" if recovery else "checkpoint")))
    if recovery is not None:
        configuration.set_string("execution.state-recovery.path", recovery)
    environment = StreamExecutionEnvironment.in_process(configuration=configuration).set_parallelism(parallelism)
    sink = CollectSink()
    stream = timed(environment.from_collection(events).uid("events"), lambda event: event[1]).uid("times")
    patterns = CEP.dynamic_patterns(
        stream.key_by(lambda event: event[2]), environment.from_collection(updates).uid("updates")
    )
    patterns.process(Names()).uid("patterns").add_sink(sink).uid("sink")
    client = environment.execute_async("job")
    assert isinstance(client, InProcessJobClient)
    return client, sink


def test_a_savepoint_has_the_patterns_and_their_partial_matches_for_any_parallelism(tmp_path: Path) -> None:
    events = [("a", 1 + number, f"k{number}") for number in range(30)]
    events += [("x", 100 + number, f"k{number}") for number in range(30)]
    events += [("b", 200 + number, f"k{number}") for number in range(30)]
    python = Pattern.begin("x").where(lambda event: event[0] == "x").next("b")
    updates = [put("data", "ab"), PatternUpdate.put("python", python)]
    client, first = job(tmp_path, 2, events, updates, None)
    for _ in range(2):
        client.run_batch()
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    # The updates have been read: the job goes on with the patterns of the savepoint.
    client, second = job(tmp_path, 3, events, updates, savepoint)
    client.wait()
    found = sorted([*first.results, *second.results])
    assert first.results == []
    of_data = [("data", f"k{n}", [1 + n, 200 + n]) for n in range(30)]
    of_python = [("python", f"k{n}", [100 + n, 200 + n]) for n in range(30)]
    assert found == sorted([*of_data, *of_python])
