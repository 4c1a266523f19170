"""Windows of Kafka Streams: tumbling, hopping, sliding, sessions, joins; grace and when results are emitted."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from penstock.common.time import to_millis
from penstock.errors import StreamsError
from penstock.vocabulary.kstreams.records import Window
from penstock.vocabulary.window.durations import Length


def millis(length: Length, owner: str, what: str, *, least: int = 0) -> int:
    """A length in milliseconds, refusing those that are too short."""
    found = to_millis(length)
    if found < least:
        raise StreamsError(f"{owner}: the {what} must be at least {least} ms, got {length!r}.")
    return found


class EmitStrategy(enum.Enum):
    """When a windowed aggregation emits: at each update, or once when the window has closed."""

    ON_WINDOW_UPDATE = "on_window_update"
    ON_WINDOW_CLOSE = "on_window_close"

    @staticmethod
    def on_window_update() -> EmitStrategy:
        """Emit at each update; the default."""
        return EmitStrategy.ON_WINDOW_UPDATE

    @staticmethod
    def on_window_close() -> EmitStrategy:
        """Emit once, when the window and its grace period are over."""
        return EmitStrategy.ON_WINDOW_CLOSE


@dataclass(frozen=True)
class TimeWindows:
    """Windows of a fixed size, one starting every `advance_ms`: tumbling if that is the size, hopping if it is less.

    >>> TimeWindows.of_size_with_no_grace(10).advance_by(5).windows_for(12)
    [Window(start=5, end=15), Window(start=10, end=20)]
    """

    size_ms: int
    advance_ms: int
    grace_ms: int

    @classmethod
    def of_size_with_no_grace(cls, size: Length) -> TimeWindows:
        """Tumbling windows that close as soon as stream time reaches their end."""
        return cls.of_size_and_grace(size, 0)

    @classmethod
    def of_size_and_grace(cls, size: Length, after_window_end: Length) -> TimeWindows:
        """Tumbling windows that take records until the grace period after their end is over."""
        size_ms = millis(size, "TimeWindows", "size", least=1)
        return cls(size_ms, size_ms, millis(after_window_end, "TimeWindows", "grace period"))

    def advance_by(self, advance: Length) -> TimeWindows:
        """Start a window that often, so that windows overlap."""
        advance_ms = millis(advance, "TimeWindows.advance_by", "advance", least=1)
        if advance_ms > self.size_ms:
            raise StreamsError(
                f"TimeWindows.advance_by: {advance_ms} ms is more than the window's size of {self.size_ms} ms; "
                "records between two windows would belong to none."
            )
        return replace(self, advance_ms=advance_ms)

    def size(self) -> int:
        """Size in milliseconds."""
        return self.size_ms

    def grace_period_ms(self) -> int:
        """Grace period in milliseconds."""
        return self.grace_ms

    def windows_for(self, timestamp: int) -> list[Window]:
        """The windows a timestamp belongs to, in the order of their starts."""
        first = max(0, timestamp - self.size_ms + self.advance_ms) // self.advance_ms * self.advance_ms
        return [Window(start, start + self.size_ms) for start in range(first, timestamp + 1, self.advance_ms)]


@dataclass(frozen=True)
class UnlimitedWindows:
    """One window from a start to the end of time."""

    start_ms: int = 0

    @classmethod
    def of(cls) -> UnlimitedWindows:
        """The window from 0 on."""
        return cls()

    def start_on(self, start: int) -> UnlimitedWindows:
        """The window from a timestamp on."""
        if start < 0:
            raise StreamsError(f"UnlimitedWindows.start_on: the start must not be negative, got {start}.")
        return UnlimitedWindows(start)

    def size(self) -> int:
        """Size in milliseconds: without limit."""
        return FOREVER

    def grace_period_ms(self) -> int:
        """Such a window never closes."""
        return 0

    def windows_for(self, timestamp: int) -> list[Window]:
        """The one window, for timestamps that are not before its start."""
        return [Window(self.start_ms, FOREVER)] if timestamp >= self.start_ms else []


FOREVER = 2**63 - 1


@dataclass(frozen=True)
class SlidingWindows:
    """Windows of records that are at most `time_difference_ms` apart; both ends belong to the window."""

    time_difference_ms: int
    grace_ms: int

    @classmethod
    def of_time_difference_with_no_grace(cls, time_difference: Length) -> SlidingWindows:
        """Windows that close as soon as stream time has passed their end."""
        return cls.of_time_difference_and_grace(time_difference, 0)

    @classmethod
    def of_time_difference_and_grace(cls, time_difference: Length, after_window_end: Length) -> SlidingWindows:
        """Windows that take records until the grace period after their end is over."""
        difference = millis(time_difference, "SlidingWindows", "time difference")
        return cls(difference, millis(after_window_end, "SlidingWindows", "grace period"))

    def grace_period_ms(self) -> int:
        """Grace period in milliseconds."""
        return self.grace_ms


@dataclass(frozen=True)
class SessionWindows:
    """Windows of activity: records of a key that are at most `gap_ms` apart belong together."""

    gap_ms: int
    grace_ms: int

    @classmethod
    def of_inactivity_gap_with_no_grace(cls, inactivity_gap: Length) -> SessionWindows:
        """Sessions that close as soon as the gap is over."""
        return cls.of_inactivity_gap_and_grace(inactivity_gap, 0)

    @classmethod
    def of_inactivity_gap_and_grace(cls, inactivity_gap: Length, after_window_end: Length) -> SessionWindows:
        """Sessions that take records until the grace period after the gap is over."""
        gap = millis(inactivity_gap, "SessionWindows", "inactivity gap", least=1)
        return cls(gap, millis(after_window_end, "SessionWindows", "grace period"))

    def inactivity_gap(self) -> int:
        """The gap in milliseconds."""
        return self.gap_ms

    def grace_period_ms(self) -> int:
        """Grace period in milliseconds."""
        return self.grace_ms


@dataclass(frozen=True)
class JoinWindows:
    """How far apart two records may be to be joined: the other one up to `before_ms` earlier and `after_ms` later."""

    before_ms: int
    after_ms: int
    grace_ms: int

    @classmethod
    def of_time_difference_with_no_grace(cls, time_difference: Length) -> JoinWindows:
        """The same distance before and after, and no waiting for late records."""
        return cls.of_time_difference_and_grace(time_difference, 0)

    @classmethod
    def of_time_difference_and_grace(cls, time_difference: Length, after_window_end: Length) -> JoinWindows:
        """The same distance before and after, and a grace period for late records."""
        difference = millis(time_difference, "JoinWindows", "time difference")
        return cls(difference, difference, millis(after_window_end, "JoinWindows", "grace period"))

    def before(self, time_difference: Length) -> JoinWindows:
        """Change how much earlier the other record may be."""
        return self._checked(replace(self, before_ms=to_millis(time_difference)))

    def after(self, time_difference: Length) -> JoinWindows:
        """Change how much later the other record may be."""
        return self._checked(replace(self, after_ms=to_millis(time_difference)))

    @staticmethod
    def _checked(windows: JoinWindows) -> JoinWindows:
        if windows.size() < 0:
            raise StreamsError(
                f"JoinWindows: from {-windows.before_ms} ms to {windows.after_ms} ms is no span of time; "
                "before and after must not be negative in sum."
            )
        return windows

    def size(self) -> int:
        """Length of the span in milliseconds."""
        return self.before_ms + self.after_ms

    def grace_period_ms(self) -> int:
        """Grace period in milliseconds."""
        return self.grace_ms


def retention_of(windows: TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows) -> int:
    """How long a store must keep windows of a kind, in milliseconds."""
    if isinstance(windows, SessionWindows):
        return windows.gap_ms + windows.grace_ms
    if isinstance(windows, SlidingWindows):
        return 2 * windows.time_difference_ms + windows.grace_ms
    return min(FOREVER, windows.size() + windows.grace_period_ms())
