"""The oracles of the kill tests see every fault they are there for: a good run in process, spoiled in one way each."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import CollectSink
from tests.spark.jobs import counting, rules, sessions
from tests.spark.jobs.counters import Order, rule_output, session_firings, source_of

COUNT = 900
ORACLES: dict[str, Any] = {"sessions": sessions, "rules": rules}

Records = list[dict[str, Any]]
Spoil = Callable[[Records], object]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Records]:
    """What the branches emit in batches of random size, with crashes."""
    configuration = Configuration().set_string("penstock.batch.max-records", "200")
    environment = StreamExecutionEnvironment.in_process(7, crash_rate=0.01, configuration=configuration)
    environment.set_parallelism(counting.SPLITS)
    order = Order(str(tmp_path_factory.mktemp("job")), COUNT, rule_pause_seconds=0)
    events = source_of(environment, order)
    sinks = {"sessions": CollectSink(), "rules": CollectSink()}
    session_firings(events, order).add_sink(sinks["sessions"])
    rule_output(events, order).add_sink(sinks["rules"])
    environment.execute("branches")
    return {name: sink.results for name, sink in sinks.items()}


def faults(name: str, records: Records) -> list[str]:
    oracle = ORACLES[name]
    return [*oracle.wrong(records, COUNT), *oracle.missing(records, COUNT)]


@pytest.mark.parametrize("name", ORACLES)
def test_a_good_run_has_no_fault(outputs: dict[str, Records], name: str) -> None:
    assert faults(name, outputs[name]) == []


@pytest.mark.parametrize("name", ORACLES)
def test_no_part_of_a_good_run_is_wrong(outputs: dict[str, Records], name: str) -> None:
    part = random.Random(1).sample(outputs[name], len(outputs[name]) // 2)
    assert list(ORACLES[name].wrong(part, COUNT)) == []
    assert list(ORACLES[name].missing(part, COUNT))


def last_of(records: Records, kind: str) -> dict[str, Any]:
    return [each for each in records if each["kind"] == kind][-1]


def largest(records: Records) -> dict[str, Any]:
    return max(records, key=lambda each: len(each["numbers"]))


def refire_without_its_first_record(records: Records) -> None:
    """As if state had been lost between two firings."""
    session = largest(records)
    times = sorted((sessions.time_of(counting.event(number)), number) for number in session["numbers"])
    records.append({**session, "numbers": sorted(number for _, number in times[:-1]), "end": times[-2][0]})
    session.update(numbers=sorted(number for _, number in times[1:]), start=times[1][0])


def forget_growth(records: Records) -> None:
    """As if no record had been late."""
    records[:] = [
        sessions.firing(key, start, end, list(numbers)) for key, start, end, numbers in sessions.expected(COUNT)
    ]


SPOILED_SESSIONS: dict[str, tuple[Spoil, str]] = {
    "there twice": (lambda records: records.append(records[0]), "fired 2 times"),
    "of another key": (lambda records: largest(records).update(key=-1), "not of the key"),
    "record twice": (lambda records: largest(records)["numbers"].append(largest(records)["numbers"][0]), "twice"),
    "too long": (lambda records: largest(records).update(end=largest(records)["end"] + 1), "gap after its last"),
    "too early": (lambda records: largest(records).update(start=largest(records)["start"] - 1), "first record"),
    "hole": (lambda records: bridge(records), "has a gap in it"),
    "part lost": (refire_without_its_first_record, "has only some records of"),
    "last lost": (lambda records: records.remove(largest(records)), "is not among the last firings"),
    "never merged": (forget_growth, "the run shows little"),
}


def bridge(records: Records) -> None:
    """Make one of two sessions of a key."""
    one = largest(records)
    other = next(each for each in records if each["key"] == one["key"] and each["start"] > one["end"])
    one.update(numbers=sorted([*one["numbers"], *other["numbers"]]), end=other["end"])


@pytest.mark.parametrize("fault", SPOILED_SESSIONS)
def test_the_oracle_of_sessions_sees(outputs: dict[str, Records], fault: str) -> None:
    spoil, message = SPOILED_SESSIONS[fault]
    records = copy.deepcopy(outputs["sessions"])
    spoil(records)
    found = faults("sessions", records)
    assert any(message in each for each in found), found


def drop(kind: str) -> Spoil:
    return lambda records: records.remove(last_of(records, kind))


def double(kind: str) -> Spoil:
    return lambda records: records.append(last_of(records, kind))


def add(kind: str, name: str, difference: int) -> Spoil:
    return lambda records: last_of(records, kind).update({name: last_of(records, kind)[name] + difference})


SPOILED_RULES: dict[str, tuple[Spoil, str]] = {
    "record lost": (drop("ruled"), "is missing"),
    "record twice": (double("ruled"), "is there 2 times"),
    "wrong key": (add("ruled", "key", 1), "is not of key"),
    "older rule": (add("ruled", "rule", -100), "after rule"),
    "unknown rule": (add("ruled", "rule", 100), "met rule"),
    "counted wrongly": (add("ruled", "nth", 1), "but was counted"),
    "rule lost": (drop("taken"), "rule and subtask"),
    "rule twice": (double("taken"), "rule and subtask"),
    "state of rules lost": (add("taken", "seen", -1), "rules when rule"),
    "keyed state not settled": (add("taken", "settled", -1), "settled"),
    "no end of a key": (drop("final"), "end of key"),
    "two ends of a key": (double("final"), "is there 2 times"),
    "rules differ at the end": (lambda records: last_of(records, "final")["rules"].pop(), "the rules are"),
    "keyed state lost": (add("final", "unsettled", -1), "ended with"),
    "no rules": (lambda records: [each.update(rule=0) for each in records if each["kind"] == "ruled"], "hardly any"),
}


@pytest.mark.parametrize("fault", SPOILED_RULES)
def test_the_oracle_of_rules_sees(outputs: dict[str, Records], fault: str) -> None:
    spoil, message = SPOILED_RULES[fault]
    records = copy.deepcopy(outputs["rules"])
    spoil(records)
    found = faults("rules", records)
    assert any(message in each for each in found), found


def test_every_record_is_in_time_for_its_session() -> None:
    """The newest record of a split may be ahead by the disorder, which the watermark waits for, and by the lag."""
    assert max(sessions.lag((0, 0, amount, 0)) for amount in range(1_000)) < sessions.LATENESS_MS - 1
