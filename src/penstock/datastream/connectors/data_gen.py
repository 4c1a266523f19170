"""Generated data, under the names of Flink's Java API."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, overload

from penstock.common.column_block import FORMS
from penstock.common.type_inference import from_hint
from penstock.common.type_variables import T_co
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.generated.columns import ColumnGenerator
from penstock.connectors.generated.numbered import DataGenerator
from penstock.errors import ConfigurationError

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]


class GeneratorFunction(ABC, Generic[T_co]):
    """A function of the record's number, as a class."""

    @abstractmethod
    def map(self, value: int) -> T_co:
        """Return record number `value`; it must depend only on the number, because a batch may run again."""


@dataclass(frozen=True)
class RateLimiterStrategy:
    """The rate limit of a generator, for all subtasks together."""

    records_per_second: float | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """Limit the rate to this many records per second."""
        return RateLimiterStrategy(records_per_second)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """Do not limit the rate."""
        return RateLimiterStrategy()


class DataGeneratorSource(DataGenerator[T_co]):
    """Generates records with a function of the record number: exactly-once, because record n is always the same.

    A function with two parameters also gets a `random.Random` that depends only on `seed` and the number.
    """

    @overload
    def __init__(
        self,
        generator_function: GeneratorFunction[T_co] | Callable[[int], T_co],
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        seed: int = 0,
    ) -> None: ...

    @overload
    def __init__(
        self,
        generator_function: Callable[[int, random.Random], T_co],
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        seed: int = 0,
    ) -> None: ...

    def __init__(
        self,
        generator_function: GeneratorFunction[T_co] | Callable[[int], T_co] | Callable[[int, random.Random], T_co],
        count: int | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        seed: int = 0,
    ) -> None:
        """Generate `count` records, or an unbounded stream if it is None."""
        limiter = _limiter(rate_limiter_strategy)
        if isinstance(generator_function, GeneratorFunction):
            generator_function = generator_function.map
        super().__init__(generator_function, count, limiter.records_per_second, seed)

    @staticmethod
    def of_columns(
        function: Callable[..., Any],
        count: int | None = None,
        type_info: TypeInformation | type | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        seed: int = 0,
        *,
        row_format: str = "row",
    ) -> ColumnGenerator:
        """Generate records as columns: `function(numbers)` returns a dict of arrays, or a RecordBatch.

        `numbers` is an int64 array of numpy; there must be one value for each, that depends on that number only. A
        function of two arguments is also given random numbers (`random()`, `integers(low, high)`) of these records.
        `type_info` declares the records: a named row, a tuple, a dataclass, or the type of single values. Without it
        they are what `row_format` says: "row", "tuple", "dict" or "value".
        """
        if row_format not in FORMS:
            raise ConfigurationError(f"row_format must be one of {', '.join(map(repr, FORMS))}, got {row_format!r}.")
        declared = from_hint(type_info) if isinstance(type_info, type) else type_info
        if declared is not None and not isinstance(declared, TypeInformation):
            raise ConfigurationError(
                f"of_columns: type_info must be a type of Types or a dataclass, got {type_info!r}."
            )
        rate = _limiter(rate_limiter_strategy).records_per_second
        return ColumnGenerator(function, count, declared, row_format, rate, seed)


def _limiter(strategy: RateLimiterStrategy | None) -> RateLimiterStrategy:
    limiter = RateLimiterStrategy.no_op() if strategy is None else strategy
    if not isinstance(limiter, RateLimiterStrategy):
        raise ConfigurationError(
            f"rate_limiter_strategy must be RateLimiterStrategy.per_second(n) or .no_op(), got {limiter!r}."
        )
    return limiter
