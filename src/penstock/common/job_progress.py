"""`Progress` of a running job, and `Pace`, the speed of its sources."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.job_failure import JobFailure

__all__ = ["Pace", "Progress"]


@dataclass(frozen=True)
class Pace:
    """What is known of a job's intake after a batch.

    `limit` is what the next batch may take; `was_limited` whether the last one took all it was allowed to;
    `backpressured` the share of the last batches' time in which the sources had
    more to give than was taken; `backlog` how many records wait for sure, None where no source knows.
    """

    limit: int
    batch_ms: int = 0
    was_limited: bool = False
    backpressured: float = 0.0
    backlog: int | None = None


@dataclass(frozen=True)
class Progress:
    """Where a job is: last batch, records read in all and per second, event time and how far it lags.

    `pace` says how long the last batch took, what the next one may take, and whether the sources have to wait;
    `last_failure` is what went wrong last, if anything did, and `restarts` how often the job was started again.
    """

    batch: int = -1
    records: int = 0
    records_per_second: float = 0.0
    watermark: int | None = None
    lag_ms: int | None = None
    pace: Pace | None = None
    restarts: int = 0
    last_failure: JobFailure | None = None
