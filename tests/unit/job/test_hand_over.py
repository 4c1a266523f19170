"""Records on their way to the program: in order, bounded, and never waited for in vain."""

from __future__ import annotations

import threading

import pytest

from penstock.job.hand_over import HandOver


def test_records_come_in_their_order_and_end_with_the_job() -> None:
    given = HandOver()
    given.put([1, 2])
    given.put([3])
    given.close()
    assert list(given) == [1, 2, 3]
    assert list(given) == []


def test_a_taker_waits_for_what_comes_later() -> None:
    given = HandOver()
    taken: list[int] = []
    taker = threading.Thread(target=lambda: taken.extend(given))
    taker.start()
    given.put([1])
    given.put([2])
    given.close()
    taker.join(60)
    assert taken == [1, 2]


def test_a_giver_waits_for_a_slow_taker() -> None:
    given = HandOver(most_waiting=2)
    giver = threading.Thread(target=lambda: [given.put([number]) for number in range(100)], daemon=True)
    giver.start()
    records = iter(given)
    assert [next(records) for _ in range(100)] == list(range(100))
    giver.join(60)
    assert not giver.is_alive()


def test_the_end_sets_a_waiting_giver_free() -> None:
    given = HandOver(most_waiting=1)
    given.put([1])
    giver = threading.Thread(target=given.put, args=([2],), daemon=True)
    giver.start()
    given.close()
    giver.join(60)
    assert not giver.is_alive()
    assert next(iter(given)) == 1


@pytest.mark.parametrize("blocks", [0, 1000])
def test_without_a_limit_nobody_waits(blocks: int) -> None:
    given = HandOver(None)
    for number in range(blocks):
        given.put([number])
    given.close()
    assert list(given) == list(range(blocks))
