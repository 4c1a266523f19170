"""Who leads: leases are watched by a clock that only goes forward, and it is said why one is not taken."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import ConfigurationError
from penstock.server.dispatcher import database as database_module
from penstock.server.dispatcher.database import open_database
from penstock.server.dispatcher.leadership import Leadership, Watched
from penstock.server.dispatcher.registry import Lead, Registry


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """One that is empty."""
    made = Registry(open_database(str(tmp_path / "r" / "x.sqlite")))
    yield made
    made.close()


def test_a_lease_that_is_not_renewed_is_taken_over_and_who_led_notices(registry: Registry) -> None:
    clock = Clock()
    one, other = (Leadership(registry, name, f"http://{name}", 5.0, clock) for name in ("one", "other"))
    one.step()
    assert one.lead == Lead("one", 1)
    for clock.now in (1.0, 2.0, 5.0, 6.0, 9.0, 12.0):  # renewed, so never the same for five seconds
        one.step()
        other.step()
        assert other.lead is None
    for clock.now in (13.0, 16.9):
        other.step()
        assert other.lead is None
    clock.now = 17.0
    other.step()
    assert other.lead == Lead("other", 2)
    one.step()
    assert one.lead is None
    other.leave()
    one.step()
    assert one.lead == Lead("one", 3), "a lease that was left is free at once"


def test_a_clock_that_was_set_back_does_not_keep_others_from_leading(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    Leadership(registry, "one", "", 5.0, clock).step()
    real = database_module.time.time_ns
    monkeypatch.setattr(database_module.time, "time_ns", lambda: real() - 3600 * 10**9)  # and "one" has died
    other = Leadership(registry, "other", "", 5.0, clock)
    other.step()
    clock.now = 5.0
    other.step()
    assert other.lead == Lead("other", 2)


def test_it_is_told_once_why_a_lease_is_not_taken_and_until_when(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    Leadership(registry, "one", "http://one", 5.0, clock).step()
    other = Leadership(registry, "other", "", 5.0, clock)
    caplog.clear()
    caplog.set_level(logging.WARNING)
    for clock.now in (0.0, 1.0, 3.0, 4.0, 5.0, 6.0):
        other.step()
    who = "this dispatcher does not lead: one at http://one does, in epoch 1"
    assert [each.getMessage() for each in caplog.records] == [
        f"{who}; its lease is taken over when it is not renewed for 5 s",
        f"{who}, but has not renewed its lease; it is taken over within 2.5 s",
        "this dispatcher leads, in epoch 2",
    ]


def test_who_cannot_reach_the_registry_does_not_lead_until_it_can(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one = Leadership(registry, "one", "", 5.0, Clock())
    one.step()

    def away(*arguments: object) -> bool:
        raise ConfigurationError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(registry, "renew_lead", away)
        one.step()
    assert one.lead is None and "the registry cannot be reached: gone" in caplog.text
    one.step()
    assert one.lead == Lead("one", 2), "its own lease; what it did in the old epoch is over"


def test_what_is_watched_is_forgotten_with_its_name() -> None:
    clock = Clock()
    watched = Watched(clock)
    assert watched.seconds_since_change("a", 1) == 0.0
    clock.now = 3.0
    assert watched.seconds_since_change("a", 1) == 3.0
    watched.keep_only(set())
    assert watched.seconds_since_change("a", 1) == 0.0
    clock.now = 4.0
    assert watched.seconds_since_change("a", 2) == 0.0
