"""How many records the next batch may take, decided from what the last ones cost.

The driver measures (`penstock.job.backpressure`), the engine tells the sources. The rule takes a
batch to cost a fixed time and a time for each record, estimates both, and allows as many records as fit the target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FIRST_LIMIT = 50_000
"""What the first batch may take, of which nothing is known."""

_FLOOR = 100
_LARGEST_GROWTH = 4.0
_LARGEST_GROWTH_BEYOND = 1.25
_LARGEST_CUT = 0.25
_DEAD_BAND = 0.1
_FEW_KEPT = 0.5
_MANY_KEPT = 0.9
_LEAST_SPREAD = 0.25
_LEAST_WEIGHT = 2.5
_CERTAINTY = 2.0
_LARGEST_FIXED = 0.9
_LARGEST_CHANGE = 2.0


@dataclass(frozen=True)
class PaceSettings:
    """Bounds of a batch; None where there is none. Without a target, the limit is the bound all the time."""

    max_records: int
    max_bytes: int | None = None
    target_seconds: float | None = None


@dataclass(frozen=True)
class BatchCost:
    """What a batch took and how long it lasted; `is_limited` if there was perhaps more to take."""

    records: float
    bytes: float
    seconds: float
    is_limited: bool


class _Sums:
    """Sums over batches, in which older ones count for less and less."""

    def __init__(self, kept: float) -> None:
        self._kept = kept
        self.weight = self.records = self.seconds = self.squares = self.products = self.time_squares = 0.0

    def add(self, records: float, seconds: float) -> None:
        kept = self._kept
        self.weight = self.weight * kept + 1
        self.records = self.records * kept + records
        self.seconds = self.seconds * kept + seconds
        self.squares = self.squares * kept + records * records
        self.products = self.products * kept + records * seconds
        self.time_squares = self.time_squares * kept + seconds * seconds

    def fixed_seconds(self) -> float | None:
        """Seconds of a batch without records, by the straight line through all; None where they do not show it.

        Batches of about one size cannot tell the fixed part from the rest, and two show a line whatever they are. What
        may be chance is not taken for a fixed part: the line is the steepest that goes with the batches.
        """
        weight = self.weight
        records, seconds = self.records / weight, self.seconds / weight
        spread = self.squares / weight - records * records
        if weight < _LEAST_WEIGHT or spread <= (_LEAST_SPREAD * records) ** 2:
            return None
        together = self.products / weight - records * seconds
        slope = together / spread
        unexplained = max(0.0, self.time_squares / weight - seconds * seconds - slope * together)
        slope += _CERTAINTY * math.sqrt(unexplained / spread / (weight - 2))
        return max(0.0, seconds - slope * records) if slope > 0 else None


class _Costs:
    """What a batch and a record cost: the record by the last few batches, the fixed part by many more."""

    def __init__(self) -> None:
        self._fixed = 0.0
        self._forget()

    def _forget(self) -> None:
        self._few, self._many = _Sums(_FEW_KEPT), _Sums(_MANY_KEPT)

    def add(self, records: float, seconds: float) -> None:
        if self._few.weight and self._has_changed(records, seconds):
            # A line through a fast and a slow system describes neither, and would show a fixed part that is not there.
            self._forget()
        self._few.add(records, seconds)
        self._many.add(records, seconds)
        fixed = self._many.fixed_seconds()
        self._fixed = self._fixed if fixed is None else fixed

    def _has_changed(self, records: float, seconds: float) -> bool:
        """Whether neither a fixed cost nor one for each record explains what a batch cost after the others."""
        if_fixed = self._few.seconds / self._few.weight
        if_proportional = self._few.seconds / self._few.records * records
        lowest, highest = sorted((if_fixed, if_proportional))
        return not lowest / _LARGEST_CHANGE < seconds < highest * _LARGEST_CHANGE

    def estimate(self) -> tuple[float, float]:
        """Fixed seconds of a batch, and seconds of a record."""
        mean = self._few.seconds / self._few.weight
        fixed = min(self._fixed, _LARGEST_FIXED * mean)
        return fixed, (mean - fixed) * self._few.weight / self._few.records


class Pacing:
    """The limit of the next batch, after every batch anew."""

    def __init__(self, settings: PaceSettings) -> None:
        self.settings = settings
        is_fixed = settings.target_seconds is None and settings.max_bytes is None
        self._by_time = settings.max_records if is_fixed else min(FIRST_LIMIT, settings.max_records)
        self._bytes_per_record: float | None = None
        self._costs = _Costs()

    @property
    def limit(self) -> int:
        """How many records the next batch may take."""
        return max(1, min(self._by_time, self._by_bytes()))

    def on_batch(self, cost: BatchCost) -> None:
        """Learn from a batch. One without records says nothing of what records cost."""
        if cost.records <= 0:
            return
        if cost.bytes > 0:
            mean, known = cost.bytes / cost.records, self._bytes_per_record
            # Records that have become larger count at once, for they are what fills the memory.
            self._bytes_per_record = mean if known is None else max(mean, known + (mean - known) * _FEW_KEPT)
        self._costs.add(cost.records, max(cost.seconds, 1e-6))
        self._by_time = self._timed(cost)

    def _by_bytes(self) -> int:
        if self.settings.max_bytes is None or self._bytes_per_record is None:
            return self.settings.max_records
        return _rounded(self.settings.max_bytes / self._bytes_per_record)

    def _timed(self, cost: BatchCost) -> int:
        most, limit = self.settings.max_records, self._by_time
        factor = self._wanted() / cost.records
        if cost.is_limited:
            wanted = limit * factor
        else:
            # It took what there was. That can show that less is enough, never that more would be possible.
            wanted = min(float(limit), cost.records * factor if factor < 1 else limit)
        if abs(wanted - limit) <= _DEAD_BAND * limit:
            return limit
        # Batches beyond the target grow for the sake of their fixed part only, which a few of them may feign.
        is_beyond = self.settings.target_seconds is not None and cost.seconds > self.settings.target_seconds
        growth = _LARGEST_GROWTH_BEYOND if is_beyond else _LARGEST_GROWTH
        bounded = min(max(wanted, limit * _LARGEST_CUT, _FLOOR), limit * growth)
        return most if bounded >= most else _rounded(bounded)

    def _wanted(self) -> float:
        """Records of a batch that lasts as long as the target.

        At least half of a batch's time is left to its records: where the fixed part alone is longer than the target,
        ever smaller batches would cost throughput and save hardly any time.
        """
        if self.settings.target_seconds is None:
            return float(self.settings.max_records)
        fixed, each = self._costs.estimate()
        return (max(self.settings.target_seconds, 2 * fixed) - fixed) / each


def _rounded(records: float) -> int:
    """Two digits are enough, and let the limit stay the same more often."""
    whole = int(records)
    unit: int = 10 ** max(0, len(str(whole)) - 2)
    return whole // unit * unit
