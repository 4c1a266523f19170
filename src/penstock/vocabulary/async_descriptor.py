"""An asynchronous function with the settings of its calls, as the runtime gets it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.async_retry_strategies import AsyncRetryStrategy

if TYPE_CHECKING:
    from penstock.common.time import Time
    from penstock.vocabulary.functions import AsyncFunction

__all__ = ["AsyncFunctionDescriptor"]


class AsyncFunctionDescriptor:
    """An AsyncFunction with everything that was said about its calls."""

    class OutputMode(Enum):
        """Whether results leave in the order of the input, or as calls complete."""

        ORDERED = 0
        UNORDERED = 1

    def __init__(
        self,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        output_mode: OutputMode,
    ) -> None:
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy
        self.output_mode = output_mode
