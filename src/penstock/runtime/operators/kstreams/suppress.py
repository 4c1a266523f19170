"""`suppress`: changes of a table wait, and only the last one of a key goes on."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from penstock.errors import StreamsError
from penstock.runtime.operators.kstreams.change_buffer import ChangeBuffer, Waiting
from penstock.runtime.operators.kstreams.dsl_processor import Getter, TableProcessor
from penstock.runtime.operators.kstreams.task import NodeContext
from penstock.vocabulary.kstreams.records import NO_TIMESTAMP, Change, Record, ValueAndTimestamp


class WhenFull(enum.Enum):
    """What happens when a buffer is full."""

    EMIT = "emit"
    SHUT_DOWN = "shut_down"


@dataclass(frozen=True)
class BufferLimits:
    """How much may wait. None: without limit."""

    max_records: int | None = None
    max_bytes: int | None = None
    when_full: WhenFull = WhenFull.EMIT


class TableSuppress(TableProcessor):
    """Holds changes back for a time, or until their window has closed."""

    def __init__(
        self, parent: TableProcessor, store_name: str, wait_ms: int, limits: BufferLimits, *, is_final: bool
    ) -> None:
        self._parent = parent
        self._store_name = store_name
        self._wait_ms = wait_ms
        self._limits = limits
        self._is_final = is_final

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """The parent must tell."""
        return self._parent.enable_sending_old_values(force=force)

    def store_names(self) -> tuple[str, ...]:
        """The buffer, and the stores of the parent."""
        return (self._store_name, *self._parent.store_names())

    def getter(self, context: NodeContext) -> Getter:
        """What others know of a key: the value before those that wait."""
        buffer: ChangeBuffer = context.get_state_store(self._store_name)
        parent = self._parent.getter(context)

        def get(key: object) -> ValueAndTimestamp | None:
            is_waiting, prior = buffer.prior(key)
            if not is_waiting:
                return parent(key)
            return None if prior is None else ValueAndTimestamp(prior, NO_TIMESTAMP)

        return get

    def open(self) -> None:
        """Get the buffer."""
        self._buffer: ChangeBuffer = self.context.get_state_store(self._store_name)
        self._memory = self.context.memory(f"{self.context.node.name} suppress")

    def process(self, record: Record) -> None:
        """Let a change wait, then emit those whose time has come."""
        change = record.value
        observed = self._memory["stream_time"] = max(self._memory.get("stream_time", NO_TIMESTAMP), record.timestamp)
        time = record.key.window.end if self._is_final else record.timestamp
        metadata = self.context.record_metadata()
        waiting = Waiting(None, change.old, change.new, record.timestamp, record.headers, metadata, 0)
        self._buffer.put(time, record.key, waiting)
        due = observed - self._wait_ms
        self._buffer.take_while(lambda: self._buffer.first_time <= due, self._emit_waiting)
        if self._is_full():
            self._make_room()

    def _is_full(self) -> bool:
        limits = self._limits
        return (limits.max_records is not None and self._buffer.count > limits.max_records) or (
            limits.max_bytes is not None and self._buffer.size > limits.max_bytes
        )

    def _make_room(self) -> None:
        if self._limits.when_full is WhenFull.EMIT:
            self._buffer.take_while(self._is_full, self._emit_waiting)
            return
        raise StreamsError(
            f"The buffer of {self.context.node.name!r} is full: {self._buffer.count} records and {self._buffer.size} "
            f"bytes wait, {self._limits.max_records} records and {self._limits.max_bytes} bytes are allowed; allow "
            "more, or use emit_early_when_full()."
        )

    def _emit_waiting(self, key: object, waiting: Waiting) -> None:
        if waiting.new is None and self._is_final:
            return
        before = self.context.record_metadata()
        self.context.set_metadata(waiting.metadata)
        self.emit(Record(key, Change(waiting.new, waiting.old), waiting.timestamp, waiting.headers))
        self.context.set_metadata(before)
