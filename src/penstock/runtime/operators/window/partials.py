"""Records of one key and pane that were aggregated before the exchange."""

from __future__ import annotations

from typing import Any, NamedTuple


class Partial(NamedTuple):
    """What a sender has made of `count` records of one key and pane; its timestamp is the start of the pane.

    The pane is the window itself where windows tumble, the stretch of gcd(size, slide) where they slide, the step where
    they cumulate. Records that were not aggregated travel as they are, between partials.
    """

    key: Any
    start: int
    accumulator: Any
    count: int  # type: ignore[assignment]  # as a field it hides the method of tuples

    def __repr__(self) -> str:
        # Seen in failures, by somebody who knows elements but not that they were aggregated on their way.
        return f"{self.accumulator!r}, made of {self.count} element(s) of key {self.key!r} before the exchange"
