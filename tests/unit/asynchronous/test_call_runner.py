"""Calls on the event loop: places, order, limits of time, and what happens to calls that do not stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator
from typing import Any

import pytest

from penstock.asynchronous import LoopCallRunner
from penstock.asynchronous.event_loop import shared_loop
from penstock.runtime.calls import Call, CallFault, CallSettings, Sleep

LONG_S = 60.0
SHORT_S = 0.02


class Turns:
    """Lets the event loop go round so many times."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __await__(self) -> Generator[None, None, None]:
        for _ in range(self._count):
            yield


def no_timeout(value: Any) -> list[Any]:
    raise AssertionError(f"{value!r} took too long")


def runner(
    invoke: Callable[..., Any],
    *,
    capacity: int = 10,
    is_ordered: bool = False,
    timeout_s: float = LONG_S,
    on_timeout: Callable[[Any], list[Any]] = no_timeout,
    grace_s: float = LONG_S,
) -> LoopCallRunner:
    async def adapted(value: Any, sleep: Sleep) -> list[Any]:
        return [await invoke(value)]

    return LoopCallRunner(CallSettings(adapted, on_timeout, timeout_s, capacity, is_ordered), grace_s)


def calls(*values: Any) -> list[Call]:
    return [Call(value, None) for value in values]


def values_of(*batches: list[Call]) -> list[Any]:
    return [result for batch in batches for call in batch for result in call.results or ()]


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


def test_calls_overlap_up_to_the_capacity_and_not_beyond() -> None:
    inside, most = set(), [0]

    async def invoke(value: int) -> int:
        inside.add(value)
        most[0] = max(most[0], len(inside))
        await Turns(value % 5 + 1)
        inside.remove(value)
        return value

    calling = runner(invoke, capacity=7)
    done = calling.start(calls(*range(100)))
    assert sorted(values_of(done, calling.drain())) == list(range(100))
    assert most == [7]


def test_a_start_returns_when_the_last_call_has_begun() -> None:
    gate = asyncio.Event()

    async def invoke(value: int) -> int:
        if value == 2:
            await gate.wait()
        return value

    calling = runner(invoke, capacity=1)
    assert values_of(calling.start(calls(0, 1, 2))) == [0, 1]
    shared_loop().post(gate.set)
    assert values_of(calling.drain()) == [2]


@pytest.mark.parametrize(("is_ordered", "expected"), [(True, ["slow", "fast"]), (False, ["fast", "slow"])])
def test_order_of_input_or_of_completion(is_ordered: bool, expected: list[str]) -> None:
    fast_is_done = asyncio.Event()

    async def invoke(value: str) -> str:
        if value == "slow":
            await fast_is_done.wait()
        fast_is_done.set()
        return value

    calling = runner(invoke, is_ordered=is_ordered)
    assert values_of(calling.start(calls("slow", "fast")), calling.drain()) == expected


@pytest.mark.parametrize(
    ("is_ordered", "expected"), [(True, ["fast", "slow", "last"]), (False, ["fast", "last", "slow"])]
)
def test_a_result_that_waits_for_an_earlier_one_keeps_its_place(is_ordered: bool, expected: list[str]) -> None:
    over: list[str] = []

    async def invoke(value: str) -> str:
        if value == "slow":
            await forever()
        over.append(value)
        return value

    def on_timeout(value: str) -> list[str]:
        over.append(value)
        return [value]

    calling = runner(invoke, capacity=2, is_ordered=is_ordered, timeout_s=SHORT_S, on_timeout=on_timeout)
    calling.start(calls("slow", "fast", "last"))
    calling.drain()
    assert over == expected


def test_calls_that_are_left_running_are_returned_later() -> None:
    gate = asyncio.Event()

    async def invoke(value: int) -> int:
        await gate.wait()
        return value

    calling = runner(invoke, is_ordered=True)
    assert calling.start(calls(1)) == calling.start(calls(2)) == []
    shared_loop().post(gate.set)
    assert values_of(calling.drain()) == [1, 2]
    assert calling.drain() == []


def test_a_call_that_takes_too_long_is_cancelled() -> None:
    seen: list[str] = []

    async def invoke(value: int) -> int:
        try:
            await forever()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return value

    calling = runner(invoke, timeout_s=SHORT_S, on_timeout=lambda value: [f"no {value}"])
    calling.start(calls(5))
    assert values_of(calling.drain()) == ["no 5"]
    assert seen == ["cancelled"]


def test_each_call_has_its_own_time_limit() -> None:
    async def invoke(value: int) -> int:
        if value % 2:
            await forever()
        return value

    calling = runner(invoke, capacity=2, timeout_s=SHORT_S, on_timeout=lambda value: [-value])
    started = calling.start(calls(*range(8)))
    assert sorted(values_of(started, calling.drain())) == [-7, -5, -3, -1, 0, 2, 4, 6]


