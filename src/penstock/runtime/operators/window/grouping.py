"""Records of a block that go to the same key and window, handled together.

Nobody can tell the difference where a window only fires at its end and that is still ahead: no result depends on what
came before which other key's or window's records. Everything else is left to go one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.errors import KeyEncodingError
from penstock.runtime.operators.window.contents import Groups
from penstock.runtime.operators.window.rest import ALL, NOTHING, Rest
from penstock.runtime.operators.window.shapes import fires_once_at_the_end
from penstock.runtime.operators.window.windows import Windows
from penstock.runtime.rows import Timestamps
from penstock.state.hashable_keys import PLAIN_TYPES, hashable_of
from penstock.state.keyed import VOID_NAMESPACE
from penstock.vocabulary.window.pane_grid import PaneGrid


class HashableKeys:
    """The keys of a block in the form that can be looked up, and back."""

    __slots__ = ("_originals", "hashables")

    def __init__(self, keys: list[Any]) -> None:
        self.hashables: list[Any] = keys
        self._originals: dict[Hashable, Any] | None = None
        if not PLAIN_TYPES.issuperset(map(type, keys)):
            self.hashables = [key if type(key) in PLAIN_TYPES else hashable_of(key) for key in keys]
            # From behind, so that the first of several equal keys counts, as it does one by one.
            self._originals = dict(zip(reversed(self.hashables), reversed(keys), strict=True))

    def groups(self, groups: Groups) -> Iterator[tuple[Any, list[Any]]]:
        """Pairs of key and records."""
        if self._originals is None:
            return iter(groups.items())
        originals = self._originals
        return ((originals[hashable], group) for hashable, group in groups.items())


class _Target:
    """A window that is ahead, and the records of the block that go to it."""

    __slots__ = ("groups", "namespace", "window")

    def __init__(self, window: Any, namespace: bytes) -> None:
        self.window = window
        self.namespace = namespace
        self.groups: Groups = {}


class WindowGrouping:
    """Grouping for windows on a grid of time that do not merge."""

    def __init__(self, windows: Windows, grid: PaneGrid) -> None:
        self._windows = windows
        self._grid = grid
        self._assign = windows.spec.assigner.assign_windows
        self._is_single = windows.spec.assigner.assigns_one_window

    def take(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> Rest:
        """Add records to the windows that are ahead."""
        try:
            cells = self._cells(timestamps, len(values))
            known = HashableKeys(keys)
            targets: dict[bytes, _Target] = {}
            goals = {cell: self._targets(cell, targets) for cell in set(cells)}
        except (TypeError, ValueError, KeyEncodingError):  # no timestamp or usable key: one by one it is said of which
            return ALL
        passed = {cell for cell, goal in goals.items() if not goal}
        hashables = known.hashables
        rest = NOTHING
        if passed:
            rest = Rest(self._passed(cells, hashables, passed))
            left = set(rest.positions)
            taken = [index for index in range(len(values)) if index not in left]
            values, hashables, cells = ([each[index] for index in taken] for each in (values, hashables, cells))
        _deal_out(values, hashables, cells, {cell: [each.groups for each in goal] for cell, goal in goals.items()})
        self._fold(targets.values(), known)
        return rest

    def _cells(self, timestamps: Any, count: int) -> list[Any]:
        if not self._windows.is_event_time:
            return [None] * count  # the clock is read once for a block: no timer fires within one
        return self._grid.panes_of(timestamps)

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

    def _passed(self, cells: list[Any], hashables: list[Any], passed: set[Any]) -> list[int]:
        """Where windows overlap, records that wait and records that do not share one: their order must be kept."""
        if self._is_single:
            return [index for index, cell in enumerate(cells) if cell in passed]
        concerned = {hashable for hashable, cell in zip(hashables, cells, strict=True) if cell in passed}
        return [index for index, hashable in enumerate(hashables) if hashable in concerned]

    def _fold(self, targets: Any, known: HashableKeys) -> None:
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


def _deal_out(values: list[Any], hashables: list[Any], cells: list[Any], goals: dict[Any, list[Groups]]) -> None:
    last: Any = object()
    goal: list[Groups] = []
    for value, hashable, cell in zip(values, hashables, cells, strict=True):
        if cell != last:
            goal = goals[cell]
            last = cell
        for groups in goal:
            group = groups.get(hashable)
            if group is None:
                groups[hashable] = [value]
            else:
                group.append(value)


def grouping_for(windows: Windows) -> WindowGrouping | None:
    """The grouping of windows, if the difference cannot be told."""
    grid = windows.spec.assigner.pane_grid()
    return WindowGrouping(windows, grid) if grid is not None and fires_once_at_the_end(windows.spec) else None
