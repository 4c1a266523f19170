"""The events whose time has come, by key, without those that nobody has to look at.

An event that cannot begin a match, of a key that has none begun, changes nothing: such keys are not even looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from penstock.runtime.operators.cep.matcher import Matcher
from penstock.runtime.operators.cep.runs import KeyRuns
from penstock.runtime.operators.cep.waiting import Due, EventBlock, WaitingEvents
from penstock.state.keyed import KeyedStateBackend

Failure = Callable[[Exception, Any], Exception]


class DueEvents:
    """Gives what is due for each key that may have something to do."""

    def __init__(self, backend: KeyedStateBackend, waiting: WaitingEvents) -> None:
        self._backend = backend
        self._waiting = waiting

    def by_key(self, watermark: int) -> Iterator[tuple[Any, Due]]:
        """Remove and give, key by key, the events up to a watermark in order of time. The key is the current one.

        A key whose timer has fired is given even if no event of it is due.
        """
        stored = self._waiting.stored(watermark)
        for hashable, (key, due) in self._grouped(self._waiting.due(watermark), stored).items():
            if stored and hashable in stored:  # what is in the rows came before
                due = [*stored.pop(hashable)[1], *due]
            self._backend.set_key(key)
            yield key, self._waiting.sorted(due) if len(due) > 1 else due
        for key, before in stored.values():
            self._backend.set_key(key)
            yield key, self._waiting.sorted(before)

    def _grouped(self, block: EventBlock, stored: dict[Hashable, Any]) -> dict[Hashable, tuple[Any, Due]]:
        found: dict[Hashable, tuple[Any, Due]] = {}
        if not block.times:
            return found
        hashables = block.hashable_keys()
        begins = self.asked(block)
        if begins is None:
            for hashable, key, time, event in zip(hashables, *block, strict=True):
                found.setdefault(hashable, (key, []))[1].append((time, event, None))
            return found
        busy = self.busy(set(hashables))
        busy.update([hashable for hashable, one in zip(hashables, begins, strict=True) if one], stored)
        for hashable, key, time, event, one in zip(hashables, *block, begins, strict=True):
            if hashable in busy:
                group = found.get(hashable)
                if group is None:
                    found[hashable] = (key, [(time, event, one)])
                else:
                    group[1].append((time, event, one))
        return found

    def asked(self, block: EventBlock) -> list[bool] | None:
        """Return for each event whether it may begin a match; None: not known, so that all are looked at."""
        return None

    def busy(self, keys: set[Hashable]) -> set[Hashable]:
        """Those of some keys that have begun a match."""
        return keys


class DueEventsOfPattern(DueEvents):
    """The same for one pattern, whose first condition is asked for all events together."""

    def __init__(
        self, backend: KeyedStateBackend, waiting: WaitingEvents, runs: KeyRuns, matcher: Matcher, failure: Failure
    ) -> None:
        super().__init__(backend, waiting)
        self._matcher = matcher
        self._failure = failure
        self._runs = runs

    def busy(self, keys: set[Hashable]) -> set[Hashable]:
        """Those that have a run."""
        return self._runs.busy(keys)

    def asked(self, block: EventBlock) -> list[bool] | None:
        """Ask the first condition, if nothing begins without it."""
        consumed = iter(block.events)
        try:
            return self._matcher.may_begin(consumed)
        except Exception as error:
            place = len(block.events) - len(list(consumed)) - 1
            raise self._failure(error, block.keys[place]) from None