def test_the_time_of_a_call_that_began_later_is_watched_too() -> None:
    async def invoke(value: str) -> str:
        if value == "hangs":
            await forever()
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        loop.call_later(SHORT_S / 2, answer.set_result, value)
        return str(await answer)

    # With one place the second call begins while the timer is set for the first.
    calling = runner(invoke, capacity=1, timeout_s=SHORT_S, on_timeout=lambda value: [value])
    results: list[Any] = []
    waiting = threading.Thread(
        target=lambda: results.extend(calling.start(calls("answers", "hangs")) + calling.drain())
    )
    waiting.daemon = True
    waiting.start()
    waiting.join(5)
    assert values_of(results) == ["answers", "hangs"]


class Oops(Exception):
    pass


@pytest.mark.parametrize("error", [Oops("no"), SystemExit(3), asyncio.CancelledError()])
def test_a_failing_call_stops_the_others(error: BaseException) -> None:
    seen: list[str] = []

    async def invoke(value: str) -> str:
        if value == "bad":
            await Turns(3)
            raise error
        try:
            await forever()
        finally:
            seen.append(value)
        return value

    calling = runner(invoke, capacity=3)
    with pytest.raises(CallFault) as caught:
        calling.start(calls("a", "bad", "b", "never begun"))
        calling.drain()
    assert (caught.value.error, caught.value.value) == (error, "bad")
    assert sorted(seen) == ["a", "b"]
    assert not shared_loop().is_stopped


def test_an_error_of_the_timeout_handler_is_told() -> None:
    def on_timeout(value: Any) -> list[Any]:
        raise Oops(value)

    calling = runner(lambda value: forever(), timeout_s=SHORT_S, on_timeout=on_timeout)
    with pytest.raises(CallFault) as caught:
        calling.start(calls(5))
        calling.drain()
    assert isinstance(caught.value.error, Oops)
    assert (caught.value.during, caught.value.value) == ("in timeout()", 5)


def test_no_call_runs_on_after_a_cancel_not_even_one_that_has_not_begun() -> None:
    seen: list[int] = []

    async def invoke(value: int) -> int:
        try:
            await forever()
        finally:
            seen.append(value)
        return value

    calling = runner(invoke)
    calling.start(calls(1, 2))
    calling.cancel()
    assert sorted(seen) == [1, 2]
    assert calling.drain() == []
    calling.cancel()


def test_a_call_that_ignores_being_cancelled_is_left_behind_with_its_loop() -> None:
    gate = asyncio.Event()

    async def invoke(value: int) -> int:
        for _ in range(2):
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue
        await forever()
        return value

    left = shared_loop()
    calling = runner(invoke, timeout_s=SHORT_S, on_timeout=lambda value: [], grace_s=5 * SHORT_S)
    with pytest.raises(CallFault, match=r"must not swallow asyncio\.CancelledError"):
        calling.start(calls(1))
        calling.drain()
    assert left.is_stopped and shared_loop() is not left


def test_a_call_that_blocks_the_loop_does_not_block_the_job_for_ever() -> None:
    release = threading.Event()

    async def invoke(value: int) -> int:
        release.wait(LONG_S)
        return value

    left = shared_loop()
    calling = runner(invoke, timeout_s=SHORT_S, grace_s=SHORT_S)
    with pytest.raises(CallFault, match="has blocked the event loop"):
        calling.start(calls(1))
        calling.drain()
    release.set()
    assert shared_loop() is not left


def test_who_shares_a_loop_that_is_left_behind_is_told() -> None:
    async def invoke(value: int) -> int:
        await forever()
        return value

    calling = runner(invoke, grace_s=SHORT_S)
    calling.start(calls(1))
    shared_loop().abandon()
    with pytest.raises(CallFault, match="a call of another operator hung"):
        calling.drain()
    assert values_of(runner(_double).start(calls()), _run_one()) == [42]


@pytest.mark.parametrize("end", [sys.exit, lambda: asyncio.get_running_loop().stop()], ids=["exit", "stop"])
def test_a_loop_that_user_code_ends_is_replaced(end: Callable[[], object]) -> None:
    async def invoke(value: int) -> int:
        asyncio.get_running_loop().call_soon(end)
        await forever()
        return value

    ended = shared_loop()
    calling = runner(invoke, grace_s=SHORT_S)
    with pytest.raises(
        CallFault, match=r"the event loop was stopped: user code stopped it, with loop\.stop\(\) or with sys\.exit\(\)"
    ):
        calling.start(calls(1))
        calling.drain()
    assert shared_loop() is not ended
    assert values_of(_run_one()) == [42]


async def _double(value: int) -> int:
    return value * 2


def _run_one() -> list[Call]:
    calling = runner(_double)
    return calling.start(calls(21)) + calling.drain()


def test_a_forked_process_has_a_loop_of_its_own() -> None:
    mine = shared_loop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is just what is tested
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if shared_loop() is not mine and values_of(_run_one()) == [42] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert shared_loop() is mine and values_of(_run_one()) == [42]
