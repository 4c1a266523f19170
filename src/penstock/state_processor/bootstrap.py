"""State made from records: what a program asks for, and the run of its function over one part.

A part is worked on key group by key group, so that no more than one key group is ever in memory.
"""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, NamedTuple

from penstock.errors import GraphError, KeyEncodingError, StateError
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_group
from penstock.runtime.context import OperatorContext
from penstock.runtime.failure import describe_failure
from penstock.runtime.operators.process import KeyedProcessOperator
from penstock.runtime.output import Output
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.portable import PortableRow, exported_rows
from penstock.state.timers import InternalTimers
from penstock.state_processor.functions import KeyedStateBootstrapFunction

_BLOCK_RECORDS = 5_000
_VERSION = 0

KeySelector = str | Callable[[Any], Any]


class OperatorTransformation:
    """Where making state begins: `OperatorTransformation.bootstrap_with(data).key_by(...).transform(...)`."""

    @staticmethod
    def bootstrap_with(data: Any) -> OneInputStateTransformation:
        """Take records: a Spark DataFrame, whose rows become `Row`, or a collection of any objects."""
        return OneInputStateTransformation(data)


@dataclass(frozen=True)
class OneInputStateTransformation:
    """Records that have no key yet."""

    data: Any

    def key_by(self, key: KeySelector) -> KeyedStateTransformation:
        """Say what the key of a record is: the name of a column (or field), or a function of the record."""
        if not isinstance(key, str) and not callable(key) and not callable(getattr(key, "get_key", None)):
            raise GraphError(f"key_by: expected the name of a column or a function, got {key!r}")
        return KeyedStateTransformation(self.data, key)


@dataclass(frozen=True)
class KeyedStateTransformation:
    """Records with a key."""

    data: Any
    key: KeySelector

    def transform(self, function: KeyedStateBootstrapFunction) -> StateBootstrap:
        """Say what a record does to the state of its key."""
        if not callable(getattr(function, "process_element", None)):
            raise GraphError(f"transform: expected a KeyedStateBootstrapFunction, got {function!r}")
        return StateBootstrap(self.data, self.key, function)


@dataclass(frozen=True)
class StateBootstrap:
    """What is to become the state of one operator."""

    data: Any
    key: KeySelector
    function: KeyedStateBootstrapFunction


class KeyedRecord(NamedTuple):
    """A record on its way to the part of its key; `payload` is a pickle of key and record."""

    key_group: int
    key: bytes
    payload: bytes


def keyed_records(records: Iterable[Any], key: KeySelector, uid: str, max_parallelism: int) -> Iterator[KeyedRecord]:
    """Give each record its key; a key that cannot be one is refused, naming the record."""
    key_of = _key_function(key)
    for record in records:
        try:
            found = key_of(record)
        except Exception as error:
            raise _failure(error, uid, "selecting a key", record) from None
        if found is None:
            raise StateError(f"operator {uid!r}: a record to bootstrap with has no key (None): {record!r}")
        try:
            code = encode_key(found)
            yield KeyedRecord(key_group(code, max_parallelism), code, pickle.dumps((found, record), 5))
        except (KeyEncodingError, pickle.PicklingError, AttributeError, TypeError) as error:
            raise StateError(f"operator {uid!r}: a record to bootstrap with cannot be used ({error})") from None


def bootstrapped_rows(
    function: KeyedStateBootstrapFunction,
    records: Iterable[KeyedRecord],
    uid: str,
    subtask: int,
    parallelism: int,
    max_parallelism: int,
    clock: Callable[[], int],
) -> Iterator[PortableRow]:
    """Run the function over the records of a part, which come by key group; what it leaves is the rows."""
    backend = KeyedStateBackend(max_parallelism, clock=clock)
    context = OperatorContext("", uid, uid, subtask, parallelism, max_parallelism, 0, clock)
    context.backend, context.timers = backend, InternalTimers(backend)
    running = KeyedProcessOperator(function)
    running.setup(context, Output())
    told: set[PortableRow] = set()
    for _, members in groupby(records, operator.attrgetter("key_group")):
        store = MemoryStore()
        backend.bind(store, _VERSION)
        while block := [pickle.loads(record.payload) for record in islice(members, _BLOCK_RECORDS)]:
            keys, values = map(list, zip(*block, strict=True))
            running.process_block(values, None, keys)
        backend.flush()
        for row in exported_rows(store, 0):
            if row.key_group is not None:
                yield row
            elif row not in told:
                told.add(row)
                yield row
    running.close()


def _key_function(key: KeySelector) -> Callable[[Any], Any]:
    if not isinstance(key, str):
        return getattr(key, "get_key", key)

    def field(record: Any) -> Any:
        if isinstance(record, dict):
            return record[key]
        return getattr(record, key)

    return field


def _failure(error: Exception, uid: str, during: str, record: Any) -> Exception:
    return describe_failure(error, operator_name=uid, uid=uid, subtask=0, during=during, record=record)
