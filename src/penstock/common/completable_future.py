"""`CompletableFuture`, under PyFlink's name."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A future result; wraps a `concurrent.futures.Future`."""

    def __init__(self, future: Future[Any], py_class: Callable[[Any], T] | None = None) -> None:
        self._future = future
        self._convert = py_class

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """Return a future that already has its result."""
        future: Future[T] = Future()
        future.set_result(value)
        return CompletableFuture(future)

    @staticmethod
    def failed(error: BaseException) -> CompletableFuture[Any]:
        """Return a future that already failed."""
        future: Future[Any] = Future()
        future.set_exception(error)
        return CompletableFuture(future)

    def cancel(self) -> bool:
        """Try to cancel; return whether it worked."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Return whether it was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Return whether it has a result, failed or was cancelled."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result and return it, or raise its failure; TimeoutError after `timeout` seconds."""
        value = self._future.result(timeout)
        return value if self._convert is None else self._convert(value)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end and return the failure, None if it went well."""
        return self._future.exception(timeout)

    def __repr__(self) -> str:
        return f"CompletableFuture({self._future!r})"
