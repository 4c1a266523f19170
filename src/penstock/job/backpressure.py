"""How the driver paces a job: what a batch took and cost, and what the next one may take.

Measures, and keeps the figures that are shown; the rule is `penstock.job.pacing`, and the engine tells the
sources. One for the life of a job in this process, so that a restart goes on with what was learned.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.common.job_progress import Pace
from penstock.graph.settings import JobSettings
from penstock.job.intake import SourceList
from penstock.job.pacing import BatchCost, PaceSettings, Pacing
from penstock.runtime.report import Report
from penstock.runtime.source_tasks import Offset

_KEPT = 0.8


class Backpressure:
    """The pace of one job's sources that Penstock reads itself."""

    def __init__(self, sources: SourceList, settings: JobSettings) -> None:
        self.uids = (*sources.splits, *sources.partitioned)
        self._sources = sources
        self._pacing = Pacing(
            PaceSettings(
                settings.max_records_per_batch,
                settings.max_bytes_per_batch,
                settings.target_batch_ms / 1000 or None,
            )
        )
        self._rest_ms = settings.min_batch_interval_ms if _may_rest(sources, settings) else 0
        self._limited_seconds = 0.0
        self._all_seconds = 0.0
        self.pace = Pace(self._pacing.limit)

    @property
    def rest_ms(self) -> int:
        """How long after the beginning of the last batch the next one begins at the earliest.

        0 where more is waiting than the last one was allowed to take.
        """
        return 0 if self.pace.was_limited else self._rest_ms

    def on_batch(self, start: Offset | None, end: Offset | None, reports: Iterable[Report], seconds: float) -> Pace:
        """Learn from a batch that took `seconds` from the start of its tasks until its sinks were published.

        No offset is the beginning of the job.
        """
        start, end = start or self._sources.first_offset(), end or self._sources.first_offset()
        told = [(uid, report.metrics[uid]) for report in reports for uid in report.metrics if uid in self.uids]
        figures = [each for _, each in told]
        was_limited = self._sources.is_limited(start, end, self.pace.limit)
        records = sum(each["records_in"] for each in figures)
        size = sum(each.get("bytes_in", 0.0) for each in figures)
        self._pacing.on_batch(BatchCost(records, size, seconds, was_limited))
        self._limited_seconds = self._limited_seconds * _KEPT + (seconds if was_limited else 0.0)
        self._all_seconds = self._all_seconds * _KEPT + seconds
        share = self._limited_seconds / self._all_seconds if self._all_seconds else 0.0
        backlog = _known_backlog(self._sources.backlog(end), told)
        self.pace = Pace(self._pacing.limit, int(seconds * 1000), was_limited, share, backlog)
        return self.pace


def _may_rest(sources: SourceList, settings: JobSettings) -> bool:
    """Whether batches may wait for records at all.

    A job that ends is to end soon. An interval that the user set says when batches begin. What is waiting in a frame
    that the engine reads is not known here.
    """
    return settings.batch_interval_ms is None and not sources.frames and sources.has_no_end()


def _known_backlog(of_splits: int | None, told: list[tuple[str, dict[str, float]]]) -> int | None:
    """With what sources of partitions have left behind them: every subtask of one tells it for the whole source."""
    pending = {uid: int(each["pending_records"]) for uid, each in told if "pending_records" in each}
    return of_splits if not pending else (of_splits or 0) + sum(pending.values())
