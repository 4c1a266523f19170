"""What the window transcripts share: pipelines of one window operator, and functions that show a window as text.

Records are strings: the first character is the key, the rest a payload.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.datastream import (
    AggregateFunction,
    AllWindowFunction,
    DataStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.datastream.window import CountWindow, TimeWindow

LATE = OutputTag("late")


def first(record: Any) -> Any:
    return record[0]


def joined(left: str, right: str) -> str:
    """Reduces records of one key: payloads in the order they came."""
    return left + right[1:]


def bounds(window: Any) -> str:
    if isinstance(window, TimeWindow):
        return f"[{window.start},{window.end})"
    return f"#{window.id} " if isinstance(window, CountWindow) else "* "


class Show(ProcessWindowFunction):
    """Key, window, and payloads in their order: `a[0,10)xy`."""

    def process(self, key: Any, context: Any, elements: Iterable[str]) -> Iterator[str]:
        yield key + bounds(context.window()) + "".join(element[1:] for element in elements)


class ShowSorted(ProcessWindowFunction):
    """As `Show` with the characters in their order, where merging leaves that of elements open."""

    def process(self, key: Any, context: Any, elements: Iterable[str]) -> Iterator[str]:
        yield key + bounds(context.window()) + "".join(sorted("".join(element[1:] for element in elements)))


class ShowResult(ProcessWindowFunction):
    """Key, window, and the one result of an aggregation."""

    def process(self, key: Any, context: Any, elements: Iterable[str]) -> Iterator[str]:
        (result,) = elements
        yield key + bounds(context.window()) + result


class Apply(WindowFunction):
    """As `Show`, the other kind of function."""

    def apply(self, key: Any, window: Any, inputs: Iterable[str]) -> Iterable[str]:
        return [key + bounds(window) + "".join(element[1:] for element in inputs)]


class ShowAll(ProcessAllWindowFunction):
    """As `Show`, for the windows of a whole stream."""

    def process(self, context: Any, elements: Iterable[str]) -> Iterator[str]:
        yield bounds(context.window()) + "".join(elements)


class ApplyAll(AllWindowFunction):
    """As `Apply`, for the windows of a whole stream."""

    def apply(self, window: Any, inputs: Iterable[str]) -> Iterable[str]:
        return [bounds(window) + "".join(inputs)]


class Gather(AggregateFunction):
    """Payloads in a list that is changed in place; the result is a text."""

    def create_accumulator(self) -> list[str]:
        return []

    def add(self, value: str, accumulator: list[str]) -> list[str]:
        accumulator.append(value[1:])
        return accumulator

    def get_result(self, accumulator: list[str]) -> str:
        return "".join(accumulator)

    def merge(self, acc_a: list[str], acc_b: list[str]) -> list[str]:
        acc_a.extend(acc_b)
        return acc_a


class GatherSorted(Gather):
    """The same in alphabetical order, so that it may be gathered in parts."""

    is_commutative = True

    def get_result(self, accumulator: list[str]) -> str:
        return "".join(sorted(accumulator))


@dataclass(frozen=True)
class Windowed:
    """One window operator behind a key: `Windowed(assigner, "reduce", joined)`; without a method it shows windows."""

    assigner: Any
    method: str = "process"
    arguments: Any = None
    trigger: Any = None
    evictor: Any = None
    lateness: int | None = None
    late: OutputTag | None = None
    two_phase: bool = False

    def __call__(self, stream: DataStream) -> DataStream:
        arguments = (Show(),) if self.arguments is None else self.arguments
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        return getattr(self.windows(stream), self.method)(*arguments)

    def windows(self, stream: DataStream) -> Any:
        windows: Any = self.cut(stream)
        if self.trigger is not None:
            windows = windows.trigger(self.trigger)
        if self.evictor is not None:
            windows = windows.evictor(self.evictor)
        if self.lateness is not None:
            windows = windows.allowed_lateness(self.lateness)
        if self.late is not None:
            windows = windows.side_output_late_data(self.late)
        return windows.two_phase(self.two_phase)

    def cut(self, stream: DataStream) -> Any:
        return stream.key_by(first).window(self.assigner)


class WindowedAll(Windowed):
    """The same for a stream that is not keyed."""

    def cut(self, stream: DataStream) -> Any:
        return stream.window_all(self.assigner)
