"""What stores keep is plain data: no class of Penstock is named in it, so that classes can move."""

from __future__ import annotations

import pytest

from penstock.kstreams import Serdes, TopologyTestDriver
from tests.conformance.kstreams.interpreter import Program
from tests.conformance.kstreams.programs import PROGRAMS, random_input

TEXT = Serdes.String()


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_no_class_of_ours_is_in_the_state(name: str) -> None:
    topology = Program().build(PROGRAMS[name])
    driver = TopologyTestDriver(topology, {"default.key.serde": TEXT, "default.value.serde": TEXT}, 0)
    for event in random_input(PROGRAMS[name], 1):
        if "advance" not in event:
            driver.create_input_topic(event["topic"]).pipe_input(event["key"], event["value"], event["ts"])
    backend = driver._backend
    backend.flush()
    rows = dict(backend.store.scan(b""))
    assert bool(rows) == bool(topology.stores)
    assert [key for key, value in rows.items() if b"penstock" in key + value] == []
