"""Calls over a socket, both ways, and what becomes of them when the other side is gone."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from penstock.errors import SqlError
from penstock.server.gateway.channel import CallError, Channel


def joined(**handlers: Any) -> tuple[Channel, Channel, threading.Thread]:
    """Two ends; the handlers are those of the second."""
    ours, theirs = socket.socketpair()
    near, far = Channel(ours, {"double": lambda number: 2 * number}), Channel(theirs, handlers)
    threads = [threading.Thread(target=each.run, daemon=True) for each in (near, far)]
    for thread in threads:
        thread.start()
    return near, far, threads[1]


def fail(error: Exception) -> None:
    raise error


def test_both_sides_call_each_other() -> None:
    far: list[Channel] = []
    near, other, _ = joined(quadruple=lambda number: 2 * far[0].call("double", number=number))
    far.append(other)
    assert near.call("quadruple", number=3) == 12
    assert near.call("quadruple", number=-1, seconds=30) == -4
    near.close()


def test_errors_come_back_with_their_status() -> None:
    near, _, _ = joined(
        refuse=lambda: fail(CallError("too many", 429)),
        misread=lambda: fail(SqlError("There is no column")),
        stumble=lambda: fail(KeyError("x")),
    )
    for name, text, status in (
        ("refuse", "too many", 429),
        ("misread", "There is no column", 400),
        ("stumble", "KeyError: 'x'", 400),
        ("unknown", "KeyError: 'unknown'", 400),
    ):
        with pytest.raises(CallError, match=text) as error:
            near.call(name)
        assert error.value.status == status
    near.close()


def test_a_call_that_takes_too_long_gives_up_and_others_go_on() -> None:
    hold = threading.Event()
    near, _, _ = joined(wait=lambda: hold.wait(60), one=lambda: 1)
    with pytest.raises(TimeoutError):
        near.call("wait", seconds=0.01)
    assert near.call("one") == 1
    hold.set()
    near.close()


def test_who_waits_is_told_when_the_other_side_is_gone() -> None:
    begun, hold = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        hold.wait(60)

    near, far, thread = joined(wait=wait)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            near.call("wait")
        except CallError as error:
            failures.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    begun.wait(60)
    far.close()
    asking.join(60)
    hold.set()
    thread.join(60)
    assert ["the process of this session has ended" in str(each) for each in failures] == [True]
    with pytest.raises(CallError, match="has ended; open another session"):
        near.call("one")
