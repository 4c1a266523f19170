"""Tables and aggregations of Kafka Streams: updates, deletions, and groups that rows move between."""

from __future__ import annotations

from typing import Any

from penstock.kstreams import BufferConfig, StreamsBuilder, Suppressed
from penstock.testing import Element
from penstock.testing.transcripts import Step
from tests.transcripts.topologies import ran


def rec(key: str | None, value: str | None, time: int) -> Element:
    """A record of the topic `a`."""
    return Element(("a", key, value), time)


def text(value: Any) -> str | None:
    """A value as a text."""
    return None if value is None else str(value)


def plus(key: Any, value: str, total: str) -> str:
    """Adds a value."""
    return f"{total}+{value[1:]}"


def minus(key: Any, value: str, total: str) -> str:
    """Takes a value away."""
    return f"{total}-{value[1:]}"


def by_first_letter(key: Any, value: str) -> tuple[str, str]:
    """The group of a row: the first letter of its value."""
    return value[0], value


def counted(builder: StreamsBuilder) -> None:
    """Counts by key."""
    builder.stream("a").group_by_key().count().to_stream().map_values(text).to("out")


def reduced(builder: StreamsBuilder) -> None:
    """Values put together by key."""
    builder.stream("a").group_by_key().reduce(lambda old, new: old + new).to_stream().to("out")


def counted_groups(builder: StreamsBuilder) -> None:
    """How many rows of a table are in each group."""
    builder.table("a").group_by(by_first_letter).count().to_stream().map_values(text).to("out")


def added_groups(builder: StreamsBuilder) -> None:
    """What was added to each group and taken away again."""
    grouped = builder.table("a").group_by(by_first_letter)
    grouped.aggregate(lambda: "0", plus, minus).to_stream().to("out")


def filtered(builder: StreamsBuilder) -> None:
    """Rows of a table whose value begins with p."""
    builder.table("a").filter(lambda key, value: value.startswith("p")).to_stream().to("out")


def held_back(builder: StreamsBuilder) -> None:
    """Updates of a table, held back for ten milliseconds."""
    limit = Suppressed.until_time_limit(10, BufferConfig.unbounded())
    builder.table("a").suppress(limit).to_stream().to("out")


def counted_in_parts(builder: StreamsBuilder) -> None:
    """Counts by another key, which is another sub-topology."""
    stream = builder.stream("a").group_by(lambda key, value: value[0])
    stream.count().to_stream().map_values(text).to("out")


TRANSCRIPTS = [
    ran(
        "kstreams count: each record of a key and value is told",
        counted,
        [
            Step(rec("k", "x", 5), rec("j", "x", 6), out=[(("k", "1"), 5), (("j", "1"), 6)]),
            Step(rec("k", "y", 3), out=[(("k", "2"), 5)]),
            Step(rec("k", None, 7), rec(None, "x", 7)),
            Step(rec("k", "x", 8), out=[(("k", "3"), 8)]),
        ],
    ),
    ran(
        "kstreams reduce: the first value is the first result",
        reduced,
        [
            Step(rec("k", "x", 1), out=[(("k", "x"), 1)]),
            Step(rec("k", "y", 2), rec("k", None, 3), out=[(("k", "xy"), 2)]),
            Step(rec("k", "z", 4), out=[(("k", "xyz"), 4)]),
        ],
    ),
    ran(
        "kstreams count: by another key",
        counted_in_parts,
        [
            Step(rec("k", "x", 1), out=[(("x", "1"), 1)]),
            Step(rec(None, "xy", 2), rec("j", "y", 3), out=[(("x", "2"), 2), (("y", "1"), 3)]),
        ],
    ),
    ran(
        "kstreams table: rows move between groups, and a count may come to nothing",
        counted_groups,
        [
            Step(rec("1", "p1", 1), out=[(("p", "1"), 1)]),
            Step(rec("2", "p2", 2), out=[(("p", "2"), 2)]),
            Step(rec("1", "q1", 3), out=[(("p", "1"), 3), (("q", "1"), 3)]),
            Step(rec("2", None, 4), out=[(("p", "0"), 4)]),
            Step(rec("2", None, 5)),
        ],
    ),
    ran(
        "kstreams table: the old value is taken away before the new one is added",
        added_groups,
        [
            Step(rec("1", "p1", 1), out=[(("p", "0+1"), 1)]),
            Step(rec("2", "p2", 2), out=[(("p", "0+1+2"), 2)]),
            Step(rec("1", "p3", 3), out=[(("p", "0+1+2-1+3"), 3)]),
            Step(rec("2", "q4", 4), out=[(("p", "0+1+2-1+3-2"), 4), (("q", "0+4"), 4)]),
        ],
    ),
    ran(
        "kstreams table: a row that a filter leaves out is deleted, though it may not have been there",
        filtered,
        [
            Step(rec("1", "p1", 1), out=[(("1", "p1"), 1)]),
            Step(rec("1", "q1", 2), out=[(("1", None), 2)]),
            Step(rec("2", "q1", 3), out=[(("2", None), 3)]),
        ],
    ),
    ran(
        "kstreams suppress: the last update of a key comes when the first has waited long enough",
        held_back,
        [
            Step(rec("1", "x", 1), rec("1", "y", 5), rec("2", "z", 6)),
            Step(rec("3", "x", 10)),
            Step(rec("3", "y", 11), out=[(("1", "y"), 5)]),
            Step(rec("1", "w", 16), out=[(("2", "z"), 6)]),
        ],
    ),
]
