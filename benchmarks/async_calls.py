"""`python -m benchmarks.async_calls`: how near many waiting calls come to the time they would ideally take."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import results
from penstock.common import Time
from penstock.datastream import AsyncFunction
from penstock.datastream.functions import AsyncFunctionDescriptor, AsyncRetryStrategy
from penstock.runtime.operators import AsyncWaitOperator
from penstock.testing import OperatorHarness

CALLS = 10_000
WAIT_S = 0.010
CAPACITY = 100
BLOCK = 1_000
IDEAL_S = CALLS * WAIT_S / CAPACITY
LIMIT_S = 2 * IDEAL_S


class Wait(AsyncFunction[int, int]):
    """Stands for a remote service."""

    async def async_invoke(self, value: int) -> list[int]:
        """Answer after a while."""
        await asyncio.sleep(WAIT_S)
        return [value]


def measure(mode: AsyncFunctionDescriptor.OutputMode) -> float:
    """Seconds from the first record to the last result."""
    strategy: AsyncRetryStrategy[Any] = AsyncRetryStrategy.no_restart()
    descriptor = AsyncFunctionDescriptor(Wait(), Time.seconds(30), CAPACITY, strategy, mode)
    with OperatorHarness(AsyncWaitOperator(descriptor)) as harness:
        started = time.perf_counter()
        for first in range(0, CALLS, BLOCK):
            harness.process_elements([(value, value) for value in range(first, first + BLOCK)])
        harness.end_input()
        seconds = time.perf_counter() - started
        assert len(harness.output_values()) == CALLS
    return seconds


def main() -> int:
    """Measure and print; exits with 1 if the limit is passed."""
    measured = {mode.name.lower(): measure(mode) for mode in AsyncFunctionDescriptor.OutputMode}
    facts = {"calls": CALLS, "wait_ms": WAIT_S * 1000, "capacity": CAPACITY, "ideal_s": IDEAL_S}
    results.write("async", {**results.heading(parallelism=1, rounds=1), **facts, "seconds": measured})
    for name, seconds in measured.items():
        print(
            f"{CALLS:,} asynchronous calls of {WAIT_S * 1000:.0f} ms, capacity {CAPACITY}, {name}: "
            f"{seconds:.2f} s (ideal {IDEAL_S:.2f} s, limit {LIMIT_S:.2f} s)"
        )
    return 0 if max(measured.values()) <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
