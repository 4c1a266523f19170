"""Time-outs of checkpoints in continuous mode, and how many of them are tolerated."""

from __future__ import annotations

import logging

import pytest

from penstock.errors import CheckpointError
from penstock.job.continuous.checkpoint_patience import CheckpointPatience


def test_a_checkpoint_in_time_is_no_failure() -> None:
    patience = CheckpointPatience(timeout_ms=1_000, tolerable=0)
    assert not patience.is_due(100.0), "no checkpoint is under way"
    patience.on_barrier(100.0)
    assert not patience.is_due(100.9)
    patience.on_final()
    assert not patience.is_due(200.0)


def test_one_too_late_fails_the_job_and_says_what_to_do() -> None:
    patience = CheckpointPatience(timeout_ms=1_500, tolerable=0)
    patience.on_barrier(100.0)
    assert patience.is_due(101.5)
    with pytest.raises(
        CheckpointError,
        match=r"checkpoint 7 is not complete after 1\.5 s \(execution\.checkpointing\.timeout\): it waits for 'slow', "
        r"subtask 1\. Look .* tolerate more failures with execution\.checkpointing\.tolerable-failed-checkpoints",
    ):
        patience.give_up_or_wait(7, "'slow', subtask 1")


def test_failures_are_counted_once_for_each_time_out_and_forgotten_with_the_next_checkpoint(
    caplog: pytest.LogCaptureFixture,
) -> None:
    patience = CheckpointPatience(timeout_ms=1_000, tolerable=2)
    with caplog.at_level(logging.WARNING):
        patience.on_barrier(0.0)
        for now in (1.0, 2.0):
            assert patience.is_due(now)
            patience.give_up_or_wait(0, "'slow', subtask 0")
            assert not patience.is_due(now + 0.9)
        patience.on_final()
        patience.on_barrier(10.0)
        assert patience.is_due(11.0)
        patience.give_up_or_wait(1, "'slow', subtask 0")
    counted = [record.message.partition("subtask 0; ")[2] for record in caplog.records]
    assert counted == [f"{number} of 2 failures that are tolerated" for number in (1, 2, 1)]
    assert patience.is_due(12.0)
    patience.give_up_or_wait(1, "'slow', subtask 0")
    with pytest.raises(CheckpointError):
        patience.give_up_or_wait(1, "'slow', subtask 0")
