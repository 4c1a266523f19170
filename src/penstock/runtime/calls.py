"""The interface between an operator that makes async calls and their runner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

Sleep = Callable[[float], Awaitable[Any]]
"""Waits for so many seconds without holding up other calls."""


class Call:
    """One record on its way through a call; `results` is None until the call is over."""

    __slots__ = ("deadline", "results", "task", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.results: list[Any] | None = None
        # The runner's own: when the call has taken too long, and what to cancel then.
        self.deadline = 0.0
        self.task: Any = None


@dataclass(frozen=True)
class CallSettings:
    """What an operator's calls are. All functions in here are called where the calls run, one at a time."""

    invoke: Callable[[Any, Sleep], Coroutine[Any, Any, list[Any]]]
    on_timeout: Callable[[Any], list[Any]]
    timeout_s: float
    capacity: int
    is_ordered: bool


class CallFault(Exception):
    """A call went wrong: the error, what was being done, and for which value."""

    def __init__(self, error: BaseException, during: str, value: Any) -> None:
        super().__init__(error, during, value)
        self.error = error
        self.during = during
        self.value = value


class CallRunner(Protocol):
    """Runs the calls of one operator, at most `capacity` at once. Used by one thread; raises `CallFault`."""

    def start(self, calls: list[Call]) -> list[Call]:
        """Start calls, and return those that are over by now: in the order they were started, or in which they ended.

        Returns when the last one has begun, so a full house holds up the caller.
        """

    @property
    def is_busy(self) -> bool:
        """Whether there may be calls that nobody has been given yet."""

    def finished(self) -> list[Call]:
        """The calls that are over by now and were not returned yet."""

    def drain(self) -> list[Call]:
        """Wait until all calls are over, and return those that were not returned yet."""

    def cancel(self) -> None:
        """Stop all calls and forget them; none runs on when this returns."""


CallRunners = Callable[[CallSettings], CallRunner]
"""Makes the runner of an operator's calls."""
