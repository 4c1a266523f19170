"""Timestamps, watermarks and the strategies that create them."""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, overload

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.field_timestamp import FieldTimestamp
from penstock.common.plain_data import UserValue, loaded
from penstock.common.time import Duration, to_millis
from penstock.common.type_variables import T_contra, V
from penstock.common.user_pickles import name_in_pickles
from penstock.errors import ConfigurationError

__all__ = [
    "AscendingTimestampsWatermarks",
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPeriodicWatermarksWrapper",
    "AssignerWithPunctuatedWatermarks",
    "BoundedOutOfOrdernessWatermarks",
    "IngestionTime",
    "NoWatermarksGenerator",
    "TimestampAssigner",
    "Watermark",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]


@dataclass(frozen=True, order=True)
class Watermark:
    """The statement that no record with this timestamp or an earlier one is expected any more."""

    timestamp: int

    def __post_init__(self) -> None:
        if isinstance(self.timestamp, bool) or not isinstance(self.timestamp, int):
            raise TypeError(f"a watermark is a whole number of milliseconds, got {self.timestamp!r}")
        if not MIN_WATERMARK <= self.timestamp <= MAX_WATERMARK:
            raise ValueError(f"a watermark must fit in 64 bits, got {self.timestamp}")


class TimestampAssigner(ABC, Generic[T_contra]):
    """Reads the event time of a record."""

    @abstractmethod
    def extract_timestamp(self, value: T_contra, record_timestamp: int, /) -> int:
        """Return milliseconds since 1970; `record_timestamp` is what the source attached (or the minimum)."""


class AssignerWithPeriodicWatermarks(TimestampAssigner[T_contra]):
    """An older form of a strategy: one object that reads timestamps and returns watermarks.

    Given to `assign_timestamps_and_watermarks` as it is. Each split has a copy, which is pickled into every checkpoint;
    `extract_timestamp` is called on it for each of its records before it is asked for a watermark.
    """

    @abstractmethod
    def get_current_watermark(self) -> Watermark | int | None:
        """Return the watermark to emit now, or None."""


class AssignerWithPunctuatedWatermarks(TimestampAssigner[T_contra]):
    """An older form of a strategy, with watermarks that depend on records."""

    @abstractmethod
    def check_and_get_next_watermark(self, last_element: T_contra, extracted_timestamp: int) -> Watermark | int | None:
        """Return the watermark to emit after this record, or None."""


class IngestionTime:
    """Marks a strategy that uses the time at which records are read, see `for_ingestion_time`."""

    def __call__(self, value: Any, record_timestamp: int) -> int:
        """Refuse: without a clock there is no such time."""
        raise TypeError("IngestionTime is not a function of a record: use WatermarkStrategy.for_ingestion_time()")

    def __eq__(self, other: object) -> bool:
        return type(other) is IngestionTime

    def __hash__(self) -> int:
        return hash(IngestionTime)


class WatermarkOutput(Protocol):
    """Where a generator puts its watermarks."""

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Emit; a watermark that is not higher than the last one has no effect. Ends idleness."""

    def mark_idle(self) -> None:
        """Mark this input as idle, so that downstream operators do not wait for it."""

    def mark_active(self) -> None:
        """Mark this input as active again."""


class WatermarkGenerator(ABC, Generic[T_contra]):
    """Makes watermarks from the records of one split.

    The object itself is the state: it is pickled into every checkpoint, so keep what cannot be pickled out of it.
    """

    @abstractmethod
    def on_event(self, event: T_contra, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for each record; a punctuated generator emits here."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called now and then, and always at the end of a batch; a periodic generator emits here."""


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator[Any]):
    """Emits the highest timestamp - delay - 1: records may be late by at most the delay."""

    def __init__(self, max_out_of_orderness: Duration | int) -> None:
        self._delay_ms = to_millis(max_out_of_orderness)
        if self._delay_ms < 0:
            raise ConfigurationError(f"out-of-orderness must not be negative, got {self._delay_ms} ms")
        self._max_timestamp = MIN_WATERMARK + self._delay_ms + 1

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Remember the highest timestamp."""
        if event_timestamp > self._max_timestamp:
            self._max_timestamp = event_timestamp

    def on_block(self, timestamps: list[int]) -> None:
        """See a whole block of records at once; same as `on_event` for each."""
        if timestamps:
            self._max_timestamp = max(self._max_timestamp, max(timestamps))

    def on_highest(self, timestamp: int) -> None:
        """See a whole block of records, of which this is the highest timestamp; same as `on_event` for each."""
        self._max_timestamp = max(self._max_timestamp, timestamp)

    def current(self) -> int:
        """Return the watermark to emit now."""
        return self._max_timestamp - self._delay_ms - 1

    def to_plain(self) -> int:
        """Return what a checkpoint keeps: the highest timestamp."""
        return self._max_timestamp

    def go_on_from(self, plain: int) -> None:
        """Resume from a checkpoint; the delay is that of the current program."""
        self._max_timestamp = max(self._max_timestamp, plain)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the current watermark."""
        output.emit_watermark(self.current())


