"""The patterns of the comparison, the same in every system: ranges of values that follow each other within a time.

Imports the standard library only: environments of all systems load it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ValuePattern:
    """An element for each range (from, up to but not including) of the value, each followed by the next one."""

    ranges: tuple[tuple[int, int], ...]
    within_s: int

    def as_text(self) -> str:
        """How the pattern is handed to another language."""
        return ",".join(f"{low}-{high}" for low, high in self.ranges)


PATTERNS = {
    # One event in a hundred begins a match, one in a hundred can end it.
    "cep_rare": ValuePattern(((0, 10), (990, 1_000)), 10),
    # Three events in ten begin a match that then waits for one in a hundred: every key has a dozen of them.
    "cep_partials": ValuePattern(((0, 300), (300, 600), (990, 1_000)), 10),
    "cep_keys": ValuePattern(((0, 10), (990, 1_000)), 60),
}
COLUMNS = "_columns"
"""Ends the name of a job whose conditions are expressions on columns, where a system has both."""


def pattern_of(job: str) -> ValuePattern | None:
    """The pattern of a job, if it looks for one."""
    return PATTERNS.get(job.removesuffix(COLUMNS))
