"""What asynchronous calls owe their records: order, timestamps, watermarks, retries. Time limits are in unit tests."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.time import Time
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy
from penstock.datastream.async_retry_predicates import empty_result_predicate, has_exception_predicate
from penstock.testing import Cut, Element, Idle
from penstock.testing.transcripts import NO_WATERMARK, End, Step, Transcript

LONG = Time.minutes(5)


class Turns:
    """Lets the event loop go round so many times: a delay that is the same on every machine."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __await__(self) -> Generator[None, None, None]:
        for _ in range(self._count):
            yield


class Answer(AsyncFunction[tuple[str, int], str]):
    """Of (word, turns) gives the word as often as it has letters, after so many turns."""

    async def async_invoke(self, value: tuple[str, int]) -> list[str]:
        await Turns(value[1])
        return [value[0]] * len(value[0])


class ThirdTime(AsyncFunction[str, str]):
    """Fails once, gives nothing once, and then an answer; counts for each record anew."""

    def open(self, runtime_context: Any) -> None:
        self._tries: dict[str, int] = {}

    async def async_invoke(self, value: str) -> list[str]:
        tries = self._tries[value] = self._tries.get(value, 0) + 1
        if tries == 1:
            raise ConnectionError(value)
        return [value] if tries >= 3 else []


RETRIES: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(2, 1, empty_result_predicate, has_exception_predicate)

TRANSCRIPTS = [
    Transcript(
        "ordered calls: results in the order of the input, with its timestamps",
        lambda stream: AsyncDataStream.ordered_wait(stream, Answer(), LONG),
        [
            Step(
                Element(("a", 300), 3),
                Element(("bb", 0), 1),
                Element(("", 9), 2),
                Element(("c", 3)),
                out=[("a", 3), ("bb", 1), ("bb", 1), ("c", None)],
                watermark=NO_WATERMARK,
            ),
            Step(Element(("d", 1), 4), Cut(), Element(("e", 0), 5), out=[("d", 4), ("e", 5)]),
        ],
    ),
    Transcript(
        "ordered calls, one at a time",
        lambda stream: AsyncDataStream.ordered_wait(stream, Answer(), LONG, 1),
        [Step(Element(("a", 9), 1), Element(("b", 0), 2), Element(("c", 4), 3), out=[("a", 1), ("b", 2), ("c", 3)])],
    ),
    Transcript(
        "unordered calls: every result, with the timestamp of its record",
        lambda stream: AsyncDataStream.unordered_wait(stream, Answer(), LONG, 2),
        [
            Step(
                Element(("a", 20), 3),
                Element(("bb", 0), 1),
                Element(("c", 3)),
                out=[("a", 3), ("bb", 1), ("bb", 1), ("c", None)],
            ),
            Step(End(), watermark=MAX_WATERMARK),
        ],
        any_order=True,
    ),
    Transcript(
        "unordered calls: results do not overtake a watermark",
        lambda stream: AsyncDataStream.unordered_wait(stream, Answer(), LONG),
        [
            Step(
                Element(("a", 500), 1),
                Watermark(5),
                Element(("b", 200), 2),
                Watermark(6),
                Element(("c", 0), 3),
                out=[("a", 1), ("b", 2), ("c", 3)],
                watermark=6,
            ),
            Step(Element(("d", 300), 7), Idle(), Element(("e", 0), 8), out=[("d", 7), ("e", 8)], watermark=6),
        ],
    ),
    Transcript(
        "calls on a keyed stream",
        lambda stream: AsyncDataStream.ordered_wait(stream.key_by(lambda value: value[0]), Answer(), LONG),
        [Step(Element(("a", 9), 1), Element(("b", 0), 2), Element(("a", 0), 3), out=[("a", 1), ("b", 2), ("a", 3)])],
    ),
    Transcript(
        "ordered calls that are tried again keep their place",
        lambda stream: AsyncDataStream.ordered_wait_with_retry(stream, ThirdTime(), LONG, RETRIES),
        [Step(Element("a", 1), Element("b", 2), out=[("a", 1), ("b", 2)]), Step(Element("c"), out=[("c", None)])],
    ),
    Transcript(
        "unordered calls that are tried again",
        lambda stream: AsyncDataStream.unordered_wait_with_retry(stream, ThirdTime(), LONG, RETRIES, 1),
        [Step(Element("a", 1), Element("b", 2), out=[("a", 1), ("b", 2)]), Step(Element("c"), out=[("c", None)])],
        any_order=True,
    ),
]
