"""The runner of an operator's asynchronous calls: the side of the operator's thread, which hands over and waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from penstock.asynchronous.calls_in_flight import CallsInFlight
from penstock.asynchronous.event_loop import EventLoopThread, shared_loop
from penstock.runtime.calls import Call, CallFault, CallSettings

_log = logging.getLogger(__name__)

GRACE_S = 10.0
"""How long a call that is cancelled may take to end, and a coroutine to block the loop beyond the calls' time limit."""


class LoopCallRunner:
    """A `CallRunner` on the event loop of this process.

    The calls of a whole block are handed over at once and the loop fills free places by itself: two changes of thread
    for each block, however many records it has.
    """

    def __init__(self, settings: CallSettings, grace_s: float = GRACE_S) -> None:
        self._settings = settings
        self._grace_s = grace_s
        self._host: EventLoopThread | None = None
        self._in_flight: CallsInFlight | None = None
        self._not_given = 0

    def start(self, calls: list[Call]) -> list[Call]:
        """Hand calls over; returns when the last one has begun, with those that are over."""
        in_flight = self._in_flight
        if in_flight is None:
            self._host = shared_loop()
            in_flight = self._in_flight = CallsInFlight(self._settings, self._host.loop, self._grace_s)
        self._not_given += len(calls)
        self._ask(in_flight, in_flight.admit, calls)
        return self._given(in_flight)

    @property
    def is_busy(self) -> bool:
        """Whether calls were started that nobody has been given yet."""
        return self._not_given > 0

    def finished(self) -> list[Call]:
        """The calls that are over, without waiting for any."""
        in_flight = self._in_flight
        if in_flight is None:
            return []
        self._raise_fault(in_flight)
        return self._given(in_flight)

    def drain(self) -> list[Call]:
        """Wait until all calls are over."""
        in_flight = self._in_flight
        if in_flight is None:
            return []
        self._ask(in_flight, in_flight.drain)
        self._in_flight = None  # the next call begins on whatever loop the process has then
        return self._given(in_flight)

    def cancel(self) -> None:
        """Stop all calls. A loop in which one does not stop is left behind, with everything in it."""
        in_flight, self._in_flight = self._in_flight, None
        self._not_given = 0
        if in_flight is None:
            return
        assert self._host is not None
        in_flight.reached.clear()
        self._host.post(in_flight.cancel)
        if not self._host.is_stopped and not in_flight.reached.wait(self._grace_s):
            _log.warning("an async call does not stop; its event loop is abandoned")
            self._host.abandon()

    def _given(self, in_flight: CallsInFlight) -> list[Call]:
        calls = in_flight.take()
        self._not_given -= len(calls)
        return calls

    def _ask(self, in_flight: CallsInFlight, action: Callable[..., None], *arguments: Any) -> None:
        host = self._host
        assert host is not None
        if in_flight.fault is None:
            in_flight.reached.clear()
            if in_flight.fault is None:  # it may have come while the flag was cleared
                host.post(action, *arguments)
                self._wait(in_flight, host)
        self._raise_fault(in_flight)

    def _raise_fault(self, in_flight: CallsInFlight) -> None:
        if in_flight.fault is not None:
            fault = in_flight.fault
            self.cancel()
            raise fault

    def _wait(self, in_flight: CallsInFlight, host: EventLoopThread) -> None:
        seen, since = in_flight.progress, time.monotonic()
        limit_s = self._settings.timeout_s + self._grace_s
        while not in_flight.reached.wait(min(1.0, self._grace_s)):
            if host.is_stopped:
                in_flight.fault = _loop_fault(f"the event loop was stopped: {host.stopped_by}")
            elif in_flight.progress != seen:
                seen, since = in_flight.progress, time.monotonic()
            elif time.monotonic() - since > limit_s:
                in_flight.fault = _loop_fault(
                    f"a call has blocked the event loop for {limit_s:g} s: use await in async_invoke instead of "
                    "blocking calls"
                )
            if in_flight.fault is not None:
                return
            host.post(in_flight.beat)


def _loop_fault(problem: str) -> CallFault:
    return CallFault(RuntimeError(problem), "waiting for async calls", None)
