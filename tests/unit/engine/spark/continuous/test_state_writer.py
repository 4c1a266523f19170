"""The thread that writes versions: in order, and what fails is told."""

from __future__ import annotations

import threading

import pytest

from penstock.engine.spark.continuous.state_writer import StateWriter


def test_writes_are_done_in_order_beside_the_caller() -> None:
    writer, done, go = StateWriter(), [], threading.Event()
    writer.write_later(lambda: (go.wait(60), done.append(1))[1])
    writer.write_later(lambda: done.append(2))
    writer.check()
    assert done == []
    go.set()
    writer.wait_for_writes()
    assert done == [1, 2]


def test_a_write_that_failed_is_told_once() -> None:
    writer = StateWriter()

    def fail() -> None:
        raise OSError("no space")

    writer.write_later(fail)
    writer.wait_for_writes()
    with pytest.raises(OSError, match="no space"):
        writer.check()
    writer.check()
