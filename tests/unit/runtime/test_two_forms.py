"""Every operator that can work on columns says when it does not, and what is left out here has a reason."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import penstock.runtime.operators
from penstock.runtime.operators.operator import StreamOperator

ONE_FORM = {
    "SinkOperator": "its writer takes columns or makes records of them, as its format wants",
    "CacheOperator": "passes on what comes",
    "WindowOperator": "asks can_stay_in_memory(); is to say it by refusal() too",
}
"""Operators that take columns and have nothing to say."""


def operators(kind: type[StreamOperator] = StreamOperator) -> Iterator[type[StreamOperator]]:
    for each in kind.__subclasses__():
        yield each
        yield from operators(each)


def all_operators() -> dict[str, type[StreamOperator]]:
    package = penstock.runtime.operators
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    found = {each for each in operators() if each.__module__.startswith(package.__name__)}
    return {each.__name__: each for each in found}


def takes_columns(kind: type[StreamOperator]) -> bool:
    return kind.process_columns is not StreamOperator.process_columns


def test_operators_that_take_columns_say_when_they_do_not() -> None:
    silent = {name for name, each in all_operators().items() if takes_columns(each) and not each.has_two_forms()}
    assert silent == set(ONE_FORM)


def test_operators_without_a_way_to_work_on_columns_say_nothing() -> None:
    assert not [name for name, each in all_operators().items() if each.has_two_forms() and not takes_columns(each)]


def test_there_are_as_many_as_the_tests_of_explain_look_at() -> None:
    assert sorted(name for name, each in all_operators().items() if each.has_two_forms()) == [
        "CalcOperator",
        "CoMapOperator",
        "DeduplicateOperator",
        "DropUpdateBeforeOperator",
        "ExpressionFilterOperator",
        "GroupAggregateOperator",
        "GroupWindowAggregateOperator",
        "InertEventFilter",
        "LocalWindowAggregateOperator",
        "LocalWindowAggregation",
        "MapOperator",
        "PartitionedSourceOperator",
        "RankOperator",
        "RegularJoinOperator",
        "RollingFieldsOperator",
        "SelectOperator",
        "SourceOperator",
        "TableIntervalJoinOperator",
        "TableWindowJoinOperator",
        "TimingOperator",
        "WatermarkAssignerOperator",
        "WatermarkOperator",
        "WindowAggregateOperator",
    ]
