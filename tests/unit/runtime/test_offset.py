"""Offsets as plain data: what Spark logs, what seals hold, and what older logs left out."""

from __future__ import annotations

import json

import pytest

from penstock.runtime.source_tasks import Offset

FULL = Offset(
    begun=True,
    tick=3,
    draining=True,
    ended=("frames",),
    positions={"numbers": [7, 0]},
    partitions={"orders": {"orders-0": 5}},
    stops={"orders": {"orders-0": 9}},
    complete=("orders",),
    paused={"orders": ["orders-1"]},
)


@pytest.mark.parametrize("offset", [Offset(), FULL])
def test_an_offset_comes_back_from_its_json(offset: Offset) -> None:
    assert Offset.from_json(json.loads(json.dumps(offset.to_json()))) == offset


def test_the_json_names_what_there_is() -> None:
    assert FULL.to_json() == {
        "begun": True,
        "tick": 3,
        "draining": True,
        "ended": ["frames"],
        "positions": {"numbers": [7, 0]},
        "partitions": {"orders": {"orders-0": 5}},
        "stops": {"orders": {"orders-0": 9}},
        "complete": ["orders"],
        "paused": {"orders": ["orders-1"]},
    }
    assert not {"complete", "paused"} & Offset().to_json().keys()


def test_what_is_missing_is_as_at_the_beginning() -> None:
    assert Offset.from_json({"positions": {"numbers": [7]}}) == Offset(positions={"numbers": [7]})
