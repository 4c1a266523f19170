"""Asynchronous calls on the bare operator: order, watermarks, retries, time limits, failures."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.time import Time
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import AsyncFunction, RuntimeContext
from penstock.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from penstock.datastream.functions import AsyncFunctionDescriptor, AsyncRetryStrategy
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import AsyncWaitOperator
from penstock.testing import KeyedHarness, OperatorHarness, StreamRecord
from tests.spark.waiting import wait_until

ORDERED, UNORDERED = AsyncFunctionDescriptor.OutputMode.ORDERED, AsyncFunctionDescriptor.OutputMode.UNORDERED
LONG, SHORT = Time.seconds(60), Time.milliseconds(20)
ONCE: AsyncRetryStrategy[Any] = AsyncRetryStrategy.no_restart()

# Functions are copied into the harness; what they have seen is gathered here.
seen: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    seen.clear()


def operator(
    function: Any,
    mode: AsyncFunctionDescriptor.OutputMode = UNORDERED,
    *,
    timeout: Time = LONG,
    capacity: int = 100,
    strategy: AsyncRetryStrategy[Any] = ONCE,
) -> AsyncWaitOperator:
    return AsyncWaitOperator(AsyncFunctionDescriptor(function, timeout, capacity, strategy, mode))


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def a_while() -> None:
    """So long that the thread of the operator could go on by far."""
    loop = asyncio.get_running_loop()
    answer = loop.create_future()
    loop.call_later(0.01, answer.set_result, None)
    await answer


class Turns:
    """Lets the event loop go round so many times."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __await__(self) -> Generator[None, None, None]:
        for _ in range(self._count):
            yield


class AfterTurns(AsyncFunction[tuple[int, int], int]):
    """Of (number, turns) gives the number, after so many turns of the loop."""

    async def async_invoke(self, value: tuple[int, int]) -> list[int]:
        await Turns(value[1])
        return [value[0]]


class Slow(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        await a_while()
        return [value]


class Backwards(AsyncFunction[int, int]):
    """The call for 2 ends before that for 1, and so on."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._is_over = [asyncio.Event() for _ in range(4)]

    async def async_invoke(self, value: int) -> list[int]:
        if value < 3:
            await self._is_over[value + 1].wait()
        self._is_over[value].set()
        return [value, -value]


class Failing(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        if value == 13:
            raise ValueError("unlucky")
        await forever()
        return [value]


class Hanging(AsyncFunction[int, str]):
    """Never answers, but for even numbers."""

    async def async_invoke(self, value: int) -> list[str]:
        if value % 2:
            await forever()
        return [f"answer {value}"]

    def timeout(self, value: int) -> list[str]:
        return [f"no answer {value}"]


class Unhandled(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        await forever()
        return [value]


class Flaky(AsyncFunction[int, Any]):
    """Fails, or gives nothing, as often as its record says."""

    def __init__(self, error: Exception | None) -> None:
        self._error = error
        self._tries = 0

    async def async_invoke(self, value: int) -> list[Any]:
        self._tries += 1
        seen.append(self._tries)
        if self._tries > value:
            return [f"try {self._tries}"]
        if self._error is not None:
            raise self._error
        return []

    def timeout(self, value: int) -> list[Any]:
        return ["too late"]


class Giving(AsyncFunction[Any, Any]):
    """Gives its record itself, whatever that is."""

    async def async_invoke(self, value: Any) -> list[Any]:
        return value  # type: ignore[no-any-return]


class Watched(AsyncFunction[int, int]):
    """Tells what happens to it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        seen.append(f"open {runtime_context.get_index_of_this_subtask()}")

    def close(self) -> None:
        seen.append("close")

    async def async_invoke(self, value: int) -> list[int]:
        try:
            await forever()
        finally:
            seen.append(f"{value} ends")
        return [value]


class WithState(AsyncFunction[int, int]):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("count"))

    async def async_invoke(self, value: int) -> list[int]:
        return [value]


def fed(harness: OperatorHarness, *values: Any) -> list[Any]:
    harness.process_elements([(value, None) for value in values])
    harness.end_input()
    return harness.output_values()


@settings(max_examples=25, deadline=None)
@given(turns=st.lists(st.integers(0, 6), max_size=30), capacity=st.integers(1, 8), cuts=st.sets(st.integers(0, 30)))
def test_ordered_output_is_in_the_order_of_the_input(turns: list[int], capacity: int, cuts: set[int]) -> None:
    with OperatorHarness(operator(AfterTurns(), ORDERED, capacity=capacity)) as harness:
        block = []
        for number, count in enumerate(turns):
            block.append(((number, count), number * 10))
            if number in cuts:
                harness.process_elements(block)
                block = []
        harness.process_elements(block)
        harness.end_input()
        assert harness.output() == [StreamRecord(number, number * 10) for number in range(len(turns))]


