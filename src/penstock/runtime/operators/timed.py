"""Fires the timers of a keyed operator, in event time and processing time."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.runtime.operators.operator import StreamOperator
from penstock.state.timers import EVENT, PROCESSING, Timer


class TimedOperator(StreamOperator):
    """A keyed operator with timers of both domains."""

    is_keyed = True

    def on_watermark(self, watermark: int) -> None:
        """Fire event-time timers up to the watermark in timestamp order, then pass the watermark on."""
        self.watermark = watermark
        self._fire(EVENT, watermark)
        self.output.emit_watermark(watermark)

    def on_processing_time(self, now_ms: int) -> None:
        """Fire processing-time timers that are due."""
        self._fire(PROCESSING, now_ms)

    def next_deadline(self) -> int | None:
        """The earliest processing-time timer; that none fires after the end of input is the subtask's rule."""
        assert self.context.timers is not None
        return self.context.timers.next_timestamp(PROCESSING)

    def _fire(self, domain: int, up_to: int) -> None:
        timers = self.context.timers
        assert timers is not None
        earliest = timers.next_timestamp(domain)
        if earliest is not None and earliest <= up_to:
            self.fire_due(domain, timers.pop_due(domain, up_to))

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Do what the timers of one domain ask for; at least one is due."""
        raise AssertionError(f"{type(self).__name__} sets no timers")
