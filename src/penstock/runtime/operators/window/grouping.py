"""Records of a block that go to the same key and window, handled together; owns no rule of windows.

Nobody can tell the difference where a window only fires at its end and that is still ahead: no result depends on what
came before which other key's or window's records. Everything else is left to go one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.errors import KeyEncodingError
from penstock.runtime.operators.window.contents import Groups
from penstock.runtime.operators.window.shapes import Grid, fires_once_at_the_end, gives_one_window, grid_of
from penstock.runtime.operators.window.windows import Windows
from penstock.runtime.rows import Timestamps
from penstock.state.keyed import VOID_NAMESPACE
from penstock.state.slots import PLAIN_TYPES, slot_of


class KeySlots:
    """The keys of a block as hashable slots, and back."""

    __slots__ = ("_originals", "slots")

    def __init__(self, keys: list[Any]) -> None:
        self.slots: list[Any] = keys
        self._originals: dict[Hashable, Any] | None = None
        if not PLAIN_TYPES.issuperset(map(type, keys)):
            self.slots = [key if type(key) in PLAIN_TYPES else slot_of(key) for key in keys]
            # From behind, so that the first of several equal keys counts, as it does one by one.
            self._originals = dict(zip(reversed(self.slots), reversed(keys), strict=True))

    def groups(self, groups: Groups) -> Iterator[tuple[Any, list[Any]]]:
        """Pairs of key and records."""
        if self._originals is None:
            return iter(groups.items())
        originals = self._originals
        return ((originals[slot], group) for slot, group in groups.items())


class _Target:
    """A window that is ahead, and the records of the block that go to it."""

    __slots__ = ("groups", "namespace", "window")

    def __init__(self, window: Any, namespace: bytes) -> None:
        self.window = window
        self.namespace = namespace
        self.groups: Groups = {}


class WindowGrouping:
    """Grouping for windows on a grid of time that do not merge."""

    def __init__(self, windows: Windows, grid: Grid) -> None:
        self._windows = windows
        self._grid = grid
        self._assign = windows.spec.assigner.assign_windows
        self._is_single = gives_one_window(windows.spec.assigner)

    def take(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> list[int] | None:
        """Add records to the windows that are ahead."""
        try:
            cells = self._cells(timestamps, len(values))
            known = KeySlots(keys)
            targets: dict[bytes, _Target] = {}
            goals = {cell: self._targets(cell, targets) for cell in set(cells)}
        except (TypeError, ValueError, KeyEncodingError):  # no timestamp or usable key: one by one it is said of which
            return None
        passed = {cell for cell, goal in goals.items() if not goal}
        slots = known.slots
        rest: list[int] = []
        if passed:
            rest = self._passed(cells, slots, passed)
            left = set(rest)
            taken = [index for index in range(len(values)) if index not in left]
            values, slots, cells = ([each[index] for index in taken] for each in (values, slots, cells))
        _deal_out(values, slots, cells, {cell: [each.groups for each in goal] for cell, goal in goals.items()})
        self._fold(targets.values(), known)
        return rest

    def _cells(self, timestamps: Any, count: int) -> list[Any]:
        if not self._windows.is_event_time:
            return [None] * count  # the clock is read once for a block: no timer fires within one
        width, offset = self._grid
        return [timestamp - (timestamp - offset) % width for timestamp in timestamps]

    def _targets(self, cell: int | None, targets: dict[bytes, _Target]) -> list[_Target]:
        """The windows of a cell; none if one of them has passed, or if there are none."""
        windows = self._windows
        found = []
        for window in self._assign(None, cell, windows.assigner_context):
            if windows.is_event_time and window.max_timestamp() <= windows.operator.watermark:
                return []
            namespace = windows.codec.to_bytes(window)
            found.append(targets.setdefault(namespace, _Target(window, namespace)))
        return found

    def _passed(self, cells: list[Any], slots: list[Any], passed: set[Any]) -> list[int]:
        """Where windows overlap, records that wait and records that do not share one: their order must be kept."""
        if self._is_single:
            return [index for index, cell in enumerate(cells) if cell in passed]
        concerned = {slot for slot, cell in zip(slots, cells, strict=True) if cell in passed}
        return [index for index, slot in enumerate(slots) if slot in concerned]

    def _fold(self, targets: Any, known: KeySlots) -> None:
        windows = self._windows
        backend, fold, timers = windows.backend, windows.contents.fold, windows.operator.context.timers
        assert timers is not None
        set_key, register, domain = backend.set_key, timers.register, windows.domain
        for target in targets:
            namespace, last = target.namespace, target.window.max_timestamp()
            cleanup = windows.cleanup_time(target.window)
            has_cleanup = last < cleanup < MAX_WATERMARK
            backend.set_namespace(namespace)
            for key, records in known.groups(target.groups):
                set_key(key)
                consumed = iter(records)
                try:
                    is_new = fold(consumed)
                except Exception as error:
                    raise windows.operator.record_failure(error, records, consumed) from None
                if is_new:
                    register(domain, last, namespace)
                    if has_cleanup:
                        register(domain, cleanup, namespace)
        backend.set_namespace(VOID_NAMESPACE)


def _deal_out(values: list[Any], slots: list[Any], cells: list[Any], goals: dict[Any, list[Groups]]) -> None:
    last: Any = object()
    goal: list[Groups] = []
    for value, slot, cell in zip(values, slots, cells, strict=True):
        if cell != last:
            goal = goals[cell]
            last = cell
        for groups in goal:
            group = groups.get(slot)
            if group is None:
                groups[slot] = [value]
            else:
                group.append(value)


def grouping_for(windows: Windows) -> WindowGrouping | None:
    """The grouping of windows, if the difference cannot be told."""
    grid = grid_of(windows.spec.assigner)
    return WindowGrouping(windows, grid) if grid is not None and fires_once_at_the_end(windows.spec) else None
