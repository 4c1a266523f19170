"""Start and stop offsets of Kafka partitions: the user's choice, and its resolution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.connectors.kafka.client import (
    KafkaAccess,
    KafkaSourceError,
    answered,
    partition_name,
    topic_partitions,
)
from penstock.connectors.kafka.library import client_library

Reset = Literal["earliest", "latest", "none"]


@dataclass(frozen=True)
class OffsetChoice:
    """How to find an offset for each partition; `reset` where there is none, or none that exists.

    `offsets` go by the names of partitions.
    """

    kind: Literal["earliest", "latest", "committed", "timestamp", "offsets"]
    reset: Reset = "earliest"
    timestamp: int = 0
    offsets: Mapping[str, int] = field(default_factory=dict)


EARLIEST = OffsetChoice("earliest")

_ASKED_SECONDS = 5.0


class OffsetBook:
    """Asks a cluster for offsets."""

    def __init__(self, access: KafkaAccess, who: str) -> None:
        self._access = access
        self._who = who
        self._admin: Any = None
        self._consumer: Any = None

    def earliest(self, names: Iterable[str]) -> dict[str, int]:
        """The first offset that is still there."""
        return self._listed(names, "earliest")

    def ends(self, names: Iterable[str]) -> dict[str, int]:
        """The offset behind the last record that may be read."""
        return self._listed(names, "latest")

    def log_ends(self, names: Iterable[str]) -> dict[str, int]:
        """The offset behind the last record, be its transaction open or not."""
        return self._listed(names, "latest", sees_open=True)

    def ends_now(self, names: Iterable[str]) -> dict[str, int | None]:
        """The same asked once, without patience: None where no answer came."""
        library = client_library()
        found: dict[str, int | None] = {}
        for name, future in self._asked(names, "latest", min(_ASKED_SECONDS, self._access.timeout)).items():
            try:
                found[name] = future.result().offset
            except library.KafkaException:
                found[name] = None
                self._admin = None
        return found

    def resolve(self, choice: OffsetChoice, names: list[str], *, may_come: bool = False) -> dict[str, int]:
        """The offset of each partition that a choice means now; one to stop at may be one that is still to come."""
        if not names:
            return {}
        if choice.kind == "earliest":
            return self.earliest(names)
        if choice.kind == "latest":
            return self.ends(names)
        if choice.kind == "timestamp":
            return self._at_time(choice.timestamp, names)
        given = choice.offsets if choice.kind == "offsets" else self._committed(names)
        missing = [name for name in names if name not in given] if may_come else names
        return {**given, **self._existing(given, choice, missing)}

    def close(self) -> None:
        """Let go of connections."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def consumer(self) -> Any:
        """The consumer that the group's offsets and topics are asked through."""
        if self._consumer is None:
            self._consumer = self._access.consumer(self._who, "enumerator")
        return self._consumer

    def _existing(self, given: Mapping[str, int], choice: OffsetChoice, names: list[str]) -> dict[str, int]:
        first, last = self.earliest(names), self.ends(names)
        found: dict[str, int] = {}
        for name in names:
            offset = given.get(name)
            if offset is None or not first[name] <= offset <= last[name]:
                if choice.reset == "none":
                    had = "no offset" if offset is None else f"offset {offset}, but has {first[name]}..{last[name]}"
                    kind = "the consumer group has" if choice.kind == "committed" else "the given offsets have"
                    raise KafkaSourceError(
                        f"{self._who} cannot start: {kind} {had} for partition {name}, and the reset strategy is NONE; "
                        "choose EARLIEST or LATEST, or offsets that exist"
                    )
                offset = first[name] if choice.reset == "earliest" else last[name]
            found[name] = offset
        return found

    def _committed(self, names: list[str]) -> dict[str, int]:
        partitions = answered(
            lambda left: _without_errors(self.consumer().committed(topic_partitions(names), timeout=left)),
            self._access,
            self._who,
            f"read the offsets of consumer group {self._access.group_id!r}",
            self.consumer,
        )
        return {partition_name(each.topic, each.partition): each.offset for each in partitions if each.offset >= 0}

    def _at_time(self, timestamp: int, names: list[str]) -> dict[str, int]:
        wanted = topic_partitions(names)
        for each in wanted:
            each.offset = timestamp
        answers = answered(
            lambda left: _without_errors(self.consumer().offsets_for_times(wanted, timeout=left)),
            self._access,
            self._who,
            "find offsets by timestamp",
            self.consumer,
        )
        found = {partition_name(each.topic, each.partition): each.offset for each in answers}
        later = self.ends([name for name, offset in found.items() if offset < 0])
        return {**found, **later}

    def _listed(self, names: Iterable[str], which: str, *, sees_open: bool = False) -> dict[str, int]:
        wanted = list(names)
        if not wanted:
            return {}

        def ask(left: float) -> dict[str, int]:
            try:
                asked = self._asked(wanted, which, left, sees_open=sees_open)
                return {name: future.result().offset for name, future in asked.items()}
            except client_library().KafkaException:
                self._admin = None
                raise

        return answered(ask, self._access, self._who, f"find the {which} offsets of its partitions", self.consumer)

    def _asked(self, names: Iterable[str], which: str, seconds: float, *, sees_open: bool = False) -> dict[str, Any]:
        if self._admin is None:  # or it did not work: the client goes on asking brokers that do not lead any more
            self._admin = self._access.admin(self._who, "offsets")
        library = client_library()
        specs, levels = library.admin.OffsetSpec, library.IsolationLevel
        spec = specs.earliest() if which == "earliest" else specs.latest()
        is_committed = self._access.is_read_committed and not sees_open
        level = levels.READ_COMMITTED if is_committed else levels.READ_UNCOMMITTED
        futures = self._admin.list_offsets(
            {each: spec for each in topic_partitions(names)}, isolation_level=level, request_timeout=seconds
        )
        return {partition_name(each.topic, each.partition): future for each, future in futures.items()}


def _without_errors(partitions: list[Any]) -> list[Any]:
    """Answers of the library, which has errors of single partitions among them: their offsets mean nothing."""
    for each in partitions:
        if each.error is not None:
            raise client_library().KafkaException(each.error)
    return partitions
