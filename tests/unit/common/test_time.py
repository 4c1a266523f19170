"""Durations, instants and times."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.time import Duration, Instant, Time, to_millis
from penstock.errors import ConfigurationError


@pytest.mark.parametrize(
    ("duration", "millis"),
    [
        (Duration.of_days(1), 86_400_000),
        (Duration.of_hours(1), 3_600_000),
        (Duration.of_minutes(2), 120_000),
        (Duration.of_seconds(3), 3000),
        (Duration.of_millis(4), 4),
        (Duration.of_nanos(1_999_999), 1),
    ],
)
def test_durations(duration: Duration, millis: int) -> None:
    assert duration.to_millis() == millis


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 s", Duration.of_seconds(10)),
        ("5min", Duration.of_minutes(5)),
        ("7", Duration.of_millis(7)),
        ("1 Day", Duration.of_days(1)),
        ("3 us", Duration.of_nanos(3000)),
    ],
)
def test_durations_are_read_as_flink_writes_them(text: str, expected: Duration) -> None:
    assert Duration.parse(text) == expected


@pytest.mark.parametrize("text", ["", "s", "1.5 s", "3 weeks"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a duration: write a whole number and a unit"):
        Duration.parse(text)


def test_values_compare_and_hash() -> None:
    assert Duration.of_seconds(1) == Duration.of_millis(1000) < Duration.of_millis(1001)
    assert len({Duration.of_seconds(1), Duration.of_millis(1000)}) == 1
    assert Time.seconds(1) == Time.milliseconds(1000) != Duration.of_seconds(1)
    assert Instant(0, 1_000_000_000) == Instant(1, 0) > Instant(0, 999_999_999)
    assert repr(Duration.of_minutes(90)) == "Duration(90 min)"


def test_times() -> None:
    lengths = [Time.days(1), Time.hours(1), Time.minutes(1), Time.seconds(1), Time.milliseconds(1)]
    assert [length.to_milliseconds() for length in lengths] == [86_400_000, 3_600_000, 60_000, 1000, 1]


@given(st.integers(-(2**50), 2**50))
@settings(max_examples=50)
def test_instants_keep_their_milliseconds(millis: int) -> None:
    assert Instant.of_epoch_milli(millis).to_epoch_milli() == millis


@given(st.datetimes(timezones=st.just(datetime.UTC)))
@settings(max_examples=50)
def test_instants_keep_datetimes(moment: datetime.datetime) -> None:
    assert Instant.of_datetime(moment).to_datetime() == moment


def test_any_length_becomes_milliseconds() -> None:
    lengths: list[Any] = [Duration.of_seconds(1), Time.seconds(1), datetime.timedelta(seconds=1), 1000]
    assert [to_millis(length) for length in lengths] == [1000] * 4


@pytest.mark.parametrize("wrong", [1.5, "1", None, True])
def test_only_whole_numbers(wrong: Any) -> None:
    for make in (Duration.of_seconds, Time.seconds, Instant.of_epoch_milli, to_millis):
        with pytest.raises(TypeError, match="takes a whole number"):
            make(wrong)
