"""Queryable names: given, kept with the job, and refused where two states have one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.errors import GraphError, JobFailedError, QueryableNameError, StateError
from tests.unit.queryable.jobs import environment, run_all


def named(name: str, queryable: str) -> ValueStateDescriptor[int]:
    descriptor = ValueStateDescriptor(name, Types.LONG())
    descriptor.set_queryable(queryable)
    return descriptor


class Asks(KeyedProcessFunction):
    def __init__(self, *descriptors: ValueStateDescriptor[int]) -> None:
        self.descriptors = descriptors

    def open(self, runtime_context: RuntimeContext) -> None:
        for descriptor in self.descriptors:
            runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        pass


def test_a_descriptor_tells_its_queryable_name() -> None:
    descriptor = ValueStateDescriptor("a", Types.LONG())
    assert not descriptor.is_queryable() and descriptor.get_queryable_state_name() is None
    descriptor.set_queryable("b")
    assert descriptor.is_queryable() and descriptor.get_queryable_state_name() == "b"
    for wrong in ("", None, 5):
        with pytest.raises(ValueError, match="non-empty string"):
            descriptor.set_queryable(wrong)  # type: ignore[arg-type]


def test_two_streams_of_one_name_are_refused_before_anything_runs(tmp_path: Path) -> None:
    made = environment(tmp_path / "checkpoint")
    stream = made.from_collection([("a", 1)]).key_by(lambda record: record[0])
    stream.as_queryable_state("same")
    stream.as_queryable_state("same")
    with pytest.raises(GraphError, match="queryable state 'same' exists twice"):
        made.execute_async("twice")
    assert not (tmp_path / "checkpoint").exists()


def test_two_states_of_one_operator_with_one_name_are_refused(tmp_path: Path) -> None:
    made = environment(tmp_path / "checkpoint")
    stream = made.from_collection([("a", 1)]).key_by(lambda record: record[0])
    stream.process(Asks(named("one", "same"), named("two", "same"))).print()
    with pytest.raises((JobFailedError, StateError), match="both have the queryable name 'same'"):
        run_all(made.execute_async("twice"))  # type: ignore[arg-type]


def test_two_operators_with_one_name_fail_the_job_for_good(tmp_path: Path) -> None:
    made = environment(tmp_path / "checkpoint")
    stream = made.from_collection([("a", 1)]).key_by(lambda record: record[0])
    for name in ("first", "second"):
        stream.process(Asks(named("one", "same"))).name(name).uid(name).print()
    client = made.execute_async("twice")
    with pytest.raises((JobFailedError, QueryableNameError), match="queryable state 'same' exists twice"):
        run_all(client)  # type: ignore[arg-type]
    assert client.job.restarts == 0  # type: ignore[attr-defined]


def test_only_values_and_reductions_can_be_kept_of_a_stream(tmp_path: Path) -> None:
    stream = environment(tmp_path).from_collection([("a", 1)]).key_by(lambda record: record[0])
    with pytest.raises(GraphError, match="expected a ValueStateDescriptor or a ReducingStateDescriptor"):
        stream.as_queryable_state("x", ListStateDescriptor("x"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="non-empty string"):
        stream.as_queryable_state("")
