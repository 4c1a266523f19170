"""Figures of a running job: totals per operator, rates, watermarks. Fed by reports, read by clients."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.checkpoint import Seal
from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.job_failure import JobFailure
from penstock.common.job_progress import HeldBack, Pace, Progress
from penstock.common.operator_metrics import OperatorMetrics
from penstock.graph.nodes import bare_name
from penstock.graph.plan import JobPlan
from penstock.job.batch_traces import BatchTraces
from penstock.job.journal import COMBINED_BY, JobJournal, VersionTimes, now_ms
from penstock.job.latency import LatencyHistogram
from penstock.runtime.report import BACKPRESSURED, Report

if TYPE_CHECKING:
    from penstock.job.event_time_watch import JobEventTime

JOB = "job"
"""Where figures of the job as a whole are among those of its operators."""
ALIGNMENT_DRIFT, PAUSED_SPLITS = "watermarkAlignmentDrift", "paused_splits"
"""Figures of sources with watermark alignment: milliseconds, and splits that are not read for now."""


@dataclass
class JobStatistics:
    """Totals over all batches since this process started the job."""

    plan: JobPlan
    totals: dict[str, dict[str, float]] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    journal: JobJournal = field(default_factory=JobJournal)
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    traces: BatchTraces | None = None
    event_time: JobEventTime | None = None
    """What finds the inputs that hold event time back, in jobs that are watched."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: float = field(default_factory=time.monotonic)

    def on_version(self, seal: Seal, reports: Sequence[Report]) -> None:
        """Add what a version brought."""
        sources = {vertex.operators[0].uid for vertex in self.plan.sources()}
        read = 0.0
        with self._lock:
            for report in reports:
                for uid, figures in report.metrics.items():
                    totals = self.totals.setdefault(uid, {})
                    combined_by = report.combined_by.get(uid, {})
                    for name, value in figures.items():
                        combine = COMBINED_BY[combined_by.get(name, "sum")]
                        totals[name] = combine(totals[name], value) if name in totals else value
                    if uid in sources:
                        read += figures.get("records_in", 0)
            now = time.monotonic()
            rate = read / max(now - self._last, 1e-6)
            self._last = now
            watermark = _event_time(self.plan, seal)
            lag = None if watermark is None else max(0, time.time_ns() // 1_000_000 - watermark)
            records = self.progress.records + int(read)
            self.progress = replace(
                self.progress,
                batch=seal.version,
                records=records,
                records_per_second=rate,
                watermark=watermark,
                lag_ms=lag,
            )
        if self.event_time is not None:
            self.event_time.on_version(seal, reports, now, now_ms())

    def note_version(self, previous: Seal, seal: Seal, reports: list[Report], times: VersionTimes) -> None:
        """Write a version that is final and published into the journal."""
        sources = {vertex.operators[0].uid for vertex in self.plan.sources()}
        figures = (report.metrics.get(uid, {}) for report in reports for uid in sources)
        read = int(sum(each.get("records_in", 0) for each in figures))
        self.journal.on_version(previous, seal, reports, read, times)
        self.latency.add((times.work_ms + times.seal_ms + times.publish_ms) / 1000, read)
        if self.traces is not None:
            self.traces.on_version(self.journal.versions()[-1])

    def on_failure(self, failure: JobFailure) -> None:
        """Note a failure, and the restart after it if there is one."""
        with self._lock:
            restarts = self.progress.restarts + (failure.restart_in_ms is not None)
            self.progress = replace(self.progress, restarts=restarts, last_failure=failure)
        self.journal.on_failure(failure)

    def on_held_back(self, found: Iterable[HeldBack]) -> None:
        """Note which inputs hold event time back now."""
        with self._lock:
            self.progress = replace(self.progress, event_time_holders=tuple(found))

    def on_pace(self, pace: Pace, uids: Iterable[str]) -> None:
        """Note how the intake of the batch went, for the sources that were paced."""
        with self._lock:
            self.progress = replace(self.progress, pace=pace)
            for uid in uids:
                totals = self.totals.setdefault(uid, {})
                totals["batch_limit"] = pace.limit
                waited = pace.batch_ms if pace.was_limited else 0
                totals[BACKPRESSURED] = totals.get(BACKPRESSURED, 0) + waited

    def on_alignment(self, drifts: Mapping[str, int], paused: Mapping[str, int]) -> None:
        """Note how far aligned sources are ahead of their group, and how many splits of each wait."""
        with self._lock:
            for uid, drift in drifts.items():
                self.totals.setdefault(uid, {}).update({ALIGNMENT_DRIFT: drift, PAUSED_SPLITS: paused[uid]})

    def metrics(self) -> OperatorMetrics:
        """Totals by the name of the operator, its uid among them; restarts and the last failure's time under `job`."""
        names = [(each.uid, bare_name(each)) for vertex in self.plan.vertices for each in vertex.operators]
        with self._lock:
            found = OperatorMetrics.of(self.totals, names)
            failure = self.progress.last_failure
            if failure is not None:
                found[JOB] = {"restarts": self.progress.restarts, "last_failure_ms": failure.at_ms}
            return found


def _event_time(plan: JobPlan, seal: Seal) -> int | None:
    """The lowest watermark of the sources that have one and have not ended."""
    uids = {vertex.uid for vertex in plan.sources()}
    marks = [entry.watermark for (uid, _), entry in seal.entries.items() if uid in uids]
    known = [mark for mark in marks if MIN_WATERMARK < mark < MAX_WATERMARK]
    return min(known, default=None)
