"""Rolling reduce and aggregations: the result so far of the key, with the timestamp of the record that made it."""

from __future__ import annotations

from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import DataStream, KeyedStream
from penstock.testing import Cut, Element
from penstock.testing.transcripts import End, Left, Step, Transcript


def by_name(stream: DataStream) -> KeyedStream:
    return stream.key_by(lambda record: record[0])


def joined(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


def about(method: str, *expected: tuple[str, int, str]) -> Transcript:
    """The same six records for each aggregation of field 1; the third field tells which record a result comes from."""
    records = [("a", 3, "r"), ("a", 5, "s"), ("b", 4, "t"), ("a", 1, "u"), ("a", 1, "v"), ("a", 5, "w")]
    steps = [
        Step(Element(record, time), *([Cut()] if time % 2 else []), out=[(result, time)])
        for time, (record, result) in enumerate(zip(records, expected, strict=True))
    ]
    rule = {
        "sum": "sum adds up the field of the first record",
        "min": "min puts the smallest value into the first record",
        "max": "max puts the largest value into the first record",
        "min_by": "min_by gives the first record that has the smallest value",
        "max_by": "max_by gives the first record that has the largest value",
    }[method]
    return Transcript(rule, lambda stream: getattr(by_name(stream), method)(1), steps, left=Left(state_entries=2))


TRANSCRIPTS = [
    Transcript(
        "reduce emits a result for each record, the first one as it is",
        lambda stream: by_name(stream).reduce(joined),
        [
            Step(Element(("a", "x"), 5), out=[(("a", "x"), 5)]),
            Step(Element(("b", "y"), 3), Element(("a", "z"), 2), out=[(("b", "y"), 3), (("a", "xz"), 2)]),
            Step(("a", "q"), Cut(), ("b", "q"), out=[(("a", "xzq"), None), (("b", "yq"), None)]),
            Step(Watermark(9), watermark=9),
            Step(End(), watermark=MAX_WATERMARK),
        ],
        left=Left(state_entries=2),
    ),
    Transcript(
        "plain numbers are their own field 0",
        lambda stream: stream.key_by(lambda number: number % 2).sum(),
        [Step(1, 2, out=[(1, None), (2, None)]), Step(3, 4, 5, out=[(4, None), (6, None), (9, None)])],
        left=Left(state_entries=2),
    ),
    about("sum", ("a", 3, "r"), ("a", 8, "r"), ("b", 4, "t"), ("a", 9, "r"), ("a", 10, "r"), ("a", 15, "r")),
    about("min", ("a", 3, "r"), ("a", 3, "r"), ("b", 4, "t"), ("a", 1, "r"), ("a", 1, "r"), ("a", 1, "r")),
    about("max", ("a", 3, "r"), ("a", 5, "r"), ("b", 4, "t"), ("a", 5, "r"), ("a", 5, "r"), ("a", 5, "r")),
    about("min_by", ("a", 3, "r"), ("a", 3, "r"), ("b", 4, "t"), ("a", 1, "u"), ("a", 1, "u"), ("a", 1, "u")),
    about("max_by", ("a", 3, "r"), ("a", 5, "s"), ("b", 4, "t"), ("a", 5, "s"), ("a", 5, "s"), ("a", 5, "s")),
]
