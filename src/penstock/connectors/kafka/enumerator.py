"""Finds the Kafka partitions of a source, and their first and last offsets."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from penstock.connectors.kafka.client import (
    DISCOVERY_INTERVAL,
    KafkaAccess,
    KafkaSourceError,
    answered,
    partition_name,
)
from penstock.connectors.kafka.offsets import EARLIEST, OffsetBook, OffsetChoice
from penstock.connectors.source import FoundPartition, PartitionEnumerator

_log = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.02
"""How long to wait before asking again where nothing was new: somebody asks all the time."""

_SHORT_PAUSE_SECONDS = 0.003

_RECOVERY_SECONDS = 0.2

# Kafka's own; Java's client does not show them to a pattern either.
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


@dataclass(frozen=True)
class Subscription:
    """What is read: topics, all topics whose whole name matches a pattern, or single partitions by name."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[str, ...] = ()

    def partitions_of(self, book: OffsetBook, access: KafkaAccess, who: str) -> tuple[list[str], list[str]]:
        """The partitions that are there now, and what of the subscription is not."""
        metadata = answered(
            lambda left: book.consumer().list_topics(timeout=left), access, who, "find its topics", book.consumer
        )
        there = {
            topic: [partition_name(topic, number) for number in sorted(found.partitions)]
            for topic, found in metadata.topics.items()
            if found.error is None and found.partitions
        }
        if self.pattern is not None:
            matching = [topic for topic in {*there} - _INTERNAL if re.fullmatch(self.pattern, topic)]
            return sorted(name for topic in matching for name in there[topic]), []
        if self.partitions:
            known = {name for each in there.values() for name in each}
            return [name for name in self.partitions if name in known], sorted({*self.partitions} - known)
        missing = [topic for topic in self.topics if topic not in there]
        return [name for topic in self.topics for name in there.get(topic, ())], missing


class KafkaEnumerator(PartitionEnumerator):
    """Finds the partitions of a subscription and how far they can be read."""

    def __init__(
        self,
        access: KafkaAccess,
        subscription: Subscription,
        starting: OffsetChoice,
        stopping: OffsetChoice | None,
        who: str,
    ) -> None:
        self._access = access
        self._subscription = subscription
        self._starting = starting
        self._stopping = stopping
        self._who = who
        self._book = OffsetBook(access, who)
        self._looked_ms: int | None = None
        self._ends: dict[str, int] = {}
        self._silent: dict[str, float] = {}
        self._asked = 0.0
        self._pause = _PAUSE_SECONDS
        self._is_checked = False

    def check(self) -> list[str]:
        """The partitions that are there; refuses a subscription of which something is not."""
        names, missing = self._subscription.partitions_of(self._book, self._access, self._who)
        if missing:
            raise KafkaSourceError(
                f"{self._who} cannot start: Kafka at {self._access.servers} has no {', '.join(map(repr, missing))}; "
                "create the topic first, or subscribe by a pattern, which may match later"
            )
        return names

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        """Look for partitions at the start and then at the interval; later ones begin at their first record."""
        if known is not None and self._looked_ms is not None:
            interval = self._access.number(DISCOVERY_INTERVAL)
            # A clock that was set back must not keep new partitions out for as long as that.
            if interval <= 0 or abs(now_ms - self._looked_ms) < interval:
                return {}
        self._looked_ms = now_ms
        if known is None:
            return self._begun(self._starting, self.check())
        try:
            names, _ = self._subscription.partitions_of(self._book, self._access, self._who)
            return self._begun(EARLIEST, [name for name in names if name not in known])
        except KafkaSourceError as error:  # what is known can be read on; there is another time to look
            _log.warning("%s found no new partitions: %s", self._who, error)
            return {}

    def _begun(self, choice: OffsetChoice, new: list[str]) -> dict[str, FoundPartition]:
        if new:
            _log.info("%s found partitions: %s", self._who, ", ".join(new))
        starts = self._book.resolve(choice, new)
        stops = self.stops(new)
        return {name: FoundPartition(starts[name], stops.get(name)) for name in new}

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        """Ask for the ends of all partitions at once; one that gives no answer is taken to have nothing new."""
        if not self._is_checked:
            self._check_positions(positions)
            self._is_checked = True
        elif all(self._ends.get(name, at) <= at for name, at in positions.items()):
            pause = _RECOVERY_SECONDS if self._silent else self._pause
            time.sleep(max(0.0, self._asked + pause - time.monotonic()))
        self._asked = time.monotonic()
        for name, end in self._book.ends_now(positions).items():
            if end is not None:
                self._ends[name] = end
                self._silent.pop(name, None)
            elif self._asked - self._silent.setdefault(name, self._asked) >= self._access.timeout:
                raise KafkaSourceError(
                    f"{self._who}: Kafka at {self._access.servers} has not reported partition {name} for "
                    f"{self._access.timeout:g} s; it was deleted, or its brokers are down"
                )
        found = {name: self._ends.get(name, at) for name, at in positions.items()}
        self._check_ends(positions, found)
        return found

    def stops(self, names: Collection[str]) -> dict[str, int]:
        """Where partitions that are read already are to stop, by what is there now."""
        return {} if self._stopping is None else self._book.resolve(self._stopping, list(names), may_come=True)

    def _check_positions(self, positions: Mapping[str, int]) -> None:
        """At a start from a checkpoint: refuse to go on where records are gone that were not read yet."""
        first, last = self._book.earliest(positions), self._book.ends(positions)
        for name, at in positions.items():
            if at < first[name] and not self._access.skips_lost:
                raise lost(self._who, name, at, first[name])
        self._check_ends(positions, last)

    def _check_ends(self, positions: Mapping[str, int], ends: Mapping[str, int]) -> None:
        """Refuse to wait for the offset that was reached in a partition which is not the one that was read."""
        behind = [name for name, at in positions.items() if at > ends[name]]
        # To a reader of committed records, a partition that was begun by a time may end before it, for a while.
        last = self._book.log_ends(behind) if self._access.is_read_committed else ends
        for name in behind:
            if positions[name] > last[name]:
                raise _shrunk(self._who, name, positions[name], last[name])

    def hurry(self) -> None:
        """Ask more often."""
        self._pause = _SHORT_PAUSE_SECONDS

    def close(self) -> None:
        """Let go of connections."""
        self._book.close()


def _shrunk(who: str, name: str, at: int, last: int) -> KafkaSourceError:
    return KafkaSourceError(
        f"{who} had read partition {name} up to offset {at}, but it ends at {last}: the topic was deleted and created "
        "again, or lost records; start without the old checkpoint to read it from the start"
    )


def lost(who: str, name: str, at: int, first: int) -> KafkaSourceError:
    """Return the error for records that Kafka deleted before they were read."""
    return KafkaSourceError(
        f"{who}: the records {at}..{first - 1} of partition {name} are gone: Kafka deleted them before they were read; "
        "set the property 'auto.offset.reset' to 'earliest' to continue with the oldest remaining ones"
    )