def test_unordered_output_is_in_the_order_of_completion() -> None:
    with OperatorHarness(operator(Backwards(), UNORDERED)) as harness:
        harness.process_elements([(1, 10), (2, 20), (3, 30)])
        harness.end_input()
        assert harness.output() == [StreamRecord(sign * n, n * 10) for n in (3, 2, 1) for sign in (1, -1)]


def test_calls_of_several_blocks_overlap() -> None:
    with OperatorHarness(operator(Backwards(), ORDERED)) as harness:
        for number in (1, 2, 3):
            harness.process_element(number)
        harness.end_input()
        assert harness.output_values() == [1, -1, 2, -2, 3, -3]


def test_results_leave_before_the_watermark_behind_their_records() -> None:
    with OperatorHarness(operator(Slow(), UNORDERED)) as harness:
        harness.process_element(1, timestamp=1)
        harness.process_watermark(5)
        harness.process_element(2, timestamp=2)
        harness.process_watermark(9)
        expected = [StreamRecord(1, 1), Watermark(5), StreamRecord(2, 2), Watermark(9)]
        assert harness.output_with_watermarks() == expected


def test_results_leave_before_the_stream_is_idle_and_before_the_batch_ends() -> None:
    with OperatorHarness(operator(Slow())) as harness:
        harness.process_element(1)
        harness.process_idle()
        assert harness.output_values() == [1]
        harness.process_element(2)
        harness.snapshot()
        assert harness.output_values() == [1, 2]


def test_a_call_that_takes_too_long_is_answered_by_the_handler_in_its_place() -> None:
    with OperatorHarness(operator(Hanging(), ORDERED, timeout=SHORT)) as harness:
        harness.process_elements([(1, 10), (2, 20), (3, None)])
        harness.end_input()
        answers = [("no answer 1", 10), ("answer 2", 20), ("no answer 3", None)]
        assert harness.output() == [StreamRecord(text, at) for text, at in answers]


def test_without_a_handler_a_call_that_takes_too_long_fails_the_job() -> None:
    with OperatorHarness(operator(Unhandled(), timeout=SHORT)) as harness:
        harness.process_element(7)
        with pytest.raises(OperatorFailure) as caught:
            harness.end_input()
    assert "TimeoutError: the async call timed out for element 7" in str(caught.value)
    assert "in operator 'Unhandled'" in str(caught.value) and "in timeout()" in str(caught.value)


def test_a_failing_call_fails_the_job_with_the_traceback_of_the_user() -> None:
    with OperatorHarness(operator(Failing(), capacity=2)) as harness, pytest.raises(OperatorFailure) as caught:
        fed(harness, 1, 13, 2)
    first, *_, where, record = str(caught.value).splitlines()
    assert first == "Traceback (most recent call last):"
    assert "penstock/runtime" not in str(caught.value) and "penstock/asynchronous" not in str(caught.value)
    assert "ValueError: unlucky" in str(caught.value)
    assert "in operator 'Failing' (uid 'operator', subtask 0), processing a record" in where
    assert record == "record: 13"


def by_result(attempts: int, backoff_ms: int = 1) -> AsyncRetryStrategy[Any]:
    return AsyncRetryStrategy.fixed_delay(attempts, backoff_ms, empty_result_predicate, None)


def by_error(attempts: int) -> AsyncRetryStrategy[Any]:
    only_keys = functools.partial(exception_type_predicate, expected_error_type=KeyError)
    return AsyncRetryStrategy.exponential_backoff(attempts, 1, 2, 2.0, None, only_keys)


@pytest.mark.parametrize(
    ("strategy", "error", "failures", "expected", "tries"),
    [
        (by_result(3), None, 2, ["try 3"], 3),
        (by_result(3), None, 9, [], 4),  # max_attempts counts the tries after the first
        (ONCE, None, 1, [], 1),
        (by_error(3), KeyError("k"), 3, ["try 4"], 4),
    ],
)
def test_retries(
    strategy: AsyncRetryStrategy[Any], error: Exception | None, failures: int, expected: list[Any], tries: int
) -> None:
    with OperatorHarness(operator(Flaky(error), strategy=strategy)) as harness:
        assert fed(harness, failures) == expected
    assert seen == list(range(1, tries + 1))


