"""Reads Kafka partitions in a task, with one consumer per subtask, kept from batch to batch.

If the next range continues the last one, prefetched messages are used; otherwise the partition is assigned again.
"""

from __future__ import annotations

import bisect
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any

from penstock.connectors.kafka.client import KafkaAccess, KafkaSourceError, is_passing, topic_and_number
from penstock.connectors.kafka.decoding import Decoder
from penstock.connectors.kafka.enumerator import lost
from penstock.connectors.kafka.library import client_library
from penstock.connectors.source import PartitionItem, PartitionRange, PartitionReader

_log = logging.getLogger(__name__)

_FETCH = 1_000
_PIECE_RECORDS = 2_000
_PIECE_BYTES = 4_000_000
_WAITING_BYTES = 64_000_000
_POLL_SECONDS = 0.05


class PartitionFeed:
    """What has been fetched of a partition and not given yet: messages from `at` on, without holes to `reached`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.topic, self.number = topic_and_number(name)
        self.at = -1
        self.reached = -1
        self.is_assigned = False
        self.messages: list[Any] = []
        self.bytes = 0

    def take(self, stop: int) -> list[Any] | None:
        """The next piece before `stop`; None if more must be fetched first.

        The same range is always cut into the same pieces, however it was fetched.
        """
        count = self._before(stop)
        is_complete = self.reached >= stop
        if not is_complete and count < _PIECE_RECORDS and self.bytes < _PIECE_BYTES:
            return None
        piece = self.messages[: min(count, _PIECE_RECORDS)]
        sizes = list(accumulate(map(len, piece)))
        if sizes and sizes[-1] > _PIECE_BYTES:
            del piece[bisect.bisect_left(sizes, _PIECE_BYTES) + 1 :]
        elif not is_complete and len(piece) < _PIECE_RECORDS:
            return None
        del self.messages[: len(piece)]
        self.bytes -= sizes[len(piece) - 1] if piece else 0
        self.at = stop if is_complete and len(piece) == count else piece[-1].offset() + 1
        return piece

    def _before(self, stop: int) -> int:
        messages = self.messages
        if not messages or messages[-1].offset() < stop:
            return len(messages)
        return bisect.bisect_left(messages, stop, key=lambda message: message.offset())

    def add(self, messages: list[Any]) -> None:
        """Messages that follow what was reached have arrived."""
        self.messages += messages
        self.bytes += sum(map(len, messages))
        self.reached = max(self.reached, messages[-1].offset() + 1)

    def restart(self, at: int) -> None:
        """Forget everything and begin at an offset."""
        self.at = self.reached = at
        self.messages = []
        self.bytes = 0


def _place_of(message: Any) -> tuple[str, int]:
    return message.topic(), message.partition()


class KafkaReader(PartitionReader):
    """Reads ranges of partitions in turns, piece by piece."""

    def __init__(self, access: KafkaAccess, decoder: Decoder, who: str, subtask: int) -> None:
        self._access = access
        self._decoder = decoder
        self._who = who
        self._consumer = access.consumer(who, str(subtask))
        self._feeds: dict[str, PartitionFeed] = {}
        self._by_place: dict[tuple[str, int], PartitionFeed] = {}
        self._run_key: Callable[[Any], Any] = _place_of

    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        """Give a piece of each partition in turn until all are at their stops."""
        going = [(self._ready(each), each.stop) for each in ranges]
        self._assign([feed for feed, _ in going])
        while going:
            for feed, stop in going:
                for item in self._decoder.decode(self._piece(feed, stop)):
                    yield feed.name, item
            going = [(feed, stop) for feed, stop in going if feed.at < stop]

    def arrived(self, positions: Mapping[str, int]) -> dict[str, int]:
        """Return how far each partition has been fetched: no broker is asked, and nothing is waited for."""
        feeds = [self._ready(PartitionRange(name, at, at)) for name, at in positions.items()]
        self._assign(feeds)
        if sum(len(feed.messages) for feed in feeds) < _PIECE_RECORDS:
            self._take(self._consumer.consume(_FETCH, 0), feeds)
            self._raise_refusal()
        return {feed.name: feed.reached for feed in feeds}

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _ready(self, each: PartitionRange) -> PartitionFeed:
        feed = self._feeds.get(each.name)
        if feed is None:
            feed = self._feeds[each.name] = PartitionFeed(each.name)
            self._by_place[feed.topic, feed.number] = feed
            is_one_topic = len({topic for topic, _ in self._by_place}) == 1
            self._run_key = client_library().Message.partition if is_one_topic else _place_of
        if feed.at != each.start:
            self._unassign(feed)
            feed.restart(each.start)
        return feed

    def _piece(self, feed: PartitionFeed, stop: int) -> list[Any]:
        last_news = time.monotonic()
        while True:
            piece = feed.take(stop)
            if piece is not None:
                return piece
            self._assign([feed])
            before = feed.reached
            self._take(self._waited_for(), [feed])
            if feed.reached > before:
                last_news = time.monotonic()
                continue
            self._raise_refusal()
            if time.monotonic() - last_news > self._access.timeout:
                raise KafkaSourceError(
                    f"partition {feed.name} was to be read up to offset {stop}, but nothing came after {feed.reached} "
                    f"for {self._access.timeout:g} s: the brokers at {self._access.servers} are down, or the topic was "
                    "deleted or has lost records"
                )

    def _raise_refusal(self) -> None:
        refusal = self._access.errors.refused(self._who, "read", self._access.servers)
        if refusal is not None:
            raise KafkaSourceError(refusal)

    def _take(self, messages: list[Any], wanted: list[PartitionFeed]) -> None:
        """Keep messages of any partition; where too much waits, partitions that are not wanted are fetched later."""
        events = [message for message in messages if message.error() is not None]
        if events:
            messages = [message for message in messages if message.error() is None]
        for _, run in groupby(messages, self._run_key):
            self._keep(list(run))
        # Behind the messages: the end of a partition is told after its last one.
        for event in events:
            self._on_error(event)
        others = [feed for feed in self._feeds.values() if feed not in wanted]
        if sum(feed.bytes for feed in others) > _WAITING_BYTES:
            for feed in others:
                self._unassign(feed)

    def _waited_for(self) -> list[Any]:
        """Return what is there; if that is nothing, wait for the first message, and never for a full batch."""
        messages: list[Any] = self._consumer.consume(_FETCH, 0)
        if not messages:
            messages = self._consumer.consume(1, _POLL_SECONDS)
            messages += self._consumer.consume(_FETCH, 0) if messages else []
        return messages

    def _keep(self, run: list[Any]) -> None:
        feed = self._by_place.get(_place_of(run[0]))
        if feed is not None and feed.is_assigned:
            feed.add(run)

    def _assign(self, feeds: list[PartitionFeed]) -> None:
        new = [feed for feed in feeds if not feed.is_assigned]
        if new:
            place = client_library().TopicPartition
            self._consumer.incremental_assign([place(feed.topic, feed.number, feed.reached) for feed in new])
            for feed in new:
                feed.is_assigned = True

    def _unassign(self, feed: PartitionFeed) -> None:
        if feed.is_assigned:
            self._consumer.incremental_unassign([client_library().TopicPartition(feed.topic, feed.number)])
            feed.is_assigned = False

    def _on_error(self, message: Any) -> None:
        error, codes = message.error(), client_library().KafkaError
        feed = self._by_place.get((message.topic(), message.partition()))
        if error.code() == codes._PARTITION_EOF:
            # The end is told also where only transaction marks, or records that were compacted away, come before it.
            if feed is not None and feed.is_assigned:
                feed.reached = max(feed.reached, message.offset())
        elif error.code() == codes._AUTO_OFFSET_RESET and feed is not None:
            self._go_on_behind_lost(feed)
        elif not is_passing(error):
            raise KafkaSourceError(f"partition {message.topic()}-{message.partition()}: {error.str()}")

    def _go_on_behind_lost(self, feed: PartitionFeed) -> None:
        place = client_library().TopicPartition(feed.topic, feed.number)
        first, last = self._consumer.get_watermark_offsets(place, timeout=self._access.timeout)
        if first <= feed.reached:
            raise KafkaSourceError(
                f"{self._who}: offset {feed.reached} of partition {feed.name} is to be read, but it has {first}..{last}"
            )
        if not self._access.skips_lost:
            raise lost(self._who, feed.name, feed.reached, first)
        _log.warning("%s; going on", lost(self._who, feed.name, feed.reached, first))
        self._unassign(feed)
        feed.reached = first
        self._assign([feed])
