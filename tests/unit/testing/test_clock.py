"""The manual clock: it moves when told, forwards only."""

from __future__ import annotations

import pytest

from penstock.testing import ManualClock


def test_it_stands_until_it_is_moved() -> None:
    clock = ManualClock(10)
    assert clock() == 10
    clock.advance(5)
    assert clock() == 15
    clock.set(40)
    assert clock() == 40


def test_it_never_goes_back() -> None:
    clock = ManualClock(10)
    with pytest.raises(ValueError, match="does not go back"):
        clock.set(9)
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)
    assert clock() == 10
