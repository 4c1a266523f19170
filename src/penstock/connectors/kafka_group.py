"""Telling a Kafka consumer group how far a job is, so that lag tools see it; the job itself never reads that."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from penstock.connectors.kafka_client import KafkaAccess, topic_partitions
from penstock.connectors.kafka_library import client_library
from penstock.connectors.source import PositionListener

_log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 5.0


class GroupCommitter(PositionListener):
    """Commits final positions for a group, without waiting; that it fails costs a warning only."""

    def __init__(self, access: KafkaAccess, who: str) -> None:
        self._access = access
        self._who = who
        self._consumer: Any = None
        self._told: dict[str, int] = {}
        self._under_way = 0
        self._warned: str | None = None

    def on_final(self, positions: Mapping[str, int]) -> None:
        """Commit what has changed."""
        new = {name: at for name, at in positions.items() if self._told.get(name) != at}
        if self._consumer is None:
            self._consumer = self._access.consumer(self._who, "committer", on_commit=self._on_commit)
        if new:
            offsets = topic_partitions(new)
            for each, at in zip(offsets, new.values(), strict=True):
                each.offset = at
            try:
                self._consumer.commit(offsets=offsets, asynchronous=True)
                self._under_way += 1
                self._told.update(new)
            except client_library().KafkaException as error:
                self._warn(error)
        self._consumer.poll(0)

    def close(self) -> None:
        """Wait a little for commits under way."""
        consumer, self._consumer = self._consumer, None
        if consumer is None:
            return
        for _ in range(int(_PATIENCE_SECONDS / 0.05)):
            if self._under_way <= 0:
                break
            consumer.poll(0.05)
        consumer.close()

    def _on_commit(self, error: Any, partitions: list[Any]) -> None:
        self._under_way -= 1
        failed = error or next((each.error for each in partitions if each.error is not None), None)
        if failed is not None:
            self._told.clear()
            self._warn(failed)

    def _warn(self, error: Any) -> None:
        """Each cause once: it comes with every batch."""
        if str(error) != self._warned:
            self._warned = str(error)
            _log.warning("%s cannot commit offsets for group %r: %s", self._who, self._access.group_id, error)
