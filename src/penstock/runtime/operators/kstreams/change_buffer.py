"""The buffer of `suppress`: the last change of each key that waits, ordered by time and the bytes of the key."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from penstock.runtime.operators.kstreams.rows_by_time import RowsByTime
from penstock.runtime.operators.kstreams.stored_values import stored_key
from penstock.state.keyed import KeyedStateBackend
from penstock.vocabulary.kstreams.records import Headers, RecordMetadata
from penstock.vocabulary.kstreams.serdes import key_bytes
from penstock.vocabulary.kstreams.stores import StoreBuilder
from penstock.vocabulary.kstreams.windows import FOREVER
from penstock.vocabulary.state import MapStateDescriptor

_SPAN_MS = 60_000


class Waiting(NamedTuple):
    """A change that waits: the value before all that wait, old and new value, and what its record says."""

    prior: Any
    old: Any
    new: Any
    timestamp: int
    headers: Headers
    metadata: RecordMetadata | None
    size: int


class ChangeBuffer:
    """Changes that wait, one for each key; it keeps the place that its first change gave it."""

    def __init__(self, backend: KeyedStateBackend, builder: StoreBuilder, memory: dict[str, Any]) -> None:
        self._map = backend.get_map_state(MapStateDescriptor(builder.name))
        self._order = RowsByTime(
            backend, f"{builder.name}/order", _SPAN_MS, partial(key_bytes, serde=builder.key_serde)
        )
        self._memory = memory
        self._serdes = builder.key_serde, builder.value_serde

    @property
    def count(self) -> int:
        """How many keys wait."""
        return int(self._memory.get("count", 0))

    @property
    def size(self) -> int:
        """How many bytes wait, by an estimate."""
        return int(self._memory.get("size", 0))

    @property
    def first_time(self) -> int:
        """The earliest time of a key that waits."""
        return int(self._memory.get("first", FOREVER))

    def prior(self, key: Any) -> tuple[bool, Any]:
        """Whether a key waits, and the value that everybody downstream still knows."""
        found = self._waiting(key)
        return (False, None) if found is None else (True, found[1].prior)

    def _waiting(self, key: Any) -> tuple[int, Waiting] | None:
        found = self._map.get(stored_key(key))
        if found is None:
            return None
        waiting = Waiting(*found[1])
        metadata = None if waiting.metadata is None else RecordMetadata(*waiting.metadata)
        return found[0], waiting._replace(metadata=metadata)

    def put(self, time: int, key: Any, change: Waiting) -> None:
        """Let a change wait. A key that waits already keeps its place and its prior value."""
        held = self._waiting(key)
        size = self._size_of(key, change)
        prior = change.old if held is None else held[1].prior
        waiting = change._replace(prior=prior, size=size)
        if held is None:
            self._order.put(key, time, 0, True)
            self._memory["count"] = self.count + 1
            self._memory["first"] = min(self.first_time, time)
        kept = (*waiting[:5], None if waiting.metadata is None else tuple(waiting.metadata), waiting.size)
        self._map.put(stored_key(key), (time if held is None else held[0], kept))
        self._memory["size"] = self.size + size - (0 if held is None else held[1].size)

    def take_while(self, is_wanted: Callable[[], bool], emit: Callable[[Any, Waiting], None]) -> None:
        """Emit and forget keys in their order as long as the condition holds."""
        if not is_wanted() or not self.count:
            return
        for key, time, _, _ in self._order.all_rows(self.first_time, FOREVER // 2):
            self._memory["first"] = time
            if not is_wanted():
                return
            found = self._waiting(key)
            assert found is not None, "every key in the order waits"
            waiting = found[1]
            emit(key, waiting)
            self._map.remove(stored_key(key))
            self._order.remove(key, time, 0)
            self._memory["count"] = self.count - 1
            self._memory["size"] = self.size - waiting.size
        self._memory["first"] = FOREVER
        self._order.drop_before(FOREVER // 2)

    def _size_of(self, key: Any, change: Waiting) -> int:
        """About what Kafka counts: the bytes of key and values, where there are serdes to tell."""
        key_serde, value_serde = self._serdes
        if value_serde is None:
            return 8 + len(key_bytes(key, key_serde))
        values = (value_serde.serialize(value) for value in (change.prior, change.old, change.new))
        return 8 + len(key_bytes(key, key_serde)) + sum(len(value or b"") for value in values)
