"""Windows of tables as plain data: which windows a time belongs to.

>>> hop = WindowSpec(WindowKind.HOP, size_ms=10_000, slide_ms=5_000)
>>> hop.windows_of(7_000)
[(5000, 15000), (0, 10000)]
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["WindowKind", "WindowSpec"]


class WindowKind(Enum):
    """The window functions of Flink SQL."""

    TUMBLE = "TUMBLE"
    HOP = "HOP"
    CUMULATE = "CUMULATE"
    SESSION = "SESSION"


@dataclass(frozen=True)
class WindowSpec:
    """Which windows there are. A window is a pair of its first millisecond and the one after its last.

    `size_ms` is the length of a window, of a SESSION its gap, of CUMULATE that of the longest window. `slide_ms` is
    the slide of HOP and the step of CUMULATE. `zone` is the time zone whose clock windows follow, for row times
    and processing times that are TIMESTAMP_LTZ; None for those that are TIMESTAMP. Window starts and ends are
    then local times of that zone, as Flink's columns `window_start` and `window_end` are.
    """

    kind: WindowKind
    size_ms: int
    slide_ms: int = 0
    offset_ms: int = 0
    zone: str | None = None

    def windows_of(self, time_ms: int) -> list[tuple[int, int]]:
        """The windows that a time belongs to, in the order in which Flink lists them; of a SESSION the one it opens."""
        size, offset = self.size_ms, self.offset_ms
        if self.kind is WindowKind.TUMBLE:
            start = time_ms - (time_ms - offset) % size
            return [(start, start + size)]
        if self.kind is WindowKind.SESSION:
            return [(time_ms, time_ms + size)]
        slide = self.slide_ms
        if self.kind is WindowKind.HOP:
            last = time_ms - (time_ms - offset) % slide
            return [(start, start + size) for start in range(last, time_ms - size, -slide)]
        start = time_ms - (time_ms - offset) % size
        first = start + ((time_ms - start) // slide + 1) * slide
        return [(start, end) for end in range(first, start + size + 1, slide)]
