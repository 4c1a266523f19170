"""Java's names for the data generator; the source itself is `penstock.connectors.data_generator`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.connectors.data_generator import DataGenerator
from penstock.errors import ConfigurationError

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]


class GeneratorFunction(ABC):
    """A function of the record's number, as a class."""

    @abstractmethod
    def map(self, value: int) -> Any:
        """Make record number `value`; must depend on nothing else, because a batch may be made again."""


@dataclass(frozen=True)
class RateLimiterStrategy:
    """How fast a generator may go, all subtasks together."""

    records_per_second: float | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """Limit to so many records a second."""
        return RateLimiterStrategy(records_per_second)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """Go as fast as possible."""
        return RateLimiterStrategy()


class DataGeneratorSource(DataGenerator):
    """Records made by a function of their number: exactly-once, because record n is the same whenever it is made.

    A function of two arguments is also given a `random.Random` that depends only on `seed` and the number.
    """

    def __init__(
        self,
        generator_function: GeneratorFunction | Callable[..., Any],
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        seed: int = 0,
    ) -> None:
        """Make `count` records, or endlessly many if it is None."""
        limiter = RateLimiterStrategy.no_op() if rate_limiter_strategy is None else rate_limiter_strategy
        if not isinstance(limiter, RateLimiterStrategy):
            raise ConfigurationError(
                f"rate_limiter_strategy must be RateLimiterStrategy.per_second(n) or .no_op(), got {limiter!r}."
            )
        if isinstance(generator_function, GeneratorFunction):
            generator_function = generator_function.map
        super().__init__(generator_function, count, limiter.records_per_second, seed)
