"""Flow control of continuous mode: what is under way stays a matter of tenths of a second."""

from __future__ import annotations

from collections import deque

import pytest

from penstock.runtime import rows
from penstock.runtime.continuous.flow import FIRST_PIECE, LARGEST_PIECE, MARKS_OUT, FlowWindow, mark_rows


def end_piece(window: FlowWindow, now: float, units: int | None = None) -> int:
    window.on_work(units or window.room, now)
    assert window.wants_mark(now)
    return window.mark(now)


def test_a_sender_waits_while_several_marks_are_out() -> None:
    window = FlowWindow(receivers=2)
    marks = [end_piece(window, 0.0) for _ in range(MARKS_OUT)]
    assert marks == [1, 2, 3]
    assert not window.is_open
    window.on_back(0, 3, 0.01)
    assert not window.is_open, "one receiver has come to nothing yet"
    window.on_back(1, 1, 0.01)
    assert window.is_open


def test_a_piece_ends_when_it_is_full_or_old() -> None:
    window = FlowWindow(receivers=1)
    assert not window.wants_mark(1.0), "nothing was sent"
    window.on_work(1, 1.0)
    assert not window.wants_mark(1.05)
    assert window.wants_mark(1.1)
    window.mark(1.1)
    window.on_work(FIRST_PIECE - 1, 2.0)
    assert window.room == 1
    assert not window.wants_mark(2.0)
    window.on_work(1, 2.0)
    assert window.wants_mark(2.0)


def test_an_old_answer_takes_nothing_back() -> None:
    window = FlowWindow(receivers=1)
    for _ in range(MARKS_OUT):
        end_piece(window, 0.0)
    window.on_back(0, 3, 0.01)
    window.on_back(0, 1, 0.02)
    assert window.is_open
    assert end_piece(window, 0.03) == 4


def test_small_pieces_that_come_back_soon_do_not_make_pieces_larger() -> None:
    window = FlowWindow(receivers=1)
    window.on_work(1, 0.0)
    window.mark(0.2)
    window.on_back(0, 1, 0.21)
    assert window.piece == FIRST_PIECE


def test_without_receivers_nothing_is_in_the_way() -> None:
    window = FlowWindow(receivers=0)
    window.on_work(10**6, 0.0)
    assert window.is_open
    assert not window.wants_mark(9.0)
    assert window.room == LARGEST_PIECE


@pytest.mark.parametrize("seconds_per_unit", [1e-7, 1e-5, 1e-3, 0.05, 2.0])
def test_what_is_under_way_is_short_however_slow_the_receiver_is(seconds_per_unit: float) -> None:
    """A source that always has more, and a receiver that works on one unit after the other."""
    window = FlowWindow(receivers=1)
    now, free_at, longest = 0.0, 0.0, 0.0
    under_way: deque[tuple[int, float]] = deque()
    for step in range(3_000):
        while under_way and under_way[0][1] <= now:
            window.on_back(0, under_way.popleft()[0], now)
        if window.is_open:
            units = window.room
            free_at = max(free_at, now) + units * seconds_per_unit
            under_way.append((end_piece(window, now, units), free_at))
            if step > 500:
                longest = max(longest, free_at - now)
        now = under_way[0][1] if not window.is_open else now + 0.001
    assert longest <= max(1.0, MARKS_OUT * seconds_per_unit)
    idle_at_most = 0.2 if window.piece < LARGEST_PIECE else 1.0
    assert free_at >= now * (1 - idle_at_most), "the receiver has work nearly all the time"


def test_the_rows_of_a_mark() -> None:
    found = mark_rows(sender=3, receivers=2, number=7)
    assert [(row.target, row.kind, row.src, rows.decode_number(row.payload)) for row in found] == [
        (0, rows.MARK, 3, 7),
        (1, rows.MARK, 3, 7),
    ]
