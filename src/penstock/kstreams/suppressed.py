"""When `suppress` lets changes go on, and how much may wait until then."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import StreamsError
from penstock.kstreams.naming import checked_name
from penstock.runtime.operators.kstreams.suppress import BufferLimits, WhenFull
from penstock.vocabulary.kstreams.windows import millis
from penstock.vocabulary.window.durations import Length


@dataclass(frozen=True)
class BufferConfig:
    """How much may wait: made by `BufferConfig.max_records`, `max_bytes` or `unbounded`."""

    limits: BufferLimits

    @staticmethod
    def max_records(records: int) -> BufferConfig:
        """Let so many records wait, and emit early if there are more."""
        return BufferConfig(BufferLimits(max_records=records))

    @staticmethod
    def max_bytes(size: int) -> BufferConfig:
        """Let so many bytes wait, and emit early if there are more."""
        return BufferConfig(BufferLimits(max_bytes=size))

    @staticmethod
    def unbounded() -> BufferConfig:
        """Let everything wait."""
        return BufferConfig(BufferLimits(when_full=WhenFull.SHUT_DOWN))

    def with_max_records(self, records: int) -> BufferConfig:
        """The same with a limit of records."""
        return BufferConfig(replace(self.limits, max_records=records))

    def with_max_bytes(self, size: int) -> BufferConfig:
        """The same with a limit of bytes."""
        return BufferConfig(replace(self.limits, max_bytes=size))

    def with_no_bound(self) -> BufferConfig:
        """The same without limits."""
        return BufferConfig.unbounded()

    def emit_early_when_full(self) -> BufferConfig:
        """Emit the oldest changes when too many wait."""
        return BufferConfig(replace(self.limits, when_full=WhenFull.EMIT))

    def shut_down_when_full(self) -> BufferConfig:
        """Fail when too many wait."""
        return BufferConfig(replace(self.limits, when_full=WhenFull.SHUT_DOWN))

    def with_logging_disabled(self) -> BufferConfig:
        """Taken for compatibility: checkpoints keep the buffer all the same."""
        return self


@dataclass(frozen=True)
class Suppressed:
    """When changes go on: after a time without more of them, or once, when their window has closed."""

    limits: BufferLimits
    wait_ms: int | None = None
    name: str | None = None

    @staticmethod
    def until_time_limit(time_to_wait: Length, buffer_config: BufferConfig) -> Suppressed:
        """Let changes of a key wait until stream time is that much later than the first of them."""
        wait = millis(time_to_wait, "Suppressed.until_time_limit", "time to wait")
        return Suppressed(buffer_config.limits, wait)

    @staticmethod
    def until_window_closes(buffer_config: BufferConfig) -> Suppressed:
        """Emit one result for each window, when it has closed. The buffer must not emit early."""
        if buffer_config.limits.when_full is not WhenFull.SHUT_DOWN:
            raise StreamsError(
                "Suppressed.until_window_closes: final results need a buffer that does not emit early; use "
                "unbounded(), or a limit with shut_down_when_full()."
            )
        return Suppressed(buffer_config.limits)

    def with_name(self, name: str) -> Suppressed:
        """The same with a name."""
        return replace(self, name=checked_name(name))

    @property
    def is_final(self) -> bool:
        """Whether it waits for windows to close."""
        return self.wait_ms is None