@pytest.mark.parametrize(
    ("strategy", "error", "tries"),
    [
        (by_error(2), KeyError("k"), 3),
        (by_error(2), ValueError("v"), 1),
        (by_result(2), KeyError("k"), 1),
        (AsyncRetryStrategy.fixed_delay(1, 1, None, has_exception_predicate), OSError("o"), 2),
        (ONCE, KeyError("k"), 1),
    ],
)
def test_errors_that_no_retry_helps_against(strategy: AsyncRetryStrategy[Any], error: Exception, tries: int) -> None:
    with OperatorHarness(operator(Flaky(error), strategy=strategy)) as harness:
        with pytest.raises(OperatorFailure, match=type(error).__name__):
            fed(harness, 9)
        assert seen == list(range(1, tries + 1))


def test_the_time_limit_is_for_all_tries_together() -> None:
    with OperatorHarness(operator(Flaky(None), timeout=SHORT, strategy=by_result(10_000, 5))) as harness:
        assert fed(harness, 10_000) == ["too late"]


def test_a_pause_before_a_retry_ends_with_the_time_limit() -> None:
    with OperatorHarness(operator(Flaky(None), timeout=SHORT, strategy=by_result(1, 3_600_000))) as harness:
        assert fed(harness, 1) == ["too late"]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (5, "The result of AsyncFunction should be of list type, not int: .* class 'Giving'"),
        ("ab", "should be of list type, not str"),
        (None, "The result of AsyncFunction cannot be none"),
    ],
)
@pytest.mark.parametrize("strategy", [ONCE, by_result(5)])
def test_a_result_is_a_list(result: Any, message: str, strategy: AsyncRetryStrategy[Any]) -> None:
    head = operator(Giving(), strategy=strategy)
    with OperatorHarness(head) as harness, pytest.raises(OperatorFailure, match=message):
        fed(harness, result)


def test_a_list_may_have_any_length() -> None:
    with OperatorHarness(operator(Giving(), ORDERED)) as harness:
        assert fed(harness, [], [1], [None, (2, 3)], (4, 5)) == [1, None, (2, 3), 4, 5]


def test_the_function_is_closed_when_its_calls_have_ended() -> None:
    with OperatorHarness(operator(Watched()), subtask=1, parallelism=2) as harness:
        harness.process_elements([(1, None), (2, None)])
    assert seen == ["open 1", "1 ends", "2 ends", "close"]


def test_no_call_of_a_failed_batch_goes_on() -> None:
    head = operator(Watched())
    with OperatorHarness(head) as harness:
        harness.process_elements([(1, None), (2, None)])
        harness._running().abort()
        assert seen == ["open 0", "1 ends", "2 ends"]


def test_keyed_state_is_refused() -> None:
    with (
        pytest.raises(OperatorFailure, match="asks for keyed state 'count', but async calls have none"),
        KeyedHarness(operator(WithState()), key=lambda value: value),
    ):
        pass


# ---- without a further record ----


class WhenTold(AsyncFunction[int, int]):
    """Answers when the test says so."""

    answers = threading.Event()

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.to_thread(WhenTold.answers.wait, 60)
        if value == 13:
            raise ValueError("unlucky")
        return [value]


@pytest.fixture
def answers() -> Iterator[threading.Event]:
    WhenTold.answers.clear()
    yield WhenTold.answers
    WhenTold.answers.set()


def test_results_leave_when_they_are_there_and_somebody_looks_at_the_clock(answers: threading.Event) -> None:
    with OperatorHarness(operator(WhenTold(), ORDERED)) as harness:
        head = harness._subtask.head
        assert head.next_deadline() is None, "nothing is under way"
        harness.process_element(1)
        harness.process_element(2)
        assert harness.output_values() == []
        due = head.next_deadline()
        assert due is not None and harness.clock() < due <= harness.clock() + 10, "the clock is to be looked at soon"
        answers.set()

        def are_there() -> bool:
            harness.set_processing_time(harness.clock() + 1)
            return len(harness.output_values()) == 2

        wait_until(are_there, "results are there without a further record")
        assert harness.output_values() == [1, 2]
        assert head.next_deadline() is None


def test_a_call_that_fails_is_told_when_somebody_looks_at_the_clock(answers: threading.Event) -> None:
    with OperatorHarness(operator(WhenTold())) as harness:
        harness.process_element(13)
        answers.set()

        def fails() -> bool:
            try:
                harness.set_processing_time(harness.clock() + 1)
            except OperatorFailure as failure:
                return "unlucky" in str(failure)
            return False

        wait_until(fails, "the failure is told without a further record")
