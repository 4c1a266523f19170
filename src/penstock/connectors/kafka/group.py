"""Commits the positions of a job to a Kafka consumer group, for lag tools; the job itself never reads them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from penstock.connectors.kafka.client import KafkaAccess, topic_partitions
from penstock.connectors.kafka.library import client_library
from penstock.connectors.source import PositionListener

_log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 10.0
_POLL_SECONDS = 0.05


class GroupCommitter(PositionListener):
    """Commits final positions for a group, without waiting; that it fails costs a warning only.

    One commit is under way at a time: of two, the client may send the later one first (the other waits for its
    coordinator, or is tried again), and the group would be told the older positions last.
    """

    def __init__(self, access: KafkaAccess, who: str) -> None:
        self._access = access
        self._who = who
        self._consumer: Any = None
        self._wanted: dict[str, int] = {}
        self._under_way: dict[str, int] | None = None
        self._told: dict[str, int] = {}
        self._warned: str | None = None

    def on_final(self, positions: Mapping[str, int]) -> None:
        """Commit what has changed, now or when the commit under way is answered."""
        self._wanted.update(positions)
        if self._consumer is None:
            self._consumer = self._access.consumer(self._who, "committer", on_commit=self._on_commit)
        self._consumer.poll(0)
        self._send()

    def close(self) -> None:
        """Wait a little until the group knows the last positions."""
        consumer = self._consumer
        if consumer is None:
            return
        for _ in range(int(_PATIENCE_SECONDS / _POLL_SECONDS)):
            self._send()
            if self._under_way is None and not self._untold():
                break
            consumer.poll(_POLL_SECONDS)
        self._consumer = None
        consumer.close()

    def _untold(self) -> dict[str, int]:
        return {name: at for name, at in self._wanted.items() if self._told.get(name) != at}

    def _send(self) -> None:
        new = self._untold()
        if self._under_way is not None or not new:
            return
        offsets = topic_partitions(new)
        for each, at in zip(offsets, new.values(), strict=True):
            each.offset = at
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
            self._under_way = new
        except client_library().KafkaException as error:
            self._warn(error)

    def _on_commit(self, error: Any, partitions: list[Any]) -> None:
        sent, self._under_way = self._under_way, None
        failed = error or next((each.error for each in partitions if each.error is not None), None)
        if failed is not None:
            self._warn(failed)
            if not failed.retriable():
                self._wanted.clear()  # until the next batch names its positions again
        elif sent is not None:
            self._told.update(sent)

    def _warn(self, error: Any) -> None:
        """Each cause once: it comes with every batch."""
        if str(error) != self._warned:
            self._warned = str(error)
            _log.warning("%s cannot commit offsets for group %r: %s", self._who, self._access.group_id, error)
