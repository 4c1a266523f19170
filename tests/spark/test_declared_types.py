"""Declared types on Spark: they travel with the plan to the workers, and a refusal is the failure of the job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import JobFailedError
from tests.spark.conftest import NewEnvironment

NAMED = Types.ROW_NAMED(["x", "y"], [Types.STRING(), Types.FLOAT()])


class Latest(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.latest = runtime_context.get_state(ValueStateDescriptor("latest", NAMED))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        before = self.latest.value()
        self.latest.update(Row(y=value[1], x=value[0]))
        yield ctx.get_current_key(), value, before


def test_rows_keys_and_state_are_of_their_types(new_environment: NewEnvironment) -> None:
    rows = [Row(y=1.1, x="a"), Row("a", 2), Row(x="a", y=3.0)]
    stream = new_environment(parallelism=2).from_collection(rows).map(lambda row: row, NAMED).rebalance()
    keyed = stream.key_by(lambda row: Row(row[0], 0), key_type=NAMED).process(Latest())
    found = list(keyed.execute_and_collect())
    single = 1.100000023841858
    assert [key for key, _, _ in found] == [Row(x="a", y=0.0)] * 3
    assert sorted(value.y for _, value, _ in found) == [single, 2.0, 3.0]
    assert {tuple(value._fields or ()) for _, value, _ in found} == {("x", "y")}
    assert sorted(list(before) for _, _, before in found if before is not None)[0][0] == "a"


def test_a_result_of_another_type_fails_the_job(new_environment: NewEnvironment) -> None:
    stream = new_environment(parallelism=1).from_collection([1, 2**31]).map(lambda value: value, Types.INT())
    with pytest.raises(JobFailedError, match=r"results as INT, .* got int 2147483648, which 32 bits cannot hold"):
        list(stream.execute_and_collect())
