"""Watermark alignment: which splits of a group of sources are not read for now, for they are too far ahead.

Flink's rule (FLIP-182, FLIP-217): the watermark of a group is the lowest of its splits, and a split whose own is higher
than that by more than the drift of its source is not read. Ended and idle splits, and those without a watermark so
far, hold nobody back. An idle split is not paused: it has nothing to read, and its next record makes it count again.

Here is the rule alone. `penstock.job.source_alignment` applies it for the driver of a job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.common.constants import MIN_WATERMARK

if TYPE_CHECKING:
    from penstock.common.watermark_strategy import WatermarkAlignment

SplitTimes = Mapping[str, Mapping[str, tuple[int, bool]]]
"""By uid of the source and name of the split: its watermark, and whether it is idle. Ended splits are left out."""


class AlignmentRule:
    """The groups of a job, by the settings of their sources."""

    def __init__(self, settings: Mapping[str, WatermarkAlignment]) -> None:
        """Take the settings by the uid of the source."""
        self._settings = dict(settings)

    def highest(self, times: SplitTimes) -> dict[str, int]:
        """Return the watermark up to which splits are read, by source; one whose group has no watermark is left out."""
        lowest = self._lowest(times)
        return {
            uid: lowest[setting.watermark_group] + setting.max_allowed_watermark_drift_ms
            for uid, setting in self._settings.items()
            if setting.watermark_group in lowest
        }

    def drifts(self, times: SplitTimes) -> dict[str, int]:
        """Return how far the fastest split of each source is ahead of its group, in milliseconds."""
        lowest = self._lowest(times)
        found = dict.fromkeys(self._settings, 0)
        for uid, setting in self._settings.items():
            active = _active(times, uid)
            if active:
                found[uid] = max(active) - lowest[setting.watermark_group]
        return found

    def _lowest(self, times: SplitTimes) -> dict[str, int]:
        lowest: dict[str, int] = {}
        for uid, setting in self._settings.items():
            for watermark in _active(times, uid):
                group = setting.watermark_group
                lowest[group] = min(lowest.get(group, watermark), watermark)
        return lowest


def paused_splits(highest: Mapping[str, int], times: SplitTimes) -> dict[str, list[str]]:
    """Return the splits that are beyond what `AlignmentRule.highest` allows, by source."""
    paused = {
        uid: sorted(
            name for name, (watermark, is_idle) in times.get(uid, {}).items() if watermark > most and not is_idle
        )
        for uid, most in highest.items()
    }
    return {uid: names for uid, names in paused.items() if names}


def _active(times: SplitTimes, uid: str) -> list[int]:
    """The watermarks that count in a group."""
    return [mark for mark, is_idle in times.get(uid, {}).values() if not is_idle and mark > MIN_WATERMARK]
