"""Converts windows that were stored with other settings.

Panes become windows: each that is open, or kept for late records, gets what it had. Windows of another trigger or
lateness get the timers that they would have. Nothing is emitted.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.own_copies import own_copies
from penstock.errors import StateError
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.window.combining import Combiner
from penstock.runtime.operators.window.contents import STATE_NAME as CONTENTS
from penstock.runtime.operators.window.merging import STATE_NAME as MERGING
from penstock.runtime.operators.window.merging import MergingWindows
from penstock.runtime.operators.window.panes import STATE_NAME as PANES
from penstock.runtime.operators.window.panes import cleanup_time
from penstock.runtime.operators.window.shapes import fires_once_at_the_end
from penstock.runtime.operators.window.windows import Windows
from penstock.state.keyed import VOID_NAMESPACE
from penstock.state.timers import EVENT
from penstock.vocabulary.state import ValueStateDescriptor
from penstock.vocabulary.window import TimeWindow
from penstock.vocabulary.window.pane_grid import PaneGrid


class PanesToWindows:
    """Takes the panes of an assigner apart into its windows."""

    def __init__(self, windows: Windows, combiner: Combiner, written: Layout) -> None:
        settings = written["assigner"]
        self._windows = windows
        self._combiner = combiner
        self._grid = PaneGrid.sliding(settings["size"], settings["slide"], settings["offset"])
        self._lateness: int = written["lateness"]
        self._panes = windows.backend.get_value_state(ValueStateDescriptor(PANES, None))
        self._contents = windows.backend.get_value_state(ValueStateDescriptor(CONTENTS, None))

    def run(self) -> None:
        """Do it for all keys."""
        backend, timers = self._windows.backend, self._windows.operator.context.timers
        assert timers is not None
        # Timers of panes have no namespace, and know the keys as they were; without end in time there are none.
        for timestamp, key, namespace in timers.every(EVENT):
            if namespace == VOID_NAMESPACE:
                backend.set_key(key)
                timers.delete(EVENT, timestamp)
                self._take_apart()
        for key, _ in backend.places(PANES):
            backend.set_key(key)
            self._take_apart()

    def _take_apart(self) -> None:
        held = self._panes.value()
        if held is None:
            return
        self._panes.clear()
        grid, panes = self._grid, held[1]
        ends = {end for pane in panes for end in range(grid.first_end(pane), grid.last_end(pane) + 1, grid.slide)}
        for end in sorted(ends):
            if cleanup_time(end, self._lateness) > self._windows.operator.watermark:  # else it was over before
                self._make_window(end, panes)
        self._windows.backend.set_namespace(VOID_NAMESPACE)

    def _make_window(self, end: int, panes: dict[int, Any]) -> None:
        start = end + 1 - self._grid.size
        parts = own_copies([part for pane, part in panes.items() if start <= pane <= end and part is not None])
        window = TimeWindow(start, end + 1)
        if parts and not self._windows.is_late(window):
            namespace = self._windows.codec.to_bytes(window)
            self._windows.backend.set_namespace(namespace)
            self._contents.update(reduce(self._combiner.merge, parts))
            set_timers(self._windows, window, namespace)


def refuse_panes(windows: Windows) -> None:
    """Refuse panes of which nobody knows how long they are."""
    if windows.backend.places(PANES):
        raise StateError(
            "the state has panes of sliding windows, with settings that this version of Penstock does not know: run "
            "the "
            "job once with its old SlidingEventTimeWindows, then change the windows"
        )


def set_timers(windows: Windows, window: Any, namespace: bytes) -> None:
    """Set the timers that a window of the current key has while it waits, where it is not past them."""
    timers, last = windows.operator.context.timers, window.max_timestamp()
    assert timers is not None
    is_ahead = not windows.is_event_time or last > windows.operator.watermark
    # Other triggers set their timers themselves, when an element comes.
    if fires_once_at_the_end(windows.spec) and is_ahead and last < MAX_WATERMARK:
        timers.register(windows.domain, last, namespace)
    windows.register_cleanup(window, namespace)


def retime(windows: Windows, written: Layout) -> None:
    """Give all windows the timers of the present trigger and lateness; those that would be over by now go."""
    backend = windows.backend
    for key, window, namespace, held_in in _every_window(windows):
        backend.set_key(key)
        if windows.is_late(window):
            _drop(windows, window, namespace, held_in, written)
        else:
            set_timers(windows, window, namespace)
        backend.set_namespace(VOID_NAMESPACE)


def _every_window(windows: Windows) -> list[tuple[Any, Any, bytes, bytes]]:
    found: list[tuple[Any, Any, bytes, bytes]] = []
    backend, from_bytes = windows.backend, windows.codec.from_bytes
    if not isinstance(windows, MergingWindows):
        return [(key, from_bytes(name), name, name) for key, name in backend.places(CONTENTS)]
    for key, _ in backend.places(MERGING):
        backend.set_key(key)
        found += [(key, from_bytes(name), name, held_in) for name, held_in in windows.load().items()]
    return found


def _drop(windows: Windows, window: Any, namespace: bytes, held_in: bytes, written: Layout) -> None:
    timers = windows.operator.context.timers
    assert timers is not None
    # Kept for late records longer than now: when that was to end, it had a timer.
    until = min(int(window.max_timestamp()) + int(written.get("lateness", 0)), MAX_WATERMARK)
    if until != MAX_WATERMARK:
        timers.delete(windows.domain, until, namespace)
    windows.drop(window, namespace, held_in)
