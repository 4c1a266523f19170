"""Timestamps and watermarks from a WatermarkStrategy: serves sources and assign_timestamps_and_watermarks alike.

The strategy itself is the user's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.field_timestamp import FieldTimestamp
from penstock.common.watermark_strategy import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    IngestionTime,
    NoWatermarksGenerator,
    OfferedWatermarks,
    Watermark,
    WatermarkStrategy,
    generator_from_plain,
    generator_to_plain,
)
from penstock.connectors.source import StatusSignal, WatermarkSignal
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.failure import current_record
from penstock.runtime.input_times import SplitTime
from penstock.runtime.refusals import name_of
from penstock.runtime.rows import AnyTimestamps, Timestamps, Values

if TYPE_CHECKING:
    from penstock.runtime.operators.operator import StreamOperator


# Exactly these: what is derived from them may want to see every timestamp.
_BY_HIGHEST = (
    BoundedOutOfOrdernessWatermarks,
    AscendingTimestampsWatermarks,
    NoWatermarksGenerator,
    OfferedWatermarks,
)


_SECONDS_OF_1990, _SECONDS_OF_2100 = 631_152_000, 4_102_444_800
"""Event times in this range are more likely seconds than milliseconds of early 1970."""


class EventTime:
    """Where watermarks and idleness go: straight to the operator's output."""

    def __init__(self, operator: StreamOperator) -> None:
        self._operator = operator

    def advance(self, watermark: int) -> None:
        """Event time has got this far."""
        self._operator.watermark = watermark
        self._operator.output.emit_watermark(watermark)

    def mark(self, is_idle: bool) -> None:
        """The input has become idle or active."""
        self._operator.output.emit_status(is_idle)


def takes_blocks(strategy: WatermarkStrategy) -> bool:
    """Return whether watermarks follow from the timestamps of whole blocks; a generator of the user's sees objects."""
    return _has_blocks(strategy.create_generator())


def _has_blocks(generator: Any) -> bool:
    return hasattr(generator, "on_block")


def assigner_refusal(strategy: WatermarkStrategy) -> str | None:
    """Return why timestamps are read record by record; None if they are those of a column, or of the clock."""
    assigner = strategy.timestamp_assigner
    if assigner is None or isinstance(assigner, IngestionTime | FieldTimestamp):
        return None
    return f"the Python function {name_of(assigner)}() reads each timestamp"


