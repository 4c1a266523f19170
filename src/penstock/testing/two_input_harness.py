"""Harnesses of operators with two inputs, fed and read by hand; all else is as with one input, see `harness`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.runtime.operators import CoProcessOperator, KeyedCoProcessOperator, StreamOperator
from penstock.testing.harness import Key, KeyedAccess, SubtaskHarness


class TwoInputHarness(SubtaskHarness):
    """Drives an operator with two inputs. Use it in a `with` block: it opens and closes the user's function.

    What has no number in its name goes to both inputs.

    >>> from penstock.datastream import CoMapFunction
    >>> from penstock.runtime.operators import CoMapOperator
    >>> class Sides(CoMapFunction):
    ...     def map1(self, value):
    ...         return "left", value
    ...     def map2(self, value):
    ...         return "right", value
    >>> with TwoInputHarness(CoMapOperator(Sides())) as harness:
    ...     harness.process_element1(1)
    ...     harness.process_element2(2)
    ...     harness.output_values()
    [('left', 1), ('right', 2)]
    """

    def __init__(
        self, operator: StreamOperator, *, key1: Key | None = None, key2: Key | None = None, **settings: Any
    ) -> None:
        super().__init__(operator, [key1, key2], **settings)

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """Feed one record to the first input."""
        self._feed_elements(0, [(value, timestamp)])

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """Feed one record to the second input."""
        self._feed_elements(1, [(value, timestamp)])

    def process_elements1(self, elements: Iterable[tuple[Any, int | None]]) -> None:
        """Feed records to the first input as one block."""
        self._feed_elements(0, elements)

    def process_elements2(self, elements: Iterable[tuple[Any, int | None]]) -> None:
        """Feed records to the second input as one block."""
        self._feed_elements(1, elements)

    def process_watermark(self, watermark: int | Watermark) -> None:
        """Let event time advance on both inputs."""
        self.process_watermark1(watermark)
        self.process_watermark2(watermark)

    def process_watermark1(self, watermark: int | Watermark) -> None:
        """Let event time advance on the first input; the slower input is the operator's time."""
        self._feed_watermark(0, watermark)

    def process_watermark2(self, watermark: int | Watermark) -> None:
        """Let event time advance on the second input; the slower input is the operator's time."""
        self._feed_watermark(1, watermark)

    def idle1(self, is_idle: bool = True) -> None:
        """Say that the first input is idle, or active again."""
        self._feed_status(0, is_idle)

    def idle2(self, is_idle: bool = True) -> None:
        """Say that the second input is idle, or active again."""
        self._feed_status(1, is_idle)

    def end_input(self) -> None:
        """End both inputs."""
        self.end_input1()
        self.end_input2()

    def end_input1(self) -> None:
        """End the first input: its maximum watermark, then its end."""
        self._feed_end(0)

    def end_input2(self) -> None:
        """End the second input: its maximum watermark, then its end."""
        self._feed_end(1)


class KeyedTwoInputHarness(KeyedAccess, TwoInputHarness):
    """Drives a keyed operator with two inputs; an input without a key selector is one that is not keyed."""


class CoProcessHarness(TwoInputHarness):
    """Drives a CoProcessFunction."""

    def __init__(self, function: Any, **settings: Any) -> None:
        super().__init__(CoProcessOperator(function), **settings)


class KeyedCoProcessHarness(KeyedTwoInputHarness):
    """Drives a KeyedCoProcessFunction; `key1` and `key2` select the keys of both inputs."""

    def __init__(self, function: Any, *, key1: Key, key2: Key, **settings: Any) -> None:
        super().__init__(KeyedCoProcessOperator(function), key1=key1, key2=key2, **settings)
