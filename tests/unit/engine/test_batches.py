"""What Spark is told of a batch that failed: that it did, in few words; the job keeps the cause."""

from __future__ import annotations

import threading
import traceback

import pytest
from pyspark.sql import DataFrame

from penstock.engine.spark.batches import BatchCommitter, BatchFailedError


class Failing(BatchCommitter):
    """A committer whose batches fail with a long text, as those do that are interrupted in Java."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_stopped = False
        self.error = None

    def _final(self, frame: DataFrame, batch: int) -> None:  # type: ignore[override]
        raise ValueError("\n".join(f"\tat java.lang.Thread.run(Thread.java:{line})" for line in range(5_000)))


def test_spark_is_told_in_few_words_and_the_cause_is_kept() -> None:
    committer = Failing()
    with pytest.raises(BatchFailedError, match=r"^batch 7 failed: ValueError$") as told:
        committer.on_batch(None, 7)  # type: ignore[arg-type]
    assert isinstance(committer.error, ValueError)
    assert len("".join(traceback.format_exception(told.value))) < 2_000, "Spark gets the traceback as text"
    assert not committer._lock.locked()
