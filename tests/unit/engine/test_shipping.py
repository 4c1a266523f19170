"""Functions that are sent to the workers: how large they may be, and who is named if they are too large."""

from __future__ import annotations

import os

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.spark.shipping import check_picklable
from penstock.errors import GraphError
from penstock.graph import JobPlan, JobSettings, compile_plan

MB = 1024 * 1024


def plan_with(large: bytes) -> JobPlan:
    environment = StreamExecutionEnvironment.get_execution_environment(Configuration())
    stream = environment.from_collection([1]).map(lambda value: value).name("slim")
    stream.map(lambda value: large[value]).name("fat").uid("fat-uid").print()
    return compile_plan(environment.graph, JobSettings())


def test_functions_that_are_too_large_are_refused_with_their_operator() -> None:
    with pytest.raises(GraphError) as refused:
        check_picklable(plan_with(os.urandom(3 * MB)), 2 * MB)
    text = str(refused.value)
    assert text.startswith("operator 'fat' (uid 'fat-uid') refers to 3 MB of data")
    assert "2 MB are allowed (penstock.plan.max-bytes). Load large objects in open()" in text


def test_functions_up_to_the_limit_pass() -> None:
    check_picklable(plan_with(os.urandom(MB)), 2 * MB)


@pytest.mark.parametrize(("given", "limit"), [({}, 64 * MB), ({"penstock.plan.max-bytes": "200mb"}, 200 * MB)])
def test_the_limit_can_be_raised(given: dict[str, str], limit: int) -> None:
    assert JobSettings.from_configuration(given).max_plan_bytes == limit
