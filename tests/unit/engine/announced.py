"""A job that does nothing and can be announced, for tests of the way into a running job."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_progress import HeldBack
from penstock.common.job_status import JobStatus
from penstock.errors import CheckpointError
from penstock.job.announcing import announce


@dataclass(frozen=True)
class Progress:
    batch: int = 7
    records: int = 12_345
    records_per_second: float = 678.9
    watermark: int | None = 1_700_000_000_000
    lag_ms: int | None = 5
    event_time_holders: tuple[HeldBack, ...] = ()


@dataclass
class QuietJob:
    """Notes what it is asked for; a savepoint to "nowhere" fails."""

    job_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    ended: Future[JobExecutionResult] = field(default_factory=Future)
    holders: tuple[HeldBack, ...] = ()

    def get_job_id(self) -> JobID:
        return JobID(self.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(JobStatus.FINISHED if self.ended.done() else JobStatus.RUNNING)

    def cancel(self) -> CompletableFuture[None]:
        self.asked.append(("cancel",))
        self.end()
        return CompletableFuture.completed(None)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        self.asked.append(("savepoint", savepoint_directory))
        if str(savepoint_directory).endswith("nowhere"):
            return CompletableFuture.failed(CheckpointError("savepoint directory nowhere cannot be used"))
        return CompletableFuture.completed(f"{savepoint_directory}/savepoint-1")

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        self.asked.append(("stop", advance_to_end_of_event_time, savepoint_directory))
        self.end()
        return CompletableFuture.completed(f"{savepoint_directory}/savepoint-2")

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        return self.ended.result(timeout)

    def metrics(self) -> dict[str, dict[str, float]]:
        return {"totals": {"records_in": 3.0}}

    def progress(self) -> Progress:
        return Progress(event_time_holders=self.holders)

    def restarts(self) -> int:
        return 1

    def document(self) -> dict[str, Any]:
        return {"format": 1, "id": self.job_id, "now_ms": 1, "status": self.get_job_status().result().name}

    def end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(JobExecutionResult(self.get_job_id(), 0, {}))


@contextmanager
def announced(name: str, job_id: str | None = None, savepoints: str | None = None) -> Iterator[QuietJob]:
    """A job that is known for as long as the block lasts, if nobody ends it before."""
    job = QuietJob() if job_id is None else QuietJob(job_id)
    announce(job, job.ended, name=name, checkpoint="/checkpoints/one", savepoint_directory=savepoints)
    try:
        yield job
    finally:
        job.end()
