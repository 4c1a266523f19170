"""On Spark: records that are changed after they were emitted, in branches, in state and with object reuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from tests.spark.conftest import NewEnvironment


class Rolling(KeyedProcessFunction):
    """Counts in a dict, which is state and result, and is changed after both."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        record = self.held.value() or {"n": 0}
        record["n"] += value
        self.held.update(record)
        yield record
        record["n"] += 1000


@pytest.mark.parametrize("reuses_objects", [False, True])
def test_records_are_shared_only_if_that_is_asked_for(new_environment: NewEnvironment, reuses_objects: bool) -> None:
    environment = new_environment(parallelism=1)
    if reuses_objects:
        environment.get_config().enable_object_reuse()
    rolled = environment.from_collection([1, 2, 3]).key_by(lambda value: 0).process(Rolling())

    def changed(record: Any) -> Any:
        record["n"] += 100
        return "changed", record["n"]

    branches = rolled.map(changed).union(rolled.map(lambda record: ("plain", record["n"])))
    found = sorted(branches.execute_and_collect())
    expected = [("changed", 101), ("changed", 103), ("changed", 106), ("plain", 1), ("plain", 3), ("plain", 6)]
    assert (found == expected) is not reuses_objects
