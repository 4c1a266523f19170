"""What Spark is told of a batch that failed: the error itself, or a few words in place of a long one."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.engine.spark.batches import BatchCommitter, BatchFailedError


def committer_that_meets(error: Exception) -> BatchCommitter:
    """A committer whose batch fails."""

    def found_final(batch: int) -> None:
        raise error

    committer = object.__new__(BatchCommitter)
    committer.versions = cast(Any, SimpleNamespace(being_made=lambda batch: nullcontext(), found_final=found_final))
    return committer


def test_a_long_error_is_kept_for_the_job_and_short_for_spark() -> None:
    error = RuntimeError("at java.base\n" * 1000)
    committer = committer_that_meets(error)
    with pytest.raises(BatchFailedError, match=r"^batch 7 failed: RuntimeError$") as raised:
        committer.on_batch(cast(Any, None), 7)
    assert committer.error is error
    assert raised.value.__suppress_context__  # its text would have the long one again


def test_a_short_error_is_handed_on_as_it_is() -> None:
    error = ValueError("no such column: price")
    with pytest.raises(ValueError, match="price"):
        committer_that_meets(error).on_batch(cast(Any, None), 7)
