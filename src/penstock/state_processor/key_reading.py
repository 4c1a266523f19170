"""A user's function called for each key of an operator's state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.runtime.callables import checked_results
from penstock.runtime.context import OperatorContext, OperatorRuntimeContext
from penstock.runtime.failure import describe_failure
from penstock.savepoint.row_sources import CheckpointRows, RowSource, SavepointRows
from penstock.scratch import make_scratch, remove_scratch
from penstock.state.backends import DEFAULT_BACKEND, open_store
from penstock.state.keyed import KeyedStateBackend
from penstock.state.portable import EVENT_TIMERS, PROCESSING_TIMERS, exported_timers, imported_entries
from penstock.state.store import OrderedStore
from penstock.state.timers import time_from_bytes
from penstock.state_processor.functions import KeyedStateReaderFunction

_EVERYTHING = range(1 << 16)
_HEAP_BYTES = 32 * 2**20  # of a compressed file; what is larger goes to a store on disk
_VERSION = 0
_INDEX = b"\xfe"  # behind all rows of a store


class _Context(KeyedStateReaderFunction.Context):
    """Timers by key. Their own rows go by time; the index beside them is made when first asked for."""

    def __init__(self, store: OrderedStore, operator_index: int, backend: KeyedStateBackend) -> None:
        self._store = store
        self._operator_index = operator_index
        self._backend = backend
        self._is_indexed = False

    def registered_event_time_timers(self) -> set[int]:
        """From the index."""
        return self._timers(EVENT_TIMERS)

    def registered_processing_time_timers(self) -> set[int]:
        """From the index."""
        return self._timers(PROCESSING_TIMERS)

    def _timers(self, state: str) -> set[int]:
        if not self._is_indexed:
            for row in exported_timers(self._store, self._operator_index):
                if not row.namespace:
                    self._store.put(_index_row(row.state, row.key) + row.suffix, b"")
            self._is_indexed = True
        _, code = self._backend.encoded(self._backend.hashable_key)
        prefix = _index_row(state, code)
        return {time_from_bytes(row[len(prefix) :]) for row, _ in self._store.scan(prefix)}


def _index_row(state: str, key: bytes) -> bytes:
    return _INDEX + (b"e" if state == EVENT_TIMERS else b"p") + key


class _Results(KeyedStateReaderFunction.Collector):
    def __init__(self) -> None:
        self.values: list[Any] = []

    def collect(self, value: Any) -> None:
        """Keep a record until the key is done."""
        self.values.append(value)


def read_keys(
    function: KeyedStateReaderFunction,
    source: RowSource,
    uid: str,
    max_parallelism: int,
    clock: Callable[[], int],
) -> Iterator[Any]:
    """Call the function for each key of a part; gives its results."""
    with _opened(source) as (store, index):
        backend = KeyedStateBackend(max_parallelism, operator_index=index, clock=clock)
        context = OperatorContext("", uid, uid, 0, 1, max_parallelism, 0, clock, backend=backend)
        _guarded(lambda: function.open(OperatorRuntimeContext(context)), uid, "in open()")
        backend.bind(store, _VERSION)
        asked, results = _Context(store, index, backend), _Results()
        for key in backend.keys_of_states(list(backend.declarations())):
            backend.set_key(key)
            try:
                returned = function.read_key(key, asked, results)
                if returned is not None:
                    results.values.extend(checked_results(returned, "read_key"))
            except Exception as error:
                raise _failure(error, uid, f"reading key {key!r}") from None
            yield from results.values
            results.values.clear()
        _guarded(function.close, uid, "in close()")
        backend.unbind()


@contextmanager
def _opened(source: RowSource) -> Iterator[tuple[OrderedStore, int]]:
    """The rows as a store, for as long as the block lasts, and the number of the operator in it."""
    if isinstance(source, CheckpointRows):
        with source.opened() as held:
            yield held, source.operator_index
        return
    is_large = isinstance(source, SavepointRows) and source.record.bytes > _HEAP_BYTES
    scratch = make_scratch("state") if is_large else None
    store = open_store(DEFAULT_BACKEND, None if scratch is None else os.path.join(scratch, "state"))
    try:
        for row, value in imported_entries(source.rows(_EVERYTHING), 0):
            store.put(row, value)
        yield store, 0
    finally:
        store.close()
        if scratch is not None:
            remove_scratch(scratch)


def _guarded(action: Callable[[], None], uid: str, during: str) -> None:
    try:
        action()
    except Exception as error:
        raise _failure(error, uid, during) from None


def _failure(error: Exception, uid: str, during: str) -> Exception:
    return describe_failure(error, operator_name=uid, uid=uid, subtask=0, during=during)