class WatermarkSource:
    """Assigns timestamps to blocks and emits watermarks between them.

    What lasts over batches (`snapshot`): the generator, the last watermark, and when a record was last seen.
    """

    def __init__(
        self, strategy: WatermarkStrategy, operator: StreamOperator, event_time: EventTime | None = None
    ) -> None:
        self._strategy = strategy
        self._operator = operator
        self._event_time = event_time or EventTime(operator)
        self._assign = strategy.timestamp_assigner
        self._idle_timeout_ms = strategy.idle_timeout_ms
        self._pending = 0
        self._has_looked = self._assign is None
        self.is_paused = False
        """Whether it is not read for now: then a record that does not come says nothing of idleness."""

    def begin_batch(self, state: Any) -> None:
        """Go on where the previous batch ended."""
        if state is None:
            now = self._operator.context.clock()
            self._generator, self._last, self._active_at, self._is_idle = (
                self._strategy.create_generator(),
                MIN_WATERMARK,
                now,
                False,
            )
        else:
            self._last, active_at, self._is_idle, generator = state
            # The time a job was down is nobody's idleness.
            self._active_at = max(active_at, self._operator.context.started_ms)
            self._generator = generator_from_plain(self._strategy, generator)
        self._takes_blocks = _has_blocks(self._generator)
        is_prompt = getattr(self._generator, "after_each_record", False) is True
        self._pace = 1 if is_prompt else self._operator.context.watermark_every_records
        self._pending = 0
        self.had_data = False

    def told(self) -> tuple[int, bool]:
        """The last watermark, and whether the input is idle."""
        return self._last, self._is_idle

    def snapshot(self) -> Any:
        """State for the next batch; the watermark comes first, see `slowest`."""
        return (self._last, self._active_at, self._is_idle, generator_to_plain(self._generator))

    def process(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Emit a block with its timestamps and, at the pace asked for, watermarks."""
        pace = self._pace
        if len(values) > pace:
            for start in range(0, len(values), pace):
                stop = min(start + pace, len(values))
                part = values.slice(start, stop) if isinstance(values, ColumnBlock) else values[start:stop]
                self.process(part, None if timestamps is None else timestamps[start:stop])
            return
        self._mark_active()
        if isinstance(values, ColumnBlock):
            self._process_columns(values, cast("Stamps | None", timestamps))
        else:
            self._process_objects(values, cast(Timestamps, timestamps))
        self._pending += len(values)
        if self._pending >= pace:
            self.emit_periodic()

    def _look_at(self, first: int | None) -> None:
        """Suspect event times that are seconds, once, from the first block."""
        self._has_looked = True
        if first is not None and _SECONDS_OF_1990 <= first <= _SECONDS_OF_2100 and not self._operator.suspicions:
            self._operator.suspicions += (
                f"the event time {first} is in January or February 1970 if it is milliseconds; it looks like seconds: "
                "multiply by 1000",
            )

    def _process_columns(self, block: ColumnBlock, timestamps: Stamps | None) -> None:
        stamps = self._column_timestamps(block, timestamps)
        if not self._has_looked and stamps is not None:
            self._look_at(int(stamps[0]))
        if not self._takes_blocks:  # a generator of the user's sees objects
            self._operator.row_records += len(block)
            self._offer_one_by_one(block.values(), None if stamps is None else stamps.tolist())
            return
        self._operator.output.emit(block, stamps)
        if stamps is not None:
            if type(self._generator) in _BY_HIGHEST:
                self._generator.on_highest(int(stamps.max()))  # type: ignore[attr-defined]
            else:
                self._generator.on_block(stamps.tolist())  # type: ignore[attr-defined]

    def _column_timestamps(self, block: ColumnBlock, timestamps: Stamps | None) -> Stamps | None:
        if self._assign is None:
            return timestamps
        if type(self._assign) is IngestionTime:
            return np.full(len(block), self._now(), np.int64)
        if isinstance(self._assign, FieldTimestamp):
            stamps = self._assign.of_columns(block)
            if stamps is not None:
                return stamps
        if self._takes_blocks:
            self._operator.row_records += len(block)
        listed = self._timestamps(block.values(), None if timestamps is None else timestamps.tolist())
        return np.array(listed, np.int64)

    def _process_objects(self, values: list[Any], timestamps: Timestamps) -> None:
        self._operator.row_records += len(values)
        stamps = self._timestamps(values, timestamps)
        if not self._has_looked and stamps:
            self._look_at(stamps[0])
        if self._takes_blocks:
            self._operator.output.emit(values, stamps)
            if stamps is not None:
                known = stamps if None not in stamps else [stamp for stamp in stamps if stamp is not None]
                self._generator.on_block(known)  # type: ignore[attr-defined]
        else:
            self._offer_one_by_one(values, stamps)

    def signal(self, signal: WatermarkSignal | StatusSignal) -> None:
        """Pass on what the source itself says of event time."""
        if isinstance(signal, WatermarkSignal):
            self._emit(signal.timestamp)
        else:
            self._mark(signal.is_idle)

    def offer(self, watermark: int) -> None:
        """Take a watermark that an operator behind the source has made of the records that are being emitted."""
        assert isinstance(self._generator, OfferedWatermarks)
        self._generator.offer(watermark)

    def emit_periodic(self) -> None:
        """Let the generator say how far event time has got."""
        self._pending = 0
        try:
            self._generator.on_periodic_emit(_Punctuation(self._emit, self._mark))
        except Exception as error:
            raise self._operator.failure(error, "in on_periodic_emit of the watermark generator") from None

    def end_batch(self, now_ms: int) -> None:
        """Emit the last watermark of the batch and notice idleness."""
        # As in Flink, a generator is not asked while its input is idle by timeout.
        is_asleep = self._is_idle and self._idle_timeout_ms is not None
        if self.had_data or not (self._takes_blocks or is_asleep):
            self.emit_periodic()
        if self.is_paused:
            self._active_at = max(self._active_at, now_ms)
        if (
            self._idle_timeout_ms is not None
            and not self._is_idle
            and now_ms >= self._active_at + self._idle_timeout_ms
        ):
            self._mark(True)

    def next_deadline(self) -> int | None:
        """When idleness will have to be noticed."""
        if self._idle_timeout_ms is None or self._is_idle:
            return None
        return self._active_at + self._idle_timeout_ms

    def _timestamps(self, values: list[Any], timestamps: Timestamps) -> Timestamps:
        assign = self._assign
        if assign is None:
            return timestamps
        if type(assign) is IngestionTime:
            return [self._now()] * len(values)
        consumed = iter(values)
        try:
            if timestamps is None:
                stamps = [assign(value, MIN_WATERMARK) for value in consumed]
            else:
                stamps = [assign(value, _known(stamp)) for value, stamp in zip(consumed, timestamps, strict=False)]
        except Exception as error:
            record = current_record(values, consumed)
            raise self._operator.failure(error, "in the timestamp assigner", record) from None
        if set(map(type, stamps)) == {int} and min(stamps) >= MIN_WATERMARK and max(stamps) <= MAX_WATERMARK:
            return stamps
        return [self._whole(stamp, value) for stamp, value in zip(stamps, values, strict=True)]

    def _now(self) -> int:
        """The clock; it may go back, or be another machine's from batch to batch, but times of records do not."""
        return max(self._operator.context.clock(), self._last + 1)

    def _whole(self, stamp: Any, value: Any) -> int:
        """A timestamp that is not quite an int (a float, a numpy number) is made one if nothing is lost."""
        try:
            whole = int(stamp)
            if whole == stamp and MIN_WATERMARK <= whole <= MAX_WATERMARK:
                return whole
            raise TypeError
        except (TypeError, ValueError, OverflowError):
            wrong = TypeError(
                f"the timestamp assigner returned {stamp!r}; it must return whole milliseconds in 64 bits"
            )
            raise self._operator.failure(wrong, "in the timestamp assigner", value) from None

    def _offer_one_by_one(self, values: list[Any], stamps: Timestamps) -> None:
        """A generator of the user's may emit after any record: the block is cut there."""
        sent = 0
        for index, value in enumerate(values):
            emitted: list[int] = []
            stamp = MIN_WATERMARK if stamps is None else _known(stamps[index])
            try:
                self._generator.on_event(value, stamp, _Punctuation(emitted.append, self._mark))
            except Exception as error:
                raise self._operator.failure(error, "in on_event of the watermark generator", value) from None
            if emitted:
                self._emit_slice(values, stamps, sent, index + 1)
                sent = index + 1
                self._emit(max(emitted))
        self._emit_slice(values, stamps, sent, len(values))

    def _emit_slice(self, values: list[Any], stamps: Timestamps, start: int, stop: int) -> None:
        self._operator.output.emit(values[start:stop], None if stamps is None else stamps[start:stop])

    def _emit(self, watermark: int) -> None:
        if watermark > self._last:
            self._mark(False)
            self._last = watermark
            self._event_time.advance(watermark)

    def _mark(self, is_idle: bool) -> None:
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self._event_time.mark(is_idle)

    def _mark_active(self) -> None:
        self.had_data = True
        self._active_at = self._operator.context.clock()
        if self._is_idle:
            self._mark(False)


def _known(timestamp: int | None) -> int:
    """Flink's stand-in for "no timestamp"."""
    return MIN_WATERMARK if timestamp is None else timestamp


class _Punctuation:
    """The `output` argument of a watermark generator."""

    def __init__(self, emit: Callable[[int], Any], mark: Callable[[bool], None]) -> None:
        self._emit = emit
        self._mark = mark

    def emit_watermark(self, watermark: Watermark | int) -> None:
        self._emit(watermark if isinstance(watermark, int) else watermark.timestamp)

    def mark_idle(self) -> None:
        self._mark(True)

    def mark_active(self) -> None:
        self._mark(False)


def split_time(name: str | None, state: Any) -> SplitTime:
    """How far the snapshot of one source says that event time got; None is the beginning."""
    if state is None:
        return SplitTime(name)
    watermark, active_at, is_idle, (kind, *_) = state
    return SplitTime(name, watermark, is_idle, active_at, kind)


def slowest(states: list[Any]) -> Any:
    """Of several snapshots of one source's subtasks, the one with the lowest watermark."""
    return min(states, key=lambda state: (state[0], state[1]))


def active_again(state: Any) -> Any:
    """A snapshot for a job whose other operators have not been told that this one is idle."""
    last, active_at, _, generator = state
    return (last, active_at, False, generator)
