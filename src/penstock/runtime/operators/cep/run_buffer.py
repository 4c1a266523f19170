"""The events of one run in memory, until the run is written: what comes and goes meanwhile is never a row."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.cep.buffer import MatchBuffer
from penstock.state.map_state import KeyedMapState


class RunRows:
    """Rows of one run: in memory until the run is written, so that what comes and goes meanwhile is never a row.

    Numbers rise: from `unwritten` on, none has ever been a row.
    """

    __slots__ = ("_fresh", "_state", "unwritten")

    def __init__(self, state: KeyedMapState, unwritten: int, fresh: dict[int, Any]) -> None:
        self._state = state
        self._fresh = fresh
        self.unwritten = unwritten

    def held(self, key: int) -> Any:
        """Return what has a number, or None."""
        found = self._fresh.get(key)
        return self._state.held(key) if found is None and key < self.unwritten else found

    def hold(self, key: int, value: Any) -> None:
        """Give an object a number."""
        self._fresh[key] = value

    def remove(self, key: int) -> None:
        """Forget what has a number."""
        self._fresh.pop(key, None)
        if key < self.unwritten:
            self._state.remove(key)

    def in_memory(self) -> dict[int, Any]:
        """What is in memory by number."""
        return self._fresh

    def write(self, following: int) -> None:
        """Make rows of what is in memory; `following` is the next number."""
        for key, value in self._fresh.items():
            self._state.hold(key, value)
        self._fresh.clear()
        self.unwritten = max(self.unwritten, following)


class RunBuffer(MatchBuffer):
    """Links and events of a run in front of the rows of its key, which must be the current one."""

    __slots__ = ("_rows",)

    def __init__(
        self,
        states: list[KeyedMapState],
        next_event: int = 1,
        next_link: int = 1,
        rows: tuple[dict[int, Any], ...] | None = None,
    ) -> None:
        """Take the states of links, events, shared links and shared events, and what is in memory of each."""
        fresh = ({}, {}, {}, {}) if rows is None else rows
        self._rows = [
            RunRows(state, next_event if place % 2 else next_link, fresh[place]) for place, state in enumerate(states)
        ]
        super().__init__(*self._rows)

    def in_memory(self) -> tuple[dict[int, Any], ...]:
        """What is in memory of links, events, shared links and shared events."""
        return tuple([rows.in_memory() for rows in self._rows])

    def write(self, next_event: int, next_link: int) -> None:
        """Make rows of what is in memory."""
        for place, rows in enumerate(self._rows):
            rows.write(next_event if place % 2 else next_link)
