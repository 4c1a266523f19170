"""`Progress` of a running job, `Pace`, the speed of its sources, and `HeldBack`, what its event time waits for."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.job_failure import JobFailure

__all__ = ["HeldBack", "Pace", "Progress"]


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
class HeldBack:
    """An input that holds back the event time of operators.

    `watermark` is that of the input and `event_time` that of the operators, None if there is none; `others` counts
    splits that wait just as long. `since_ms` and `stalled_ms` say when event time moved last, as a time and as a
    duration; both count from the start of the driver at the earliest. `waiting_ms` says for how long records have
    waited for it; `is_quiet`: none have for long, as far as is known. `text` says all of it in a sentence.
    """

    operators: tuple[str, ...]
    uid: str
    name: str
    split: str | None
    subtask: int
    others: int
    reason: str
    watermark: int | None
    event_time: int | None
    since_ms: int
    stalled_ms: int
    waiting_ms: int
    last_record_ms: int | None
    is_quiet: bool
    text: str = ""


@dataclass(frozen=True)
class Progress:
    """Where a job is: last batch, records read in all and per second, event time and how far it lags.

    `pace` says how long the last batch took, what the next one may take, and whether the sources have to wait;
    `last_failure` is what went wrong last, if anything did, and `restarts` how often the job was started again.
    `event_time_holders` are inputs that hold event time back, where it has stood still for a while.
    """

    batch: int = -1
    records: int = 0
    records_per_second: float = 0.0
    watermark: int | None = None
    lag_ms: int | None = None
    pace: Pace | None = None
    restarts: int = 0
    last_failure: JobFailure | None = None
    event_time_holders: tuple[HeldBack, ...] = ()
