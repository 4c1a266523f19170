"""assign_timestamps_and_watermarks: what each kind of generator says of event time."""

from __future__ import annotations

from typing import Any

from penstock.common import Duration, WatermarkStrategy
from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark, WatermarkGenerator
from penstock.datastream import DataStream
from penstock.testing import Cut, Element
from penstock.testing.transcripts import NO_WATERMARK, End, Step, Transcript


class Punctuated(WatermarkGenerator):
    """Event time moves at the records that end in an exclamation mark, and nowhere else."""

    def on_event(self, event: str, event_timestamp: int, output: Any) -> None:
        if event.endswith("!"):
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: Any) -> None:
        pass


class CountingRecords(WatermarkGenerator):
    """Event time is the number of records: state that must last."""

    def __init__(self) -> None:
        self.count = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.count += 1

    def on_periodic_emit(self, output: Any) -> None:
        output.emit_watermark(Watermark(self.count))


class Assigned:
    """A pipeline that assigns timestamps and watermarks."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy

    def __call__(self, stream: DataStream) -> DataStream:
        return stream.assign_timestamps_and_watermarks(self._strategy)


def second(value: Any, record_timestamp: int) -> int:
    return int(value[1])


def later_by_a_thousand(value: Any, record_timestamp: int) -> int:
    return record_timestamp + 1000


BOUNDED = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))

TRANSCRIPTS = [
    Transcript(
        "bounded out-of-orderness stays the delay and one behind the highest timestamp",
        Assigned(BOUNDED.with_timestamp_assigner(second)),
        [
            Step(("a", 100), out=[(("a", 100), 100)], watermark=89),
            Step(("b", 95), out=[(("b", 95), 95)], watermark=89),
            Step(("c", 120), ("d", 50), out=[(("c", 120), 120), (("d", 50), 50)], watermark=109),
            Step(watermark=109),
            Step(End(), watermark=MAX_WATERMARK),
        ],
    ),
    Transcript(
        "monotonous timestamps stay one behind",
        Assigned(WatermarkStrategy.for_monotonous_timestamps()),
        [
            Step(watermark=NO_WATERMARK),
            Step(Element("a", 0), out=[("a", 0)], watermark=-1),
            Step(Element("b", 7), Cut(), Element("c", 7), out=[("b", 7), ("c", 7)], watermark=6),
            Step(Element("d", 3), out=[("d", 3)], watermark=6),
        ],
    ),
    Transcript(
        "a punctuated generator speaks at once, after the record",
        Assigned(WatermarkStrategy.for_generator(Punctuated)),
        [
            Step(Element("a", 5), out=[("a", 5)], watermark=NO_WATERMARK),
            Step(Element("b!", 7), Element("c", 9), out=[("b!", 7), ("c", 9)], watermark=7),
            Step(Element("d!", 6), out=[("d!", 6)], watermark=7),
            Step(Element("e!", 8), out=[("e!", 8)], watermark=8),
        ],
    ),
    Transcript(
        "a generator is part of the checkpoint",
        Assigned(WatermarkStrategy.for_generator(CountingRecords)),
        [
            Step("a", "b", out=[("a", None), ("b", None)], watermark=2),
            Step(Cut(), "c", Cut(), out=[("c", None)], watermark=3),
            Step(watermark=3),
            Step("d", Cut(), "e", out=[("d", None), ("e", None)], watermark=5),
        ],
    ),
    Transcript(
        "an assigner is told the timestamp that the record had",
        Assigned(WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(later_by_a_thousand)),
        [Step(Element("a", 5), out=[("a", 1005)], watermark=1004)],
    ),
    Transcript(
        "watermarks from before end at the assigner, except the last",
        Assigned(WatermarkStrategy.for_monotonous_timestamps()),
        [
            Step(Watermark(500), watermark=NO_WATERMARK),
            Step(Element("a", 5), Watermark(900), out=[("a", 5)], watermark=4),
            Step(End(), watermark=MAX_WATERMARK),
        ],
    ),
    Transcript(
        "without watermarks event time stands still until the end",
        Assigned(WatermarkStrategy.no_watermarks().with_timestamp_assigner(second)),
        [
            Step(("a", 100), Watermark(50), out=[(("a", 100), 100)], watermark=NO_WATERMARK),
            Step(End(), watermark=MAX_WATERMARK),
        ],
    ),
]
