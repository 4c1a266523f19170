"""Who leads among dispatchers: each watches the row of the lease, and takes it when it has not changed for a while.

No time of day is compared, neither of two machines nor of one that may be set back: what counts is how long the row has
been the same, by the watcher's own clock that only goes forward. That two believe that they lead is possible, as
everywhere where a process can be paused, and does no harm: each has an epoch, and the registry takes the latest only.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable

from penstock.server.dispatcher.registry import Lead, Lease, Registry

LEASE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Watched:
    """How long each of some things has been as it is, by a clock that only goes forward."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[Hashable, tuple[object, float]] = {}

    def seconds_since_change(self, name: Hashable, value: object) -> float:
        """Since when a thing has had its value, as far as it was looked at; 0 when it is new or has changed."""
        known, since = self._seen.get(name, (None, 0.0))
        if name not in self._seen or known != value:
            self._seen[name] = value, self._clock()
            return 0.0
        return self._clock() - since

    def keep_only(self, names: set[Hashable]) -> None:
        """Forget the others."""
        for name in self._seen.keys() - names:
            del self._seen[name]


class Leadership:
    """Takes and renews the lease for one dispatcher; `step` is called every second or two."""

    def __init__(
        self,
        registry: Registry,
        holder: str,
        url: str,
        lease_seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._registry = registry
        self._holder = holder
        self._url = url
        self._lease_seconds = lease_seconds
        self._watched = Watched(clock)
        self._told = ""
        self.lead: Lead | None = None
        """What this one may act with; None as long as it does not lead."""

    def step(self) -> None:
        """Renew the lease, or take one that is free or was not renewed for too long; say why if it is not taken."""
        try:
            lead = self._renewed() or self._taken()
        except Exception as error:  # a database that is away for a moment: whoever reaches it leads
            self._tell_why_not(f"the registry cannot be reached: {error}")
            lead = None
        if lead is not None and lead != self.lead:
            self._told = ""
            _log.warning("this dispatcher leads, in epoch %d", lead.epoch)
        self.lead = lead

    def leave(self) -> None:
        """Lead no longer, so that somebody else can at once."""
        if self.lead is not None:
            self._registry.leave_lead(self.lead)
            self.lead = None

    def _renewed(self) -> Lead | None:
        is_good = self.lead is not None and self._registry.renew_lead(self.lead, self._lease_ms)
        return self.lead if is_good else None

    def _taken(self) -> Lead | None:
        seen = self._registry.lease()
        silent = 0.0 if seen is None else self._watched.seconds_since_change("lease", seen)
        if seen is None or seen.is_free or seen.holder == self._holder or silent >= self._lease_seconds:
            lead = self._registry.take_lead(self._holder, self._url, seen, self._lease_ms)
            if lead is None:
                self._tell_why_not("another one has just taken the lease")
            return lead
        self._tell_why_not(self._reason(seen, silent))
        return None

    def _reason(self, seen: Lease, silent: float) -> str:
        who = f"{seen.holder} at {seen.url} does, in epoch {seen.epoch}"
        if silent < self._lease_seconds / 2:
            return f"{who}; its lease is taken over when it is not renewed for {self._lease_seconds:g} s"
        return f"{who}, but has not renewed its lease; it is taken over within {self._lease_seconds / 2:g} s"

    @property
    def _lease_ms(self) -> int:
        return int(self._lease_seconds * 1000)

    def _tell_why_not(self, reason: str) -> None:
        """Once: the next step will mostly find the same."""
        if reason != self._told:
            self._told = reason
            _log.warning("this dispatcher does not lead%s: %s", "" if self.lead is None else " any more", reason)
