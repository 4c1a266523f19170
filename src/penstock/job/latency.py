"""How long records take from being read until their results are published, as a histogram; counted once a version."""

from __future__ import annotations

import bisect
import threading
from typing import Any

BOUNDS_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class LatencyHistogram:
    """Records by the time that their version took: no record of it took longer."""

    def __init__(self) -> None:
        self._counts = [0] * (len(BOUNDS_SECONDS) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def add(self, seconds: float, records: int) -> None:
        """Count the records of a version."""
        with self._lock:
            self._counts[bisect.bisect_left(BOUNDS_SECONDS, seconds)] += records
            self._sum += seconds * records

    def to_plain(self) -> dict[str, Any]:
        """As plain data: `buckets` of an upper bound and how many records took at most that long, and `sum`."""
        with self._lock:
            total, buckets = 0, []
            for bound, count in zip([*map(str, BOUNDS_SECONDS), "+Inf"], self._counts, strict=True):
                total += count
                buckets.append([bound, total])
            return {"buckets": buckets, "sum": self._sum}
