"""Windows of Kafka Streams: counts that are told at each record, what grace lets in, and results that wait.

Stream time is the highest timestamp so far; a result has the highest timestamp of its records. A window of ten
milliseconds is closed when stream time has reached its end and the grace behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.kstreams import (
    BufferConfig,
    EmitStrategy,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
)
from penstock.testing import Element
from penstock.testing.transcripts import Step
from tests.transcripts.topologies import ran


def rec(key: str | None, value: str | None, time: int) -> Element:
    """A record of the topic `a`."""
    return Element(("a", key, value), time)


def told(windowed: Any, value: Any) -> tuple[str, str | None]:
    """A result with its window in the key."""
    return f"{windowed.key}@{windowed.window.start}", None if value is None else str(value)


def told_with_end(windowed: Any, value: Any) -> tuple[str, str | None]:
    """A result with both ends of its window in the key."""
    window = windowed.window
    return f"{windowed.key}@{window.start}-{window.end}", None if value is None else str(value)


def counts(windows: Any, shown: Callable[..., Any] = told) -> Callable[[StreamsBuilder], None]:
    """Counts by key and window, with each update."""

    def build(builder: StreamsBuilder) -> None:
        builder.stream("a").group_by_key().windowed_by(windows).count().to_stream().map(shown).to("out")

    return build


def final_counts(windows: Any, shown: Callable[..., Any] = told) -> Callable[[StreamsBuilder], None]:
    """Counts by key and window, once, when the window is closed."""

    def build(builder: StreamsBuilder) -> None:
        counted = builder.stream("a").group_by_key().windowed_by(windows).count()
        final = counted.suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
        final.to_stream().map(shown).to("out")

    return build


def counts_on_close(windows: Any) -> Callable[[StreamsBuilder], None]:
    """Counts that the aggregation itself holds back until the window is closed."""

    def build(builder: StreamsBuilder) -> None:
        grouped = builder.stream("a").group_by_key().windowed_by(windows)
        grouped.emit_strategy(EmitStrategy.on_window_close()).count().to_stream().map(told).to("out")

    return build


def texts(windows: Any) -> Callable[[StreamsBuilder], None]:
    """Values put together, by key and window."""

    def build(builder: StreamsBuilder) -> None:
        grouped = builder.stream("a").group_by_key().windowed_by(windows)
        grouped.reduce(lambda old, new: old + new).to_stream().map(told).to("out")

    return build


TUMBLING = TimeWindows.of_size_with_no_grace(10)
GRACE = TimeWindows.of_size_and_grace(10, 5)
HOPPING = TimeWindows.of_size_with_no_grace(10).advance_by(5)
SLIDING = SlidingWindows.of_time_difference_with_no_grace(10)
SESSIONS = SessionWindows.of_inactivity_gap_with_no_grace(5)

TRANSCRIPTS = [
    ran(
        "kstreams tumbling: each record is told, a window holds its start and not its end",
        counts(TUMBLING),
        [
            Step(rec("k", "x", 0), out=[(("k@0", "1"), 0)]),
            Step(rec("k", "x", 9), rec("j", "x", 9), out=[(("k@0", "2"), 9), (("j@0", "1"), 9)]),
            Step(rec("k", "x", 3), out=[(("k@0", "3"), 9)]),
            Step(rec("k", "x", 10), out=[(("k@10", "1"), 10)]),
        ],
    ),
    ran(
        "kstreams tumbling: a record is late when its window's end has come, whatever its key",
        counts(TUMBLING),
        [
            Step(rec("k", "x", 3), out=[(("k@0", "1"), 3)]),
            Step(rec("j", "x", 10), out=[(("j@10", "1"), 10)]),
            Step(rec("k", "x", 9)),
            Step(rec("k", "x", 10), out=[(("k@10", "1"), 10)]),
        ],
    ),
    ran(
        "kstreams tumbling: grace lets late records in for so long",
        counts(GRACE),
        [
            Step(rec("k", "x", 3), rec("j", "x", 14), out=[(("k@0", "1"), 3), (("j@10", "1"), 14)]),
            Step(rec("k", "x", 4), out=[(("k@0", "2"), 4)]),
            Step(rec("j", "x", 15), rec("k", "x", 5), out=[(("j@10", "2"), 15)]),
        ],
    ),
    # Javadoc has it that records without a value are left out; Kafka Streams 4.3 counts them where there are windows.
    ran(
        "kstreams tumbling: a record without a key is no part of it, one without a value is",
        counts(TUMBLING),
        [
            Step(rec(None, "x", 3), rec("k", "x", 5), out=[(("k@0", "1"), 5)]),
            Step(rec("k", None, 6), out=[(("k@0", "2"), 6)]),
        ],
    ),
    ran(
        "kstreams tumbling: values are put together in the order that they come in",
        texts(GRACE),
        [
            Step(rec("k", "x", 7), rec("k", "y", 3), out=[(("k@0", "x"), 7), (("k@0", "xy"), 7)]),
            Step(rec("k", "z", 12), rec("k", "!", 5), out=[(("k@10", "z"), 12), (("k@0", "xy!"), 7)]),
        ],
    ),
    ran(
        "kstreams hopping: a record is in each window that covers it, and none begins before 0",
        counts(HOPPING),
        [
            Step(rec("k", "x", 3), out=[(("k@0", "1"), 3)]),
            Step(rec("k", "x", 7), out=[(("k@0", "2"), 7), (("k@5", "1"), 7)]),
            Step(rec("k", "x", 12), out=[(("k@5", "2"), 12), (("k@10", "1"), 12)]),
        ],
    ),
    ran(
        "kstreams hopping: a late record is in those of its windows that are open",
        counts(HOPPING),
        [
            Step(rec("k", "x", 11), out=[(("k@5", "1"), 11), (("k@10", "1"), 11)]),
            Step(rec("k", "x", 7), out=[(("k@5", "2"), 11)]),
            Step(rec("k", "x", 4)),
        ],
    ),
    ran(
        "kstreams sliding: a window ends with each record, and one begins behind each",
        counts(SLIDING),
        [
            Step(rec("k", "x", 20), out=[(("k@10", "1"), 20)]),
            Step(rec("k", "x", 25), out=[(("k@15", "2"), 25), (("k@21", "1"), 25)]),
            Step(rec("k", "x", 50), out=[(("k@40", "1"), 50)]),
        ],
        any_order=True,
    ),
    ran(
        "kstreams sliding: a record of the same time is in the same windows",
        counts(SLIDING),
        [
            Step(rec("k", "x", 20), rec("k", "x", 20), out=[(("k@10", "1"), 20), (("k@10", "2"), 20)]),
            Step(rec("j", "x", 20), out=[(("j@10", "1"), 20)]),
        ],
    ),
    ran(
        "kstreams session: a record as far as the gap goes on with it, and what was told of it before is deleted",
        counts(SESSIONS, told_with_end),
        [
            Step(rec("k", "x", 1), out=[(("k@1-1", "1"), 1)]),
            Step(rec("k", "x", 6), out=[(("k@1-1", None), 1), (("k@1-6", "2"), 6)]),
            Step(rec("k", "x", 12), out=[(("k@12-12", "1"), 12)]),
        ],
    ),
    ran(
        "kstreams session: a record between two sessions makes them one",
        counts(SessionWindows.of_inactivity_gap_and_grace(5, 20), told_with_end),
        [
            Step(rec("k", "x", 1), rec("k", "x", 9), out=[(("k@1-1", "1"), 1), (("k@9-9", "1"), 9)]),
            Step(rec("k", "x", 5), out=[(("k@1-1", None), 1), (("k@9-9", None), 9), (("k@1-9", "3"), 9)]),
        ],
    ),
    ran(
        "kstreams session: a record is late when its session has been over for the gap and the grace",
        counts(SessionWindows.of_inactivity_gap_and_grace(5, 3), told_with_end),
        [
            Step(rec("k", "x", 30), out=[(("k@30-30", "1"), 30)]),
            Step(rec("k", "x", 21), rec("j", "x", 21)),
            Step(rec("j", "x", 22), out=[(("j@22-22", "1"), 22)]),
        ],
    ),
    ran(
        "kstreams suppress: a window comes once, when it is closed",
        final_counts(GRACE),
        [
            Step(rec("k", "x", 3), rec("k", "x", 9), rec("j", "x", 4)),
            Step(rec("k", "x", 14)),
            Step(rec("k", "x", 5)),
            Step(rec("j", "x", 15), out=[(("k@0", "3"), 9), (("j@0", "1"), 4)]),
            Step(rec("j", "x", 7)),
        ],
        any_order=True,
    ),
    ran(
        "kstreams suppress: a session comes when the gap and the grace are over",
        final_counts(SessionWindows.of_inactivity_gap_and_grace(5, 3), told_with_end),
        [
            Step(rec("k", "x", 1), rec("k", "x", 6)),
            Step(rec("j", "x", 13)),
            Step(rec("j", "x", 14), out=[(("k@1-6", "2"), 6)]),
        ],
    ),
    ran(
        "kstreams: windows that are emitted on close come by themselves, in their order",
        counts_on_close(HOPPING),
        [
            Step(rec("k", "x", 3), rec("k", "x", 7)),
            Step(rec("k", "x", 9)),
            Step(rec("k", "x", 10), out=[(("k@0", "3"), 9)]),
            Step(rec("k", "x", 20), out=[(("k@5", "3"), 10), (("k@10", "1"), 10)]),
        ],
    ),
]