class AscendingTimestampsWatermarks(BoundedOutOfOrdernessWatermarks):
    """For timestamps that only grow within a split."""

    def __init__(self) -> None:
        super().__init__(0)


class NoWatermarksGenerator(WatermarkGenerator[Any]):
    """For streams that need no event time."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Do nothing."""

    def on_block(self, timestamps: list[int]) -> None:
        """Do nothing."""

    def on_highest(self, timestamp: int) -> None:
        """Do nothing."""

    def current(self) -> int:
        """Return the lowest watermark."""
        return MIN_WATERMARK

    def to_plain(self) -> None:
        """There is nothing to keep."""

    def go_on_from(self, plain: None) -> None:
        """Start as ever."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Do nothing."""


class OfferedWatermarks(WatermarkGenerator[Any]):
    """Emits the highest watermark that an operator behind the source has worked out for this split.

    `after_each_record`: the source hands on one record at a time and emits after each of them.
    """

    def __init__(self, after_each_record: bool = False) -> None:
        self.after_each_record = after_each_record
        self._highest = MIN_WATERMARK

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Do nothing: offers come from elsewhere."""

    def on_block(self, timestamps: list[int]) -> None:
        """Do nothing."""

    def on_highest(self, timestamp: int) -> None:
        """Do nothing."""

    def offer(self, watermark: int) -> None:
        """Raise the watermark to be emitted next."""
        self._highest = max(self._highest, watermark)

    def to_plain(self) -> int:
        """Return what a checkpoint keeps: the highest watermark."""
        return self._highest

    def go_on_from(self, plain: int) -> None:
        """Resume from a checkpoint."""
        self._highest = max(self._highest, plain)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the highest watermark."""
        output.emit_watermark(self._highest)


@dataclass(frozen=True)
class WatermarkAlignment:
    """Sources of one group may not run ahead of the slowest by more than the drift."""

    watermark_group: str
    max_allowed_watermark_drift_ms: int
    update_interval_ms: int = 1000


