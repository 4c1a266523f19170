"""Links between tasks and driver: who may speak, what is told to whom, and that a slow driver slows its tasks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from penstock.engine.spark.continuous.links import BACK, BARRIER, END, MARKS, Switchboard, TaskLink
from tests.spark.waiting import wait_until

PATIENCE_SECONDS = 60.0
LARGE = b"." * 100_000


@pytest.fixture
def switch() -> Iterator[Switchboard]:
    made = Switchboard("127.0.0.1")
    yield made
    made.close()


Link = Callable[[Switchboard, int, int], TaskLink]


@pytest.fixture
def linked() -> Iterator[Link]:
    """Makes a task whose link the driver knows of."""
    made: list[TaskLink] = []

    def link(switch: Switchboard, floor: int, number: int) -> TaskLink:
        made.append(TaskLink(switch.address, floor, number))
        assert switch.messages.get(timeout=PATIENCE_SECONDS).what == "here"
        return made[-1]

    yield link
    for each in made:
        each.close()


def test_tasks_tell_and_sources_are_told(switch: Switchboard, linked: Link) -> None:
    source, level = linked(switch, 0, 1), linked(switch, 1, 0)
    level.tell("turned", [1, 2])
    told = switch.messages.get(timeout=PATIENCE_SECONDS)
    assert (told.what, told.floor, told.number, told.content) == ("turned", 1, 0, [1, 2])
    switch.order(BARRIER, 7)
    assert source.orders(PATIENCE_SECONDS) == [(BARRIER, 7)]
    assert level.orders(0.0) == []


def test_marks_go_back_to_their_senders_past_the_driver(switch: Switchboard, linked: Link) -> None:
    source, other, level = linked(switch, 0, 0), linked(switch, 0, 1), linked(switch, 1, 3)
    level.tell(MARKS, {0: 12})
    assert source.orders(PATIENCE_SECONDS) == [(BACK, (3, 12))]
    assert other.orders(0.0) == []
    assert switch.messages.empty()


def test_nothing_is_taken_from_who_does_not_know_the_secret(switch: Switchboard) -> None:
    stranger = TaskLink(replace(switch.address, secret=b"?" * 32), 0, 0)
    assert stranger.orders(PATIENCE_SECONDS) == [(END, 0)], "the driver hangs up"
    assert switch.messages.empty()
    stranger.close()


def test_who_says_nothing_holds_up_nobody(switch: Switchboard, linked: Link) -> None:
    with socket.create_connection((switch.address.host, switch.address.port)):
        linked(switch, 0, 0).tell("ended")
        assert switch.messages.get(timeout=PATIENCE_SECONDS).what == "ended"


def test_a_task_waits_for_a_driver_that_does_not_listen(switch: Switchboard, linked: Link) -> None:
    count = 2_000  # 200 MB: more than sockets hold
    link = linked(switch, 1, 0)
    sent: list[int] = []

    def send() -> None:
        for number in range(count):
            link.tell("rows", (number, LARGE))
            sent.append(number)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    wait_until(switch.messages.full, "the driver has as much as it takes", PATIENCE_SECONDS)
    sender.join(0.5)
    assert sender.is_alive() and len(sent) < count / 2, "what nobody takes fills the memory of the driver"
    taken = [switch.messages.get(timeout=PATIENCE_SECONDS).content[0] for _ in range(count)]
    assert taken == list(range(count))
    sender.join(PATIENCE_SECONDS)
    assert not sender.is_alive()


def test_threads_of_a_full_switchboard_end_with_it(linked: Link) -> None:
    before = threading.active_count()
    switch = Switchboard("127.0.0.1")
    link = linked(switch, 1, 0)
    for _ in range(switch.messages.maxsize + 1):
        link.tell("rows")
    wait_until(switch.messages.full, "no room is left", PATIENCE_SECONDS)
    switch.close()
    link.close()
    wait_until(lambda: threading.active_count() <= before, "no thread is left", PATIENCE_SECONDS)


def test_a_task_whose_driver_is_gone_ends(linked: Link) -> None:
    switch = Switchboard("127.0.0.1")
    link = linked(switch, 0, 0)
    switch.close()
    assert link.orders(PATIENCE_SECONDS) == [(END, 0)]
