"""Functions that cannot be called with what they will be given are refused when the graph is built."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from penstock.cep import CEP, Pattern
from penstock.common import Duration, Time
from penstock.datastream import AsyncDataStream, DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
)
from penstock.datastream.window import TumblingProcessingTimeWindows
from penstock.errors import GraphError


def made(base: type, **methods: Callable[..., Any]) -> Any:
    return type("Own", (base,), methods)()


async def later(value: Any) -> Any:
    return value


def in_windows(stream: DataStream) -> Any:
    return stream.key_by(str).window(TumblingProcessingTimeWindows.of(Duration.of_millis(5)))


def aggregate(add: Callable[..., Any]) -> Any:
    same: Callable[..., Any] = lambda self, acc: acc  # noqa: E731
    both: Callable[..., Any] = lambda self, a, b: a  # noqa: E731
    return made(AggregateFunction, create_accumulator=lambda self: 0, add=add, get_result=same, merge=both)


MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "window without context": (
        lambda s: in_windows(s).process(made(ProcessWindowFunction, process=lambda self, key, elements: [])),
        r"process: Own.process is called with \(key, context, elements\), but yours takes \(key, elements\)\.",
    ),
    "window in another order": (
        lambda s: in_windows(s).process(made(ProcessWindowFunction, process=lambda self, key, elements, context: [])),
        r"called with \(key, context, elements\), but yours takes \(key, elements, context\)",
    ),
    "process without ctx": (
        lambda s: s.process(made(ProcessFunction, process_element=lambda self, value: [])),
        r"Own.process_element is called with \(value, ctx\), but yours takes \(value\)",
    ),
    "on_timer": (
        lambda s: s.key_by(str).process(
            made(KeyedProcessFunction, process_element=lambda self, v, c: [], on_timer=lambda self, ctx: [])
        ),
        r"Own.on_timer is called with \(timestamp, ctx\), but yours takes \(ctx\)",
    ),
    "open": (
        lambda s: s.map(made(MapFunction, map=lambda self, value: 1, open=lambda self: None)),
        r"map: Own.open is called with \(runtime_context\), but yours takes \(\)",
    ),
    "map of two": (lambda s: s.map(lambda a, b: a), r"map: the function is called with \(value\), .* takes \(a, b\)"),
    "filter of none": (lambda s: s.filter(lambda: True), r"filter: the function is called with \(value\)"),
    "flat_map of three": (lambda s: s.flat_map(lambda a, b, c: []), r"flat_map: the function is called with"),
    "reduce of one": (lambda s: s.key_by(str).reduce(lambda a: a), r"reduce: the function .*\(value1, value2\)"),
    "reduce object": (
        lambda s: in_windows(s).reduce(made(ReduceFunction, reduce=lambda self, a: a)),
        r"reduce: Own.reduce is called with \(value1, value2\), but yours takes \(a\)",
    ),
    "aggregate": (
        lambda s: in_windows(s).aggregate(aggregate(lambda self, acc: acc)),
        r"aggregate: Own.add is called with \(value, accumulator\), but yours takes \(acc\)",
    ),
    "co-process": (
        lambda s: (
            s.key_by(str)
            .connect(s.key_by(str))
            .process(
                made(KeyedCoProcessFunction, process_element1=lambda self, v, c: [], process_element2=lambda self: [])
            )
        ),
        r"Own.process_element2 is called with \(value, ctx\), but yours takes \(\)",
    ),
    "key": (lambda s: s.key_by(lambda a, b: a), r"key_by: the function is called with \(value\)"),
    "key object": (lambda s: s.key_by(made(KeySelector, get_key=lambda self: 1)), r"key_by: Own.get_key is called"),
    "with state": (
        lambda s: s.key_by(str).map_with_state(lambda value: (value, None)),
        r"map_with_state: the function is called with \(element, state\), but yours takes \(value\)",
    ),
    "pattern": (
        lambda s: CEP.pattern(s, Pattern.begin("a")).select(lambda: 1),
        r"select: the function is called with \(match\), but yours takes \(\)",
    ),
    "async map": (lambda s: s.map(later), r"map: the function is `async def`.*AsyncDataStream.unordered_wait"),
    "async filter": (
        lambda s: s.filter(made(FilterFunction, filter=later)),
        r"filter: Own.filter is `async def`, so nobody would wait for its result",
    ),
    "async call": (
        lambda s: AsyncDataStream.unordered_wait(
            s, made(AsyncFunction, async_invoke=_invoked_with_none), Time.seconds(1)
        ),
        r"unordered_wait: Own.async_invoke is called with \(value\), but yours takes \(\)",
    ),
}


async def _invoked_with_none(self: Any) -> list[Any]:
    return []


@pytest.fixture
def stream() -> DataStream:
    return StreamExecutionEnvironment.in_process().from_collection([1])


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_could_not_be_called_is_refused(stream: DataStream, mistake: str) -> None:
    program, message = MISTAKES[mistake]
    with pytest.raises(GraphError, match=message):
        program(stream)


class Called:
    """An object that is called with one value."""

    def __call__(self, value: Any) -> Any:
        return value


def add_all(first: Any, second: Any = 0, *others: Any, scale: int = 1) -> Any:
    return first


GOOD: dict[str, Callable[[Any], Any]] = {
    "built-in": lambda s: s.map(str).map(len).filter(bool),
    "defaults": lambda s: s.map(add_all),
    "partial": lambda s: s.map(partial(add_all, scale=2)),
    "called object": lambda s: s.map(Called()),
    "any arguments": lambda s: s.map(lambda *given: given),
    "a collector": lambda s: s.flat_map(lambda value, out: out.collect(value)),
    "a method with a collector": lambda s: s.process(
        made(ProcessFunction, process_element=lambda self, value, ctx, out: out.collect(value))
    ),
    "a static method": lambda s: s.map(made(MapFunction, map=staticmethod(lambda value: value))),
    "other names": lambda s: s.flat_map(made(FlatMapFunction, flat_map=lambda self, line: [line])),
}


@pytest.mark.parametrize("form", GOOD)
def test_what_can_be_called_is_taken(stream: DataStream, form: str) -> None:
    assert isinstance(GOOD[form](stream), DataStream)
