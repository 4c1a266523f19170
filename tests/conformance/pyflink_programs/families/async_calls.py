"""Asynchronous calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def calling(
    invoke: Callable[[Any], Any], *, order: str = "ordered", timeout_ms: int = 5_000, on_timeout: Any = None
) -> Callable[[Any], Any]:
    def build(p: Any) -> Any:
        class Call(p.AsyncFunction):
            async def async_invoke(self, value: Any) -> Any:
                # The later the element, the sooner the answer.
                await asyncio.get_running_loop().run_in_executor(None, threading.Event().wait, 0.01 * (5 - value))
                return invoke(value)

        class CallOrTimeout(Call):
            def timeout(self, value: Any) -> Any:
                return on_timeout(value)

        function = Call() if on_timeout is None else CallOrTimeout()
        wait = getattr(p.AsyncDataStream, f"{order}_wait")
        stream = p.env().from_collection([1, 2, 3, 4])
        return wait(stream, function, p.Time.milliseconds(timeout_ms), 10)

    return build


def fails(value: Any) -> Any:
    raise ValueError("no")


def retried(p: Any) -> Any:
    class Flaky(p.AsyncFunction):
        def __init__(self) -> None:
            self.calls: dict[Any, int] = {}

        async def async_invoke(self, value: Any) -> Any:
            self.calls[value] = self.calls.get(value, 0) + 1
            if self.calls[value] < 3:
                raise ValueError("not yet")
            return [(value, self.calls[value])]

    strategy = p.AsyncRetryStrategy.fixed_delay(5, 10, None, lambda error: True)
    stream = p.env().from_collection([1, 2])
    return p.AsyncDataStream.ordered_wait_with_retry(stream, Flaky(), p.Time.seconds(10), strategy, 10)


PROGRAMS: list[Program] = [
    *programs_of(
        {
            "ordered": calling(lambda value: [value * 2]),
            "ordered_many": calling(lambda value: [value] * value),
            "ordered_nothing": calling(lambda value: [] if value % 2 else [value]),
            "no_list": calling(lambda value: value),
            "tuple_is_no_list": calling(lambda value: (value,)),
            "none": calling(lambda value: None),
            "fails": calling(fails),
            "times_out": calling(lambda value: [value], timeout_ms=1, on_timeout=lambda value: ["late", value]),
            "retried": retried,
        }
    ),
    *programs_of({"unordered": calling(lambda value: [value * 2], order="unordered")}, is_ordered=False),
]
