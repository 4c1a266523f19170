"""Joins of Kafka Streams: streams within a time, streams with tables, tables with tables, and by foreign key.

A result has the later timestamp of both sides, but that of the stream's record where a stream meets a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.kstreams import JoinWindows, StreamsBuilder
from penstock.testing import Element
from penstock.testing.transcripts import Step
from tests.transcripts.topologies import MEET, ran


def a(key: str | None, value: str | None, time: int) -> Element:
    """A record of the left topic."""
    return Element(("a", key, value), time)


def b(key: str | None, value: str | None, time: int) -> Element:
    """A record of the right topic."""
    return Element(("b", key, value), time)


def both(left: Any, right: Any) -> str:
    """Both values; `-` stands for none."""
    return f"{left or '-'}{right or '-'}"


def streams(method: str, windows: JoinWindows) -> Callable[[StreamsBuilder], None]:
    """A join of two streams."""

    def build(builder: StreamsBuilder) -> None:
        left, right = builder.stream("a"), builder.stream("b")
        getattr(left, method)(right, both, windows).to("out")

    return build


def with_table(method: str) -> Callable[[StreamsBuilder], None]:
    """A join of a stream with a table."""

    def build(builder: StreamsBuilder) -> None:
        table = builder.table("b")
        getattr(builder.stream("a"), method)(table, both).to("out")

    return build


def tables(method: str) -> Callable[[StreamsBuilder], None]:
    """A join of two tables."""

    def build(builder: StreamsBuilder) -> None:
        left, right = builder.table("a"), builder.table("b")
        getattr(left, method)(right, both).to_stream().to("out")

    return build


def by_first_letter(method: str) -> Callable[[StreamsBuilder], None]:
    """A join of a table with the rows of another that the first letter of its values names."""

    def build(builder: StreamsBuilder) -> None:
        left, right = builder.table("a"), builder.table("b")
        getattr(left, method)(right, lambda value: value[0], both).to_stream().to("out")

    return build


NEAR = JoinWindows.of_time_difference_with_no_grace(5)

TRANSCRIPTS = [
    ran(
        "kstreams join: records as far apart as the difference are a pair, with the later time",
        streams("join", NEAR),
        [
            Step(a("k", "x", 10)),
            Step(b("k", "1", 15), out=[(("k", "x1"), 15)]),
            Step(b("k", "2", 16), b("j", "3", 16)),
            Step(a("k", "y", 20), out=[(("k", "y1"), 20), (("k", "y2"), 20)]),
        ],
        any_order=True,
    ),
    ran(
        "kstreams join: a record may be behind stream time",
        streams("join", JoinWindows.of_time_difference_and_grace(5, 20)),
        [
            Step(a("k", "x", 10)),
            Step(b("j", "0", 25)),
            Step(b("k", "1", 8), out=[(("k", "x1"), 10)]),
            Step(a("k", "y", 12), out=[(("k", "y1"), 12)]),
        ],
        stepwise_only=MEET,
    ),
    ran(
        "kstreams join: records without a key or a value have no partners",
        streams("join", NEAR),
        [
            Step(a(None, "x", 10), a("k", None, 10)),
            Step(b(None, "1", 11), b("k", "2", 11)),
            Step(a("k", "y", 12), out=[(("k", "y2"), 12)]),
        ],
    ),
    ran(
        "kstreams join: before and after may differ",
        streams("join", JoinWindows.of_time_difference_with_no_grace(0).before(2).after(4)),
        [
            Step(b("k", "1", 7), b("k", "2", 8), b("k", "3", 9)),
            Step(a("k", "x", 10), out=[(("k", "x2"), 10), (("k", "x3"), 10)]),
            Step(b("k", "4", 14), out=[(("k", "x4"), 14)]),
            Step(b("k", "5", 15)),
        ],
        any_order=True,
    ),
    ran(
        "kstreams left join: a record stands alone when its window and the grace are over",
        streams("left_join", JoinWindows.of_time_difference_and_grace(5, 2)),
        [
            Step(a("k", "x", 10), a("j", "y", 10)),
            Step(b("k", "1", 12), out=[(("k", "x1"), 12)]),
            Step(b("i", "2", 17)),
            Step(b("i", "3", 18), out=[(("j", "y-"), 10)]),
            Step(a("h", "z", 60)),
        ],
    ),
    ran(
        "kstreams outer join: records of both sides stand alone",
        streams("outer_join", NEAR),
        [
            Step(a("k", "x", 10)),
            Step(b("j", "1", 11)),
            Step(b("k", "2", 15), out=[(("k", "x2"), 15)]),
            Step(a("h", "z", 17), out=[(("j", "-1"), 11)]),
        ],
    ),
    ran(
        "kstreams stream-table: a record meets what the table holds when it comes",
        with_table("join"),
        [
            Step(a("k", "x", 1)),
            Step(b("k", "1", 2)),
            Step(a("k", "y", 3), out=[(("k", "y1"), 3)]),
            Step(b("k", "2", 4)),
            Step(a("k", "z", 5), out=[(("k", "z2"), 5)]),
            Step(b("k", None, 6)),
            Step(a("k", "x", 7), a("k", None, 7)),
        ],
    ),
    ran(
        "kstreams stream-table: a left join keeps records that the table knows nothing of",
        with_table("left_join"),
        [
            Step(a("k", "x", 1), out=[(("k", "x-"), 1)]),
            Step(b("k", "1", 2)),
            Step(a("k", "y", 3), out=[(("k", "y1"), 3)]),
            Step(b("k", None, 4)),
            Step(a("k", "z", 5), out=[(("k", "z-"), 5)]),
        ],
    ),
    ran(
        "kstreams table-table: each side updates the result, and either deletes it",
        tables("join"),
        [
            Step(a("k", "x", 1)),
            Step(b("k", "1", 2), out=[(("k", "x1"), 2)]),
            Step(a("k", "y", 3), out=[(("k", "y1"), 3)]),
            Step(a("k", None, 4), out=[(("k", None), 4)]),
            Step(b("k", "2", 5)),
            Step(a("k", "z", 6), out=[(("k", "z2"), 6)]),
            Step(b("k", None, 7), out=[(("k", None), 7)]),
            # There is nothing to delete, but the join does not know what it has told.
            Step(b("k", None, 8), out=[(("k", None), 8)]),
            Step(a("k", None, 9)),
        ],
    ),
    ran(
        "kstreams table-table: a left join keeps keys of the left table",
        tables("left_join"),
        [
            Step(b("k", "1", 1)),
            Step(a("k", "x", 2), out=[(("k", "x1"), 2)]),
            Step(b("k", None, 3), out=[(("k", "x-"), 3)]),
            Step(b("j", "2", 4)),
            Step(a("k", None, 5), out=[(("k", None), 5)]),
        ],
    ),
    ran(
        "kstreams table-table: an outer join keeps keys of both",
        tables("outer_join"),
        [
            Step(b("k", "1", 1), out=[(("k", "-1"), 1)]),
            Step(a("k", "x", 2), out=[(("k", "x1"), 2)]),
            Step(b("k", None, 3), out=[(("k", "x-"), 3)]),
            Step(a("k", None, 4), out=[(("k", None), 4)]),
        ],
    ),
    ran(
        "kstreams foreign key: rows of the other table update all that name them",
        by_first_letter("join"),
        [
            Step(a("1", "px", 1), a("2", "py", 1), a("3", "qz", 1)),
            Step(b("p", "!", 2), out=[(("1", "px!"), 2), (("2", "py!"), 2)]),
            Step(a("2", "qy", 3), out=[(("2", None), 3)]),
            Step(b("q", "?", 4), out=[(("2", "qy?"), 4), (("3", "qz?"), 4)]),
            Step(b("p", None, 5), out=[(("1", None), 5)]),
            Step(a("3", None, 6), out=[(("3", None), 6)]),
        ],
        any_order=True,
        stepwise_only=MEET,
    ),
    ran(
        "kstreams foreign key: a left join keeps rows whose key is not there",
        by_first_letter("left_join"),
        [
            Step(a("1", "px", 1), out=[(("1", "px-"), 1)]),
            Step(b("p", "!", 2), out=[(("1", "px!"), 2)]),
            Step(a("1", "qx", 3), out=[(("1", "qx-"), 3)]),
            Step(a("1", None, 4), out=[(("1", None), 4)]),
        ],
        stepwise_only=MEET,
    ),
]
