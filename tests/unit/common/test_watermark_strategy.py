"""Watermark strategies and generators, driven directly."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta, timezone
from typing import Any

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import MAX_WATERMARK, MIN_WATERMARK, Duration, Watermark, WatermarkStrategy
from penstock.common.plain_data import pack, unpack
from penstock.common.time import Instant
from penstock.common.types import Row
from penstock.common.watermark_strategy import (
    AscendingTimestampsWatermarks,
    AssignerWithPeriodicWatermarksWrapper,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    generator_from_plain,
    generator_to_plain,
)
from penstock.errors import ConfigurationError


class Emitted(list[int]):
    def emit_watermark(self, watermark: Watermark | int) -> None:
        self.append(watermark.timestamp if isinstance(watermark, Watermark) else watermark)

    def mark_idle(self) -> None: ...

    def mark_active(self) -> None: ...


class Punctuated(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event == "mark":
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


class FieldAssigner(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value["ts"])


class OldAssigner:
    def __init__(self) -> None:
        self.highest = 0

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        self.highest = max(self.highest, value)
        return value

    def get_current_watermark(self) -> Watermark | None:
        return Watermark(self.highest - 10) if self.highest else None


def test_watermark_trails_the_highest_timestamp_by_delay_and_one() -> None:
    generator = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100)).create_generator()
    output = Emitted()
    for timestamp in (1000, 3000, 2000):
        generator.on_event("e", timestamp, output)
    assert output == []
    generator.on_periodic_emit(output)
    assert output == [2899]


def test_monotonous_timestamps() -> None:
    generator = WatermarkStrategy.for_monotonous_timestamps().create_generator()
    assert isinstance(generator, AscendingTimestampsWatermarks)
    generator.on_block([7])
    assert generator.current() == 6


def test_nothing_seen_is_the_lowest_watermark() -> None:
    assert BoundedOutOfOrdernessWatermarks(Duration.of_days(1)).current() == MIN_WATERMARK
    assert NoWatermarksGenerator().current() == MIN_WATERMARK
    generator = BoundedOutOfOrdernessWatermarks(5)
    generator.on_block([])
    generator.on_block([MIN_WATERMARK])
    assert generator.current() == MIN_WATERMARK


@given(st.lists(st.lists(st.integers(MIN_WATERMARK, MAX_WATERMARK))), st.integers(0, 10**6))
@settings(max_examples=50)
def test_a_block_counts_like_its_records_and_survives_pickle(blocks: list[list[int]], delay: int) -> None:
    by_block, by_record = BoundedOutOfOrdernessWatermarks(delay), BoundedOutOfOrdernessWatermarks(delay)
    for block in blocks:
        by_block = pickle.loads(pickle.dumps(by_block))
        by_block.on_block(block)
        for timestamp in block:
            by_record.on_event(None, timestamp, Emitted())
        assert by_block.current() == by_record.current() >= MIN_WATERMARK


def test_no_watermarks_emits_nothing() -> None:
    output = Emitted()
    generator = WatermarkStrategy.no_watermarks().create_generator()
    generator.on_event("e", 5, output)
    generator.on_periodic_emit(output)
    assert output == []


def test_each_split_has_a_generator_of_its_own() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1))
    first, second = strategy.create_generator(), strategy.create_generator()
    assert isinstance(first, BoundedOutOfOrdernessWatermarks) and isinstance(second, BoundedOutOfOrdernessWatermarks)
    first.on_block([100])
    assert second.current() == MIN_WATERMARK


def test_own_generators() -> None:
    output = Emitted()
    generator = WatermarkStrategy.for_generator(Punctuated).create_generator()
    generator.on_event("other", 5, output)
    generator.on_event("mark", 6, output)
    assert output == [6]
    with pytest.raises(TypeError, match="for_generator expects a callable"):
        WatermarkStrategy.for_generator(Punctuated())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a WatermarkGenerator, got int"):
        WatermarkStrategy.for_generator(int).create_generator()  # type: ignore[arg-type]


def test_strategies_are_immutable() -> None:
    plain = WatermarkStrategy.for_monotonous_timestamps()
    full = (
        plain.with_timestamp_assigner(lambda value, _: value + 1)
        .with_idleness(Duration.of_seconds(3))
        .with_watermark_alignment("group", Duration.of_millis(20), Duration.of_millis(5))
    )
    assert (plain.timestamp_assigner, plain.idle_timeout_ms, plain.alignment) == (None, None, None)
    assert full.timestamp_assigner is not None and full.timestamp_assigner(1, 0) == 2
    assert full.idle_timeout_ms == 3000
    assert full.alignment is not None
    assert (full.alignment.max_allowed_watermark_drift_ms, full.alignment.update_interval_ms) == (20, 5)
    sent = cloudpickle.loads(cloudpickle.dumps(full))
    assert sent.timestamp_assigner(1, 0) == 2


def test_assigner_objects_become_callables() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(FieldAssigner())
    assert strategy.timestamp_assigner is not None and strategy.timestamp_assigner({"ts": "5"}, 0) == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1)), "must not be negative"),
        (lambda: WatermarkStrategy.no_watermarks().with_idleness(Duration.of_millis(0)), "at least one millisecond"),
        (
            lambda: WatermarkStrategy.no_watermarks().with_watermark_alignment("g", Duration.of_millis(-1)),
            "a drift of 0 ms or more",
        ),
    ],
)
def test_wrong_settings_are_refused_at_once(call: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        call()


@pytest.mark.parametrize("wrong", ["", -1, True, 1.5, None])
def test_wrong_assigner_is_refused_at_once(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"expects a TimestampAssigner, a callable .* or a field"):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(wrong)


@pytest.mark.parametrize(
    ("record", "field", "expected"),
    [
        ({"ts": 7}, "ts", 7),
        (Row(ts=7), "ts", 7),
        ((1, 7), 1, 7),
        ({"ts": datetime(1970, 1, 1, 0, 0, 1, 999)}, "ts", 1000),
        ({"ts": datetime(1969, 12, 31, 23, 59, 59, 999_999)}, "ts", -1),
        ({"ts": datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))}, "ts", 0),
        ({"ts": Instant.of_epoch_milli(5)}, "ts", 5),
        ({"ts": None}, "ts", None),
    ],
)
def test_event_time_by_field(record: Any, field: Any, expected: Any) -> None:
    strategy = pickle.loads(pickle.dumps(WatermarkStrategy.no_watermarks().with_timestamp_assigner(field)))
    assert strategy.timestamp_assigner(record, 0) == expected


def test_old_style_assigner() -> None:
    strategy = AssignerWithPeriodicWatermarksWrapper(OldAssigner()).with_idleness(Duration.of_millis(1))
    assert strategy.timestamp_assigner is not None and strategy.timestamp_assigner(99, 0) == 99
    generator, output = strategy.create_generator(), Emitted()
    generator.on_event(30, 30, output)
    generator.on_periodic_emit(output)
    assert output == [20]
    with pytest.raises(TypeError, match="needs a method get_current_watermark"):
        AssignerWithPeriodicWatermarksWrapper(FieldAssigner())


@pytest.mark.parametrize("timestamp", [2**63, -(2**63) - 1])
def test_watermarks_fit_in_64_bits(timestamp: int) -> None:
    with pytest.raises(ValueError, match="64 bits"):
        Watermark(timestamp)


# ---- what a checkpoint keeps of a generator ----


class LastSeen(WatermarkGenerator):
    """A generator of a user's."""

    def __init__(self) -> None:
        self.last = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.last = event_timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.last)


