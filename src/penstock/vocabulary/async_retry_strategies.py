"""Retry strategies for async calls.

`penstock.vocabulary.functions` has the two abstract classes too, where PyFlink's programs look for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import TypeVar

from penstock.errors import GraphError

__all__ = [
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]

OUT = TypeVar("OUT", default=Any)
ResultPredicate = Callable[[list[OUT]], bool] | None
ExceptionPredicate = Callable[[Exception], bool] | None


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Decides which results and errors of an async call to retry."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate[OUT]:
        """Return a test for results, or None to accept all."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate:
        """Return a test for errors, or None to retry none."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Decides whether and when to retry an async call."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another attempt is allowed after this many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay before the next attempt, in milliseconds."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return which results and errors are retried."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never retry."""
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[Any],
        exception_predicate: ExceptionPredicate,
    ) -> AsyncRetryStrategy[Any]:
        """Retry up to `max_attempts` times, always after the same delay."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate[Any],
        exception_predicate: ExceptionPredicate,
    ) -> AsyncRetryStrategy[Any]:
        """Retry up to `max_attempts` times, after delays that grow up to a limit."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """Two functions as a predicate; None never asks for another try."""

    def __init__(self, result_predicate: ResultPredicate[OUT], exception_predicate: ExceptionPredicate) -> None:
        _check_predicate("result_predicate", result_predicate)
        _check_predicate("exception_predicate", exception_predicate)
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate[OUT]:
        """Return the test for results."""
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate:
        """Return the test for errors."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """One try."""

    def can_retry(self, current_attempts: int) -> bool:
        """Never."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return -1, as in Flink: there is no next try."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return a predicate that asks for no retry."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """More tries, always after the same pause."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate[OUT],
        exception_predicate: ExceptionPredicate,
    ) -> None:
        self._max_attempts = _above_zero("max_attempts", max_attempts)
        self._backoff_time_millis = _above_zero("backoff_time_millis", backoff_time_millis)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Return whether fewer than `max_attempts` tries came after the first."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the pause."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return which results and errors are retried."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """More tries, each after a pause `multiplier` times as long as the one before, up to a limit."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate[OUT],
        exception_predicate: ExceptionPredicate,
    ) -> None:
        self._max_attempts = _above_zero("max_attempts", max_attempts)
        self._initial_delay = _above_zero("initial_delay", initial_delay)
        self._max_retry_delay = _above_zero("max_retry_delay", max_retry_delay)
        self._multiplier = _above_zero("multiplier", multiplier)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """Return whether fewer than `max_attempts` tries came after the first."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the pause after so many tries.

        Computed from their number alone. Flink remembers the last pause, in one object for all records: calls that
        are retried at the same time lengthen each other's pauses there.
        """
        if current_attempts <= 1:
            return self._initial_delay
        try:
            grown = self._initial_delay * self._multiplier ** (current_attempts - 1)
        except OverflowError:
            grown = self._max_retry_delay
        return int(min(grown, self._max_retry_delay))

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return which results and errors are retried."""
        return self._predicate


Number = TypeVar("Number", int, float)


def _above_zero(parameter: str, value: Number) -> Number:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise GraphError(f"{parameter} of a retry strategy should be greater than zero, got {value!r}.")
    return value


def _check_predicate(parameter: str, predicate: object) -> None:
    if predicate is not None and not callable(predicate):
        raise GraphError(f"{parameter} of a retry strategy must be a function or None, got {predicate!r}.")
