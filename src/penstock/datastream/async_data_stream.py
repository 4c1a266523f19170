"""`AsyncDataStream`: async calls on a stream."""

from __future__ import annotations

import inspect
from typing import Any

from penstock.common.time import Duration, Time, to_millis
from penstock.common.type_variables import R, T
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import check_function, check_type, is_whole
from penstock.datastream.stream import DataStream, add_operator
from penstock.errors import GraphError
from penstock.runtime import operators
from penstock.vocabulary.functions import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy

__all__ = ["AsyncDataStream"]

_Mode = AsyncFunctionDescriptor.OutputMode


class AsyncDataStream:
    """Applies an AsyncFunction to a stream.

    Each result gets the timestamp of its record. The stream may be keyed, but calls have no access to keyed state. A
    replayed batch makes its calls again.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time | Duration,
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Emit results as calls complete, but never across a watermark."""
        strategy = AsyncRetryStrategy.no_restart()
        descriptor = _described("unordered_wait", async_function, timeout, capacity, strategy, _Mode.UNORDERED)
        return _appended("unordered_wait", data_stream, descriptor, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time | Duration,
        async_retry_strategy: AsyncRetryStrategy[R],
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Emit results as calls complete; `timeout` covers all attempts for a record."""
        method = "unordered_wait_with_retry"
        descriptor = _described(method, async_function, timeout, capacity, async_retry_strategy, _Mode.UNORDERED)
        return _appended(method, data_stream, descriptor, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time | Duration,
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Emit results in the order of their records."""
        strategy = AsyncRetryStrategy.no_restart()
        descriptor = _described("ordered_wait", async_function, timeout, capacity, strategy, _Mode.ORDERED)
        return _appended("ordered_wait", data_stream, descriptor, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream[T],
        async_function: AsyncFunction[T, R],
        timeout: Time | Duration,
        async_retry_strategy: AsyncRetryStrategy[R],
        capacity: int = 100,
        output_type: TypeInformation[R] | None = None,
    ) -> DataStream[R]:
        """Emit results in the order of their records; `timeout` covers all attempts for a record."""
        method = "ordered_wait_with_retry"
        descriptor = _described(method, async_function, timeout, capacity, async_retry_strategy, _Mode.ORDERED)
        return _appended(method, data_stream, descriptor, output_type)


def _described(
    method: str, function: Any, timeout: Any, capacity: Any, strategy: Any, mode: _Mode
) -> AsyncFunctionDescriptor:
    check_function(method, function, AsyncFunction, takes_callable=False)
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise GraphError(
            f"{method}: method 'async_invoke' of class {type(function).__name__!r} must be declared as 'async def'."
        )
    if inspect.iscoroutinefunction(function.timeout):
        raise GraphError(f"{method}: method 'timeout' of class {type(function).__name__!r} must not be 'async def'.")
    if not is_whole(capacity) or capacity < 1:
        raise GraphError(f"{method}: capacity must be an int of 1 or more, got {capacity!r}.")
    if not isinstance(strategy, AsyncRetryStrategy):
        raise GraphError(f"{method}: expected an AsyncRetryStrategy, got {strategy!r}.")
    return AsyncFunctionDescriptor(function, _limit(method, timeout), capacity, strategy, mode)


def _limit(method: str, timeout: Any) -> Time:
    try:
        millis = to_millis(timeout)
    except TypeError:
        millis = 0
    if millis < 1:
        raise GraphError(f"{method}: timeout must be a Time or Duration of 1 ms or more, got {timeout!r}.")
    return Time.milliseconds(millis)


def _appended(
    method: str, stream: DataStream, descriptor: AsyncFunctionDescriptor, output_type: TypeInformation | None
) -> DataStream:
    if not isinstance(stream, DataStream):
        raise GraphError(f"{method}: expected a DataStream, got {stream!r}.")
    declared = check_type(method, "output_type", output_type)
    operator = operators.AsyncWaitOperator(descriptor)
    return add_operator(stream.environment, "async wait operator", operator, stream.edges, declared)