def kept(strategy: WatermarkStrategy, *timestamps: int) -> Any:
    generator = strategy.create_generator()
    for timestamp in timestamps:
        generator.on_event(None, timestamp, None)  # type: ignore[arg-type]
    return unpack(pack(generator_to_plain(generator)))


def test_a_checkpoint_keeps_the_highest_timestamp_and_the_program_says_how_late_records_may_be() -> None:
    plain = kept(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(500)), 700, 1000, 900)
    assert plain == ("highest", 1000)
    later = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    assert generator_from_plain(later, plain).current() == 899  # type: ignore[attr-defined]
    assert generator_from_plain(WatermarkStrategy.for_monotonous_timestamps(), plain).current() == 999  # type: ignore[attr-defined]


def test_a_generator_of_the_users_is_kept_as_an_object() -> None:
    strategy = WatermarkStrategy.for_generator(LastSeen)
    found = generator_from_plain(strategy, kept(strategy, 5))
    assert isinstance(found, LastSeen) and found.last == 5


def test_a_strategy_of_another_kind_starts_anew() -> None:
    plain = kept(WatermarkStrategy.for_generator(LastSeen), 5)
    assert generator_from_plain(WatermarkStrategy.for_monotonous_timestamps(), plain).current() == MIN_WATERMARK  # type: ignore[attr-defined]
    fresh = generator_from_plain(WatermarkStrategy.for_generator(LastSeen), kept(WatermarkStrategy.no_watermarks()))
    assert isinstance(fresh, LastSeen) and fresh.last == 0
