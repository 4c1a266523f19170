"""Calls in flight, as the event loop sees them: free places, order, time limits. All of it runs in the loop's thread.

Only `take` is for the thread that waits; the event `reached` tells it that what it asked for is so, or has failed.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.runtime.calls import Call, CallFault, CallSettings

Goal = Callable[[], bool]


class CallsInFlight:
    """The calls of one operator from the first that starts until none is left."""

    def __init__(self, settings: CallSettings, loop: asyncio.AbstractEventLoop, grace_s: float) -> None:
        self.reached = threading.Event()
        self.fault: CallFault | None = None
        self.progress = 0
        self._settings = settings
        self._loop = loop
        self._grace_s = grace_s
        self._ready: deque[Call] = deque()  # the one thing that both threads change: append and popleft are atomic
        self._waiting: deque[Call] = deque()
        self._running: dict[Call, None] = {}
        self._order: deque[Call] = deque()
        self._cancelled: set[Call] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._goal: Goal | None = None
        self._is_stopping = False

    # ---- what the other thread asks for ----

    def take(self) -> list[Call]:
        """The calls that are over; may be called from the other thread."""
        ready = self._ready
        return [ready.popleft() for _ in range(len(ready))]

    def admit(self, calls: list[Call]) -> None:
        """Take more calls; the goal is that all of them have begun."""
        self._waiting.extend(calls)
        self._goal = self.is_admitted
        self._fill()

    def drain(self) -> None:
        """The goal is that all calls have ended."""
        self._goal = self.is_empty
        self._check_goal()

    def cancel(self) -> None:
        """Cancel all calls; the goal is that all have ended."""
        self._is_stopping = True
        self._waiting.clear()
        self._order.clear()
        for call in self._running:
            self._cancel(call)
        self._running.clear()
        self._goal = self.is_empty
        self._check_goal()

    def beat(self) -> None:
        """Show that the loop is alive."""
        self.progress += 1

    def is_admitted(self) -> bool:
        """Whether every call has begun."""
        return not self._waiting

    def is_empty(self) -> bool:
        """Whether nothing goes on any more."""
        return not (self._waiting or self._running or self._order or self._cancelled)

    def _check_goal(self) -> None:
        if self._goal is not None and self._goal():
            self._goal = None
            if self._timer is not None and not self._running:
                self._timer.cancel()
                self._timer = None
            self.reached.set()

    # ---- calls begin and end ----

    def _fill(self) -> None:
        waiting, running = self._waiting, self._running
        # As in Flink, a result that waits for an earlier one of an ordered stream keeps its place.
        taken = self._order if self._settings.is_ordered else running
        capacity, timeout_s, is_ordered = self._settings.capacity, self._settings.timeout_s, self._settings.is_ordered
        create_task, now = self._loop.create_task, self._loop.time()
        while waiting and len(taken) < capacity:
            call = waiting.popleft()
            call.deadline = now + timeout_s
            call.task = create_task(self._run(call))
            running[call] = None
            if is_ordered:
                self._order.append(call)
        if self._timer is None and running:
            self._timer = self._loop.call_at(next(iter(running)).deadline, self._expire)
        self._check_goal()

    async def _run(self, call: Call) -> None:
        try:
            results = await self._settings.invoke(call.value, asyncio.sleep)
        except GeneratorExit:  # the loop was left behind
            raise
        except BaseException as error:
            # All kinds: what asyncio lets pass (SystemExit) would end the loop with all its calls.
            if call in self._running:
                self._fail(error, "processing a record", call.value)
        else:
            if call in self._running:
                self._end(call, results)

    def _end(self, call: Call, results: list[Any]) -> None:
        call.results = results
        call.task = None
        del self._running[call]
        self.progress += 1
        if self._settings.is_ordered:
            order, ready = self._order, self._ready
            while order and order[0].results is not None:
                ready.append(order.popleft())
        else:
            self._ready.append(call)
        self._fill()

    def _fail(self, error: BaseException, during: str, value: Any) -> None:
        if self.fault is None and not self._is_stopping:
            self.fault = CallFault(error, during, value)
            self._waiting.clear()
            self.reached.set()

    # ---- calls that take too long ----

    def _expire(self) -> None:
        """All calls have the same limit, so the one that began first is the next to reach it: one timer serves all."""
        self._timer = None
        now = self._loop.time()
        expired = []
        for call in self._running:
            if call.deadline > now:
                self._timer = self._loop.call_at(call.deadline, self._expire)
                break
            expired.append(call)
        for call in expired:
            self._time_out(call)

    def _time_out(self, call: Call) -> None:
        self._cancel(call)
        self._loop.call_later(self._grace_s, self._check_gone, call)
        try:
            results = self._settings.on_timeout(call.value)
        except BaseException as error:
            self._fail(error, "in timeout()", call.value)
        else:
            self._end(call, results)

    def _cancel(self, call: Call) -> None:
        self._cancelled.add(call)
        call.task.add_done_callback(lambda _: self._gone(call))
        call.task.cancel()

    def _gone(self, call: Call) -> None:
        self._cancelled.discard(call)
        self._check_goal()

    def _check_gone(self, call: Call) -> None:
        if call in self._cancelled:
            error = TimeoutError(
                f"the call was cancelled at its timeout but has not ended {self._grace_s:g} s later: "
                "async_invoke must not swallow asyncio.CancelledError"
            )
            self._fail(error, "cancelling a call", call.value)
