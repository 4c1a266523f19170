"""Topologies give what Kafka Streams gives: measured vectors, and live with random inputs where its jars can be had."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.kstreams import kafka_streams, vectors
from tests.conformance.kstreams.interpreter import play
from tests.conformance.kstreams.programs import PROGRAMS, cases

LIVE_SEEDS = 2


def difference(case: dict[str, Any], expected: dict[str, Any]) -> str | None:
    """How Penstock's results differ, in words; None if they do not."""
    found = play(case)
    if "describe" in expected and found["describe"] != expected["describe"]:
        return f"{case['name']} is described as\n{found['describe']}\nnot as\n{expected['describe']}"
    steps = zip(case["input"], found["output"], expected["output"], strict=True)
    for number, (event, ours, theirs) in enumerate(steps):
        if ours != theirs:
            return f"{case['name']}, event {number} {event}: {_texts(ours)}, Kafka Streams gave {_texts(theirs)}"
    return None


def _texts(rows: list[list[Any]]) -> list[tuple[Any, ...]]:
    return [(topic, _bytes(key), _bytes(value), timestamp) for topic, key, value, timestamp in rows]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def test_every_program_was_measured() -> None:
    measured = {case["name"].rsplit("-", 1)[0] for case, _ in vectors.read()}
    assert measured == set(PROGRAMS)
    assert len(measured) >= 40


@pytest.mark.parametrize(("case", "expected"), vectors.read(), ids=lambda held: held.get("name", ""))
def test_a_topology_gives_what_kafka_streams_gave(case: dict[str, Any], expected: dict[str, Any]) -> None:
    assert difference(case, expected) is None


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_topologies_give_what_kafka_streams_gives_for_random_inputs(seed: int) -> None:
    chosen = cases(range(seed, seed + LIVE_SEEDS))
    try:
        answers = kafka_streams.play(chosen)
    except kafka_streams.OracleMissing as missing:
        pytest.skip(str(missing))
    assert [case["name"] for case, answer in zip(chosen, answers, strict=True) if "error" in answer] == []
    found = [difference(case, answer) for case, answer in zip(chosen, answers, strict=True)]
    assert [text for text in found if text is not None][:3] == []
