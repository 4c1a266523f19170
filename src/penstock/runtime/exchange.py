"""Senders of exchange rows: each edge out of a vertex decides here which subtask gets which record.

The rows are passed to `emit`; the engine sends them.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import compress
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.common.column_block import ColumnSelector
from penstock.errors import KeyEncodingError
from penstock.graph.nodes import Exchange
from penstock.graph.plan import OutEdge
from penstock.keys.codec import encode_key, encode_keys
from penstock.keys.group_columns import column_key_groups
from penstock.keys.groups import key_group, key_groups, subtask_of
from penstock.runtime import rows
from penstock.runtime.columns import ColumnBlock, KeyFields, Stamps, encode_columns, key_array, key_objects, pieces_of
from penstock.runtime.failure import current_record, describe_failure
from penstock.runtime.field_columns import Keys, keys_of, objects_of, packed
from penstock.runtime.field_columns import encoded as numbered
from penstock.runtime.key_selection import select_keys
from penstock.runtime.pending_columns import PendingColumns
from penstock.runtime.rows import AnyTimestamps, ExchangeRow, Timestamps, Values

BLOCK_RECORDS = 8_192
BLOCK_BYTES = 4 * 1024 * 1024
ROUTE_CACHE_LIMIT = 200_000


class RowEmitter:
    """Numbers the rows of one subtask and hands them on."""

    def __init__(self, vertex: int, subtask: int, emit: Callable[[ExchangeRow], None]) -> None:
        self._vertex = vertex
        self._subtask = subtask
        self._emit = emit
        self._seq = 0

    def begin_batch(self, first_seq: int) -> None:
        """Start numbering again; order matters only inside a batch."""
        self._seq = first_seq

    def send(self, edge: OutEdge, target: int, kind: int, payload: bytes) -> None:
        """Send one row on an edge."""
        src = rows.channel(self._vertex, edge.number, self._subtask)
        self._emit(ExchangeRow(target, edge.target, edge.target_input, src, self._seq, kind, payload))
        self._seq += 1


class ExchangeWriter(ABC):
    """Collects records of one edge into a pending block per target subtask, of objects or of columns."""

    key_fields: KeyFields | None = None

    def __init__(self, edge: OutEdge, subtask: int, parallelism: int, emitter: RowEmitter, where: str) -> None:
        self._edge = edge
        self._subtask = subtask
        self._targets = edge.target_parallelism
        self._emitter = emitter
        self._where = where
        self.sender_uid = where
        self._is_pointwise = edge.is_pointwise(parallelism)
        self._values: list[list[Any]] = [[] for _ in range(self._targets)]
        self._timestamps: list[list[int | None]] = [[] for _ in range(self._targets)]
        self._keys: list[list[Any]] | None = None
        self._columns = [PendingColumns() for _ in range(self._targets)]

    def begin_batch(self, version: int) -> None:
        """Forget anything that depended on earlier batches, so that a replay decides alike."""
        for target in range(self._targets):
            self._drop(target)

    @abstractmethod
    def write(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Route a block: a list of records, or columns."""

    def flush(self) -> None:
        """Send every pending block."""
        for target in range(self._targets):
            self._send_pending(target)

    def control(self, kind: int, payload: bytes) -> None:
        """Send a watermark, status or end row behind everything written so far."""
        self.flush()
        if self._edge.to_driver:
            return
        targets = (self._subtask,) if self._is_pointwise else range(self._targets)
        for target in targets:
            self._emitter.send(self._edge, target, kind, payload)

    def _send_pending(self, target: int) -> None:
        if self._values[target]:
            self._send_block(target)
        elif self._columns[target]:
            self._send_columns(target, *self._columns[target].take())

    def _add(self, target: int, values: Values, timestamps: AnyTimestamps, keys: list[Any] | None = None) -> None:
        if isinstance(values, ColumnBlock):
            self._add_columns(target, values, cast("Stamps | None", timestamps))
            return
        if self._columns[target]:  # what is pending is of one kind, so that order is kept
            self._send_pending(target)
        self._add_objects(target, values, cast(Timestamps, timestamps), keys)

    def _add_columns(self, target: int, block: ColumnBlock, timestamps: Stamps | None) -> None:
        pending = self._columns[target]
        if self._values[target] or not pending.takes(block, timestamps):
            self._send_pending(target)
        pending.add(block, timestamps)
        if len(pending) >= BLOCK_RECORDS or pending.size >= BLOCK_BYTES:
            self._send_pending(target)

    def _add_objects(self, target: int, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        pending = self._values[target]
        pending.extend(values)
        self._timestamps[target].extend(timestamps if timestamps is not None else [None] * len(values))
        if self._keys is not None and keys is not None:
            self._keys[target].extend(keys)
        if len(pending) >= BLOCK_RECORDS:
            self._send_block(target)

    def _send_block(self, target: int) -> None:
        stamps: Timestamps = self._timestamps[target]
        if stamps is not None and stamps[0] is None and not any(stamp is not None for stamp in stamps):
            stamps = None
        keys = None if self._keys is None else self._keys[target]
        values = self._values[target]
        self._drop(target)
        self._send(target, values, stamps, keys)

    def _send(self, target: int, values: list[Any], stamps: Timestamps, keys: list[Any] | None) -> None:
        """Send a block, in pieces where its records turn out to be large."""
        payload = self._encoded(values, stamps, keys)
        if len(payload) <= BLOCK_BYTES or len(values) == 1:
            self._emitter.send(self._edge, target, rows.DATA, payload)
            return
        half = len(values) // 2
        for part in (slice(None, half), slice(half, None)):
            self._send(
                target,
                values[part],
                None if stamps is None else stamps[part],
                None if keys is None else keys[part],
            )

    def _send_columns(self, target: int, block: ColumnBlock, stamps: Stamps | None) -> None:
        payload = encode_columns(block, stamps, self.key_fields)
        if len(payload) <= BLOCK_BYTES or len(block) == 1:
            self._emitter.send(self._edge, target, rows.DATA, payload)
            return
        half = len(block) // 2
        for start, stop in ((0, half), (half, len(block))):
            self._send_columns(target, block.slice(start, stop), None if stamps is None else stamps[start:stop])

    def _encoded(self, values: list[Any], stamps: Timestamps, keys: list[Any] | None) -> bytes:
        try:
            return rows.encode_block(values, stamps, keys)
        except Exception as error:
            record = next((value for value in values if not rows.can_travel(value)), None)
            raise self._failure(error, "sending a record, which must be picklable", record) from None

    def _drop(self, target: int) -> None:
        self._values[target] = []
        self._timestamps[target] = []
        self._columns[target].drop()
        if self._keys is not None:
            self._keys[target] = []

    def _selected(self, selector: Callable[[Any], Any], values: list[Any]) -> list[Any]:
        return select_keys(selector, values, self._failure)

    def _failure(self, error: Exception, during: str, record: Any) -> Exception:
        return describe_failure(
            error, operator_name=self._where, uid=self.sender_uid, subtask=self._subtask, during=during, record=record
        )

    def _scatter(
        self, targets: list[int], values: Values, timestamps: AnyTimestamps, keys: list[Any] | None = None
    ) -> None:
        """Give each record to its target. A pass per target in C beats a Python step per record."""
        if isinstance(values, ColumnBlock):
            self._scatter_columns(np.array(targets), values, cast("Stamps | None", timestamps))
            return
        for target in set(targets):
            chosen = [other == target for other in targets]
            self._add(
                target,
                list(compress(values, chosen)),
                None if timestamps is None else list(compress(timestamps, chosen)),
                None if keys is None else list(compress(keys, chosen)),
            )

    def _scatter_columns(self, targets: npt.NDArray[Any], block: ColumnBlock, timestamps: Stamps | None) -> None:
        for target, piece, stamps in pieces_of(block, timestamps, targets):
            self._add_columns(target, piece, stamps)


class ForwardWriter(ExchangeWriter):
    """Subtask i sends to subtask i (modulo, where a source has more splits than the target subtasks)."""

    def write(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Send everything to one subtask."""
        self._add(self._subtask % self._targets, values, timestamps)


class GlobalWriter(ExchangeWriter):
    """Everything goes to subtask 0."""

    def write(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Send everything to the first subtask."""
        self._add(0, values, timestamps)


class BroadcastWriter(ExchangeWriter):
    """Every subtask gets every record."""

    def write(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Send a copy to each subtask."""
        for target in range(self._targets):
            self._add(target, values, timestamps)


class RoundRobinWriter(ExchangeWriter):
    """Rebalance (all targets) and rescale (the targets near this subtask), one record after the other."""

    def __init__(self, edge: OutEdge, subtask: int, parallelism: int, emitter: RowEmitter, where: str) -> None:
        super().__init__(edge, subtask, parallelism, emitter, where)
        self._group = self._targets_of(subtask, parallelism)
        self._next = 0

    def begin_batch(self, version: int) -> None:
        """Start at a place that moves with the version, so that small batches do not all go to one subtask."""
        super().begin_batch(version)
        self._next = (version + self._subtask) % len(self._group)

    def write(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Deal the records out."""
        count = len(self._group)
        for offset in range(min(count, len(values))):
            target = self._group[(self._next + offset) % count]
            self._add(target, _every(values, offset, count), None if timestamps is None else timestamps[offset::count])
        self._next = (self._next + len(values)) % count

    def _targets_of(self, subtask: int, parallelism: int) -> list[int]:
        if self._edge.partitioning.exchange is not Exchange.RESCALE:
            return list(range(self._targets))
        if self._targets <= parallelism:
            return [min(subtask * self._targets // parallelism, self._targets - 1)]
        place = subtask % parallelism  # Spark may read a frame in more tasks than the source's parallelism
        first = place * self._targets // parallelism
        last = (place + 1) * self._targets // parallelism
        return list(range(first, last))


class ShuffleWriter(ExchangeWriter):
    """A random subtask for each record; seeded by version and subtask, so that a replay decides alike."""

    _random = random.Random(0)

    def begin_batch(self, version: int) -> None:
        """Seed for this batch."""
        super().begin_batch(version)
        self._random = random.Random((version << 20) ^ self._subtask)

    def write(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Spread the records."""
        self._scatter(self._random.choices(range(self._targets), k=len(values)), values, timestamps)


class CustomWriter(ExchangeWriter):
    """The user's partitioner decides, from the key and the number of subtasks."""

    def write(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Ask the partitioner for each record."""
        partitioning = self._edge.partitioning
        assert partitioning.key_selector is not None and partitioning.partitioner is not None
        records = values.values() if isinstance(values, ColumnBlock) else values
        keys = self._selected(partitioning.key_selector, records)
        consumed = iter(records)
        try:
            targets = [
                self._checked(partitioning.partitioner(key, self._targets))
                for key, _ in zip(keys, consumed, strict=True)
            ]
        except Exception as error:
            raise self._failure(error, "partitioning", current_record(records, consumed)) from None
        self._scatter(targets, values, timestamps)

    def _checked(self, target: Any) -> int:
        if not isinstance(target, int) or not 0 <= target < self._targets:
            raise ValueError(f"the partitioner returned {target!r}; it must return a number in 0..{self._targets - 1}")
        return target


def _every(values: Values, first: int, step: int) -> Values:
    return values.take(np.arange(first, len(values), step)) if isinstance(values, ColumnBlock) else values[first::step]


class _Routes(dict[Any, int]):
    """Key -> target subtask, filled on demand. Sound because equal keys have equal bytes."""

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        target = self.of_bytes(encode_key(key))
        if len(self) >= ROUTE_CACHE_LIMIT:
            self.clear()
        self[key] = target
        return target

    def of_all(self, keys: list[Any]) -> list[int]:
        """The targets of many keys; those met for the first time are dealt with together."""
        found = list(map(self.get, keys))
        if None not in found:
            return found  # type: ignore[return-value]
        new = [key for key in set(keys) if key not in self]
        if len(self) + len(new) > ROUTE_CACHE_LIMIT:
            self.clear()
            new = list(set(keys))
        groups = key_groups(encode_keys(new), self._max_parallelism)
        self.update(
            zip(new, [subtask_of(group, self._parallelism, self._max_parallelism) for group in groups], strict=True)
        )
        return list(map(self.__getitem__, keys))

    def of_bytes(self, key_bytes: bytes) -> int:
        group = key_group(key_bytes, self._max_parallelism)
        return subtask_of(group, self._parallelism, self._max_parallelism)


class KeyedWriter(ExchangeWriter):
    """Records of one key group meet in one subtask; keys travel with the records."""

    def __init__(self, edge: OutEdge, subtask: int, parallelism: int, emitter: RowEmitter, where: str) -> None:
        super().__init__(edge, subtask, parallelism, emitter, where)
        self._keys = [[] for _ in range(self._targets)]
        self._routes = _Routes(edge.target_parallelism, edge.target_max_parallelism)
        selector = edge.partitioning.key_selector
        self.key_fields = selector.key_fields if isinstance(selector, ColumnSelector) else None

    def write(self, values: Values, timestamps: AnyTimestamps) -> None:
        """Send each record to the subtask that owns its key group."""
        if isinstance(values, ColumnBlock):
            self._write_columns(values, cast("Stamps | None", timestamps))
        else:
            self._write_objects(values, cast(Timestamps, timestamps))

    def _write_columns(self, block: ColumnBlock, timestamps: Stamps | None) -> None:
        keys = None if self.key_fields is None else key_array(block, self.key_fields)
        if keys is None:  # only the objects can tell
            self._write_objects(block.values(), None if timestamps is None else timestamps.tolist())
        elif self._targets == 1:  # what can be the key of a column can be encoded
            self._add_columns(0, block, timestamps)
        else:
            self._scatter_columns(self._targets_of_columns(keys), block, timestamps)

    def _targets_of_columns(self, keys: pa.Array) -> npt.NDArray[Any]:
        is_tuple, limit = pa.types.is_struct(keys.type), self._edge.target_max_parallelism
        # Tuples of other parts than whole numbers repeat, as a rule.
        if is_tuple and not all(pa.types.is_signed_integer(part.type) for part in keys.type):
            return self._targets_of_tuples(keys)
        groups = column_key_groups(keys, limit)
        if groups is not None:
            return subtask_of(groups.astype(np.int64), self._targets, limit)  # type: ignore[arg-type, return-value]
        if is_tuple:
            return self._targets_of_tuples(keys)
        encoded = keys.dictionary_encode(null_encoding="encode")
        routes = np.fromiter(map(self._routes.__getitem__, encoded.dictionary.to_pylist()), np.int64)
        targets: npt.NDArray[Any] = routes[encoded.indices.to_numpy()]
        return targets

    def _targets_of_tuples(self, keys: pa.Array) -> npt.NDArray[Any]:
        parts = keys_of(keys)
        if parts is None:  # Arrow's idea of equal keys may not be Python's
            return np.fromiter(map(self._routes.__getitem__, key_objects(keys)), np.int64, len(keys))
        # An object for each tuple of the block, not for each record.
        coded = packed(numbered(parts))
        distinct = objects_of(Keys(coded.parts(np.arange(coded.size)), is_tuple=True))
        targets: npt.NDArray[Any] = np.array(self._routes.of_all(distinct), np.int64)[coded.codes]
        return targets

    def _write_objects(self, values: list[Any], timestamps: Timestamps) -> None:
        selector = self._edge.partitioning.key_selector
        assert selector is not None
        keys = self._selected(selector, values)
        if self._targets == 1:
            self._check_encodable(keys, values)
            self._add(0, values, timestamps, keys)
            return
        self._scatter(self._targets_of(keys, values), values, timestamps, keys)

    def _targets_of(self, keys: list[Any], values: list[Any]) -> list[int]:
        try:
            return self._routes.of_all(keys)
        except TypeError:  # a key that cannot be hashed, such as a list, or encoded: now one by one, with its record
            return [self._route(key, value) for key, value in zip(keys, values, strict=True)]

    def _route(self, key: Any, value: Any) -> int:
        try:
            return self._routes.of_bytes(encode_key(key))
        except KeyEncodingError as error:
            raise self._failure(error, "encoding the key", value) from None

    def _check_encodable(self, keys: list[Any], values: list[Any]) -> None:
        # With one target there is nothing to route, but a key without canonical bytes must fail all the same,
        # and here, where the record is at hand.
        for key_type in set(map(type, keys)):
            if key_type not in (str, int, bytes):
                self._targets_of(keys, values)
                return


_WRITERS: dict[Exchange, type[ExchangeWriter]] = {
    Exchange.FORWARD: ForwardWriter,
    Exchange.KEYED: KeyedWriter,
    Exchange.REBALANCE: RoundRobinWriter,
    Exchange.RESCALE: RoundRobinWriter,
    Exchange.SHUFFLE: ShuffleWriter,
    Exchange.BROADCAST: BroadcastWriter,
    Exchange.GLOBAL: GlobalWriter,
    Exchange.CUSTOM: CustomWriter,
}


def create_writer(
    edge: OutEdge, subtask: int, parallelism: int, emitter: RowEmitter, where: str, uid: str | None = None
) -> ExchangeWriter:
    """The writer for an edge; `where` and `uid` name the sending operator in errors."""
    writer = _WRITERS[edge.partitioning.exchange](edge, subtask, parallelism, emitter, where)
    writer.sender_uid = where if uid is None else uid
    return writer
