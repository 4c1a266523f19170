"""Asynchronous calls in the fluent API: what is built, and what is refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Duration, Time, Types
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    DataStream,
    RichAsyncFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.async_retry_strategies import (
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)
from penstock.errors import GraphError
from penstock.testing import CollectSink

SECOND = Time.seconds(1)
TWICE: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(2, 1, lambda result: not result, None)
WITHOUT = (AsyncDataStream.unordered_wait, AsyncDataStream.ordered_wait)
WITH = (AsyncDataStream.unordered_wait_with_retry, AsyncDataStream.ordered_wait_with_retry)


class Double(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        return [value * 2]


class SecondTry(RichAsyncFunction[int, int]):
    """Gives nothing at first."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    async def async_invoke(self, value: int) -> list[int]:
        if value in self._known:
            return [value]
        self._known.add(value)
        return []


class Plain(AsyncFunction[int, int]):
    def async_invoke(self, value: int) -> list[int]:  # type: ignore[override]
        return [value]


class AsyncTimeout(Double):
    async def timeout(self, value: int) -> list[int]:  # type: ignore[override]
        return [value]


def results_of(transform: Callable[[DataStream], DataStream]) -> list[Any]:
    environment = StreamExecutionEnvironment.in_process()
    sink = CollectSink()
    transform(environment.from_collection([1, 2, 3], Types.INT())).add_sink(sink)
    environment.execute()
    return sink.results


@pytest.mark.parametrize("wait", WITHOUT)
@pytest.mark.parametrize("timeout", [SECOND, Duration.of_seconds(1)])
def test_calls_in_a_job(wait: Any, timeout: Any) -> None:
    assert sorted(results_of(lambda stream: wait(stream, Double(), timeout))) == [2, 4, 6]


@pytest.mark.parametrize("wait", WITH)
def test_calls_with_retries_in_a_job(wait: Any) -> None:
    assert sorted(results_of(lambda stream: wait(stream, SecondTry(), SECOND, TWICE, 2))) == [1, 2, 3]


def test_calls_on_a_keyed_stream() -> None:
    keyed = results_of(
        lambda stream: AsyncDataStream.ordered_wait(stream.key_by(lambda value: value), Double(), SECOND)
    )
    assert sorted(keyed) == [2, 4, 6]


def test_the_type_is_declared_and_the_name_is_flinks() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1], Types.INT())
    declared = AsyncDataStream.unordered_wait(stream, Double(), SECOND, 5, Types.LONG())
    assert declared.get_type() == Types.LONG()
    assert declared.get_name() == "async wait operator"
    assert AsyncDataStream.ordered_wait(stream, Double(), SECOND).get_type() == Types.PICKLED_BYTE_ARRAY()


MISTAKES: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda s: AsyncDataStream.ordered_wait(s, Plain(), SECOND),
        "ordered_wait: method 'async_invoke' of class 'Plain'",
    ),
    (
        lambda s: AsyncDataStream.ordered_wait(s, AsyncTimeout(), SECOND),
        "'timeout' of class 'AsyncTimeout' must not be",
    ),
    (lambda s: AsyncDataStream.ordered_wait(s, Double, SECOND), r"ordered_wait: pass an instance, Double\(\)"),  # type: ignore[arg-type]
    (lambda s: AsyncDataStream.unordered_wait(s, len, SECOND), "unordered_wait: expected a AsyncFunction"),  # type: ignore[arg-type]
    (lambda s: AsyncDataStream.unordered_wait(s, Double(), Time.seconds(0)), "timeout must be a Time or Duration of 1"),
    (lambda s: AsyncDataStream.unordered_wait(s, Double(), "1 s"), "timeout must be a Time or Duration"),  # type: ignore[arg-type]
    (lambda s: AsyncDataStream.unordered_wait(s, Double(), SECOND, 0), "capacity must be an int of 1 or more, got 0"),
    (lambda s: AsyncDataStream.unordered_wait(s, Double(), SECOND, True), "capacity must be an int of 1 or more"),
    (lambda s: AsyncDataStream.unordered_wait(s, Double(), SECOND, 1, int), "output_type is of unknown type"),  # type: ignore[arg-type]
    (
        lambda s: AsyncDataStream.unordered_wait_with_retry(s, Double(), SECOND, None),  # type: ignore[arg-type]
        "unordered_wait_with_retry: expected an AsyncRetryStrategy, got None",
    ),
    (lambda s: AsyncDataStream.ordered_wait([1], Double(), SECOND), "expected a DataStream"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_a_mistake_is_refused(mistake: Callable[[Any], Any], message: str) -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1], Types.INT())
    with pytest.raises(GraphError, match=message):
        mistake(stream)


def test_pauses_grow_by_the_number_of_tries_alone() -> None:
    strategy: AsyncRetryStrategy[Any] = ExponentialBackoffDelayRetryStrategy(6, 100, 1000, 2.0, None, None)
    pauses = [100, 200, 400, 800, 1000, 1000]
    assert [strategy.get_backoff_time_millis(tries) for tries in range(1, 7)] == pauses
    assert [strategy.get_backoff_time_millis(tries) for tries in (3, 3, 10_000, 1)] == [400, 400, 1000, 100]
    assert [strategy.can_retry(tries) for tries in (1, 6, 7)] == [True, True, False]


def test_strategies_are_made_by_name() -> None:
    def is_bad(result: list[Any]) -> bool:
        return not result

    def is_transient(error: Exception) -> bool:
        return isinstance(error, OSError)

    fixed: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(2, 50, is_bad, is_transient)
    assert isinstance(fixed, FixedDelayRetryStrategy) and fixed.get_backoff_time_millis(2) == 50
    assert [fixed.can_retry(tries) for tries in (1, 2, 3)] == [True, True, False]
    assert fixed.get_retry_predicate().result_predicate() is is_bad
    assert fixed.get_retry_predicate().exception_predicate() is is_transient
    never: AsyncRetryStrategy[Any] = AsyncRetryStrategy.no_restart()
    assert isinstance(never, NoRetryStrategy) and not never.can_retry(1)
    assert never.get_backoff_time_millis(1) == -1
    growing = AsyncRetryStrategy.exponential_backoff(1, 1, 1, 1, None, None)
    assert isinstance(growing, ExponentialBackoffDelayRetryStrategy)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedDelayRetryStrategy(0, 1, None, None), "max_attempts of a retry strategy should be greater than"),
        (lambda: FixedDelayRetryStrategy(1, 0, None, None), "backoff_time_millis"),
        (lambda: ExponentialBackoffDelayRetryStrategy(1, 0, 1, 1, None, None), "initial_delay"),
        (lambda: ExponentialBackoffDelayRetryStrategy(1, 1, 0, 1, None, None), "max_retry_delay"),
        (lambda: ExponentialBackoffDelayRetryStrategy(1, 1, 1, 0, None, None), "multiplier"),
        (lambda: RetryPredicate(5, None), "result_predicate of a retry strategy must be a function or None"),  # type: ignore[arg-type]
    ],
)
def test_a_strategy_that_makes_no_sense_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        make()