@dataclass(frozen=True)
class WatermarkStrategy(Generic[T_contra]):
    """How a source gives its records timestamps and watermarks. Immutable: each `with_*` returns a new strategy.

    `WatermarkStrategy[Trade].for_monotonous_timestamps()` makes a strategy for trades; without the brackets type
    checkers let it read anything.

    >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    >>> strategy = strategy.with_timestamp_assigner(lambda value, record_timestamp: value["ts"])
    >>> strategy.timestamp_assigner({"ts": 7}, 0)
    7
    """

    generator_supplier: Callable[[], WatermarkGenerator[T_contra]]
    timestamp_assigner: Callable[[T_contra, int], int] | None = None
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @classmethod
    def for_monotonous_timestamps(cls) -> WatermarkStrategy[T_contra]:
        """For timestamps that only grow within a split."""
        return WatermarkStrategy(AscendingTimestampsWatermarks)

    @classmethod
    def for_bounded_out_of_orderness(cls, max_out_of_orderness: Duration) -> WatermarkStrategy[T_contra]:
        """For records that are late by at most the given time."""
        delay_ms = to_millis(max_out_of_orderness)
        BoundedOutOfOrdernessWatermarks(delay_ms)  # refuses a bad delay here, not in a task
        return WatermarkStrategy(functools.partial(BoundedOutOfOrdernessWatermarks, delay_ms))

    @classmethod
    def for_ingestion_time(cls) -> WatermarkStrategy[T_contra]:
        """Give records the time at which they are read: event time by the clock of the machine that reads.

        Times never fall, and nothing is late. A batch that is run again after a failure gives its records later times:
        what the first attempt made of them was never final. Where results must not depend on when a job runs, use a
        time that the records bring along.
        """
        return WatermarkStrategy(AscendingTimestampsWatermarks, IngestionTime())

    @staticmethod
    def for_assigner(assigner: TimestampAssigner[V]) -> WatermarkStrategy[V]:
        """Use an AssignerWithPeriodicWatermarks or AssignerWithPunctuatedWatermarks."""
        if isinstance(assigner, AssignerWithPunctuatedWatermarks):
            supplier = functools.partial(_PunctuatedAssignerWatermarks, copy.deepcopy(assigner))
            return WatermarkStrategy(supplier, assigner.extract_timestamp)
        return AssignerWithPeriodicWatermarksWrapper(assigner)

    @classmethod
    def no_watermarks(cls) -> WatermarkStrategy[T_contra]:
        """For streams that need no event time."""
        return WatermarkStrategy(NoWatermarksGenerator)

    @staticmethod
    def for_generator(generator_supplier: Callable[[], WatermarkGenerator[V]]) -> WatermarkStrategy[V]:
        """Use your own generator; `generator_supplier()` creates one for each split."""
        if not callable(generator_supplier):
            raise TypeError(
                f"for_generator expects a callable that makes a WatermarkGenerator, such as its class, "
                f"got {type(generator_supplier).__name__}"
            )
        return WatermarkStrategy(generator_supplier)

    @overload
    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner[V]) -> WatermarkStrategy[V]: ...

    @overload
    def with_timestamp_assigner(
        self, timestamp_assigner: Callable[[T_contra, int], int] | str | int
    ) -> WatermarkStrategy[T_contra]: ...

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner[Any] | Callable[[T_contra, int], int] | str | int
    ) -> WatermarkStrategy[Any]:
        """Read event time with a `TimestampAssigner`, a callable (value, record timestamp) -> milliseconds, or a field.

        A field is a name, or a position from 0; it holds milliseconds, datetimes (without a zone: in UTC) or Instants.
        """
        if isinstance(timestamp_assigner, TimestampAssigner):
            return self._with(timestamp_assigner=timestamp_assigner.extract_timestamp)
        if _is_field(timestamp_assigner):
            return self._with(timestamp_assigner=FieldTimestamp(timestamp_assigner))  # type: ignore[arg-type]
        if not callable(timestamp_assigner):
            raise TypeError(
                f"with_timestamp_assigner expects a TimestampAssigner, a callable (value, record timestamp) -> "
                f"milliseconds, or a field as its name or position from 0, got {timestamp_assigner!r}"
            )
        return self._with(timestamp_assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy[T_contra]:
        """Mark a split as idle after this time without records, so that it does not hold back event time."""
        timeout_ms = to_millis(idle_timeout)
        if timeout_ms <= 0:
            raise ConfigurationError(f"the idle timeout must be at least one millisecond, got {idle_timeout!r}")
        return self._with(idle_timeout_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy[T_contra]:
        """Do not read splits that are ahead of the slowest of their group by more than the drift.

        All sources with the same group belong together, with all their splits. Splits that have ended or are idle hold
        nobody back. For `from_source`: behind a source nothing can be paused. `update_interval` (1 s) is how often the
        group's watermark is refreshed in continuous mode; micro-batches refresh it each time.

        >>> strategy = WatermarkStrategy.for_monotonous_timestamps()
        >>> strategy.with_watermark_alignment("backfill", Duration.of_seconds(20)).alignment
        WatermarkAlignment(watermark_group='backfill', max_allowed_watermark_drift_ms=20000, update_interval_ms=1000)
        """
        drift_ms = to_millis(max_allowed_watermark_drift)
        interval_ms = 1000 if update_interval is None else to_millis(update_interval)
        if drift_ms < 0 or interval_ms <= 0:
            raise ConfigurationError(
                f"watermark alignment needs a drift of 0 ms or more and a positive update interval, "
                f"got {drift_ms} ms and {interval_ms} ms"
            )
        return self._with(alignment=WatermarkAlignment(watermark_group, drift_ms, interval_ms))

    def _with(self, **changes: Any) -> WatermarkStrategy[Any]:
        # Not dataclasses.replace: a subclass may have another constructor.
        settings = {
            "generator_supplier": self.generator_supplier,
            "timestamp_assigner": self.timestamp_assigner,
            "idle_timeout_ms": self.idle_timeout_ms,
            "alignment": self.alignment,
        }
        return WatermarkStrategy(**{**settings, **changes})

    def create_generator(self) -> WatermarkGenerator[T_contra]:
        """Make the generator of one split."""
        generator = self.generator_supplier()
        if not isinstance(generator, WatermarkGenerator):
            raise TypeError(f"the watermark generator must be a WatermarkGenerator, got {type(generator).__name__}")
        return generator


def _is_field(given: Any) -> bool:
    if isinstance(given, str):
        return given != ""
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


class AssignerWithPeriodicWatermarksWrapper(WatermarkStrategy[T_contra]):
    """A strategy around one old-style object that both extracts timestamps and knows the current watermark."""

    def __init__(self, assigner: Any) -> None:
        for method in ("extract_timestamp", "get_current_watermark"):
            if not callable(getattr(assigner, method, None)):
                raise TypeError(f"the assigner {type(assigner).__name__} needs a method {method}")
        # The assigner changes as it extracts; generators must start from how it was given.
        as_given = copy.deepcopy(assigner)
        super().__init__(functools.partial(_PeriodicAssignerWatermarks, as_given), assigner.extract_timestamp)


class _PeriodicAssignerWatermarks(WatermarkGenerator[Any]):
    # Each split has a copy of the assigner, which must see the records itself to know its watermark.
    def __init__(self, assigner: Any) -> None:
        self._assigner = copy.deepcopy(assigner)

    def to_plain(self) -> UserValue:
        return UserValue(self._assigner)

    def go_on_from(self, plain: Any) -> None:
        self._assigner = loaded(plain)

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self._assigner.extract_timestamp(event, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        watermark = self._assigner.get_current_watermark()
        if watermark is not None:
            output.emit_watermark(watermark)


class _PunctuatedAssignerWatermarks(WatermarkGenerator[Any]):
    def __init__(self, assigner: AssignerWithPunctuatedWatermarks) -> None:
        self._assigner = copy.deepcopy(assigner)

    def to_plain(self) -> UserValue:
        return UserValue(self._assigner)

    def go_on_from(self, plain: Any) -> None:
        self._assigner = loaded(plain)

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        watermark = self._assigner.check_and_get_next_watermark(event, event_timestamp)
        if watermark is not None:
            output.emit_watermark(watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """All has been said when the records came."""


# Exactly these: a class derived from one of them is the user's, and may hold more.
_KINDS: dict[type, str] = {
    AscendingTimestampsWatermarks: "highest",
    BoundedOutOfOrdernessWatermarks: "highest",
    NoWatermarksGenerator: "none",
    OfferedWatermarks: "offered",
    _PeriodicAssignerWatermarks: "assigner",
    _PunctuatedAssignerWatermarks: "assigner",
}
_USERS = "generator"


def generator_to_plain(generator: WatermarkGenerator) -> tuple[str, Any]:
    """Return what a checkpoint keeps of a generator: its kind, and plain data or an object of the user's."""
    kind = _KINDS.get(type(generator), _USERS)
    return kind, UserValue(generator) if kind == _USERS else generator.to_plain()  # type: ignore[attr-defined]


def generator_from_plain(strategy: WatermarkStrategy, plain: tuple[str, Any]) -> WatermarkGenerator:
    """Return the generator of a strategy, gone on from a checkpoint; one of another kind starts anew."""
    kind, content = plain
    generator = strategy.create_generator()
    if kind != _KINDS.get(type(generator), _USERS):
        return generator
    if kind == _USERS:
        users: WatermarkGenerator = loaded(content)
        return users
    generator.go_on_from(content)  # type: ignore[attr-defined]
    return generator


name_in_pickles(Watermark, "watermark")
