"""What is in a savepoint or a checkpoint, counted: operators, states, sizes, keys.

Memory is bounded whatever the state: rows are read one after another, and rows of one key of a state come together.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from penstock.checkpoint import CheckpointDirectory
from penstock.errors import CheckpointError, KeyEncodingError
from penstock.savepoint.manifest import Manifest, OperatorRecord
from penstock.savepoint.opening import open_origin
from penstock.savepoint.origin import Origin
from penstock.savepoint.retained import CheckpointOrigin
from penstock.savepoint.row_sources import CheckpointRows, RowSource
from penstock.state.operator_state import BROADCAST, OperatorSnapshot, merged_schemas
from penstock.state.portable import PortableRow, exported_rows, is_declaration, timer_ms
from penstock.state.serializers import Schema, described, plain_reader_of
from penstock.state.values import load_value

_EVERYTHING = range(1 << 16)
_ATTEMPTS = 3  # a job that runs may remove what is being read


@dataclass(frozen=True, order=True)
class KeyShare:
    """What one key has of a state; `key` is encoded as by `penstock.keys.codec`."""

    key: bytes
    entries: int
    bytes: int


@dataclass(frozen=True)
class StateSummary:
    """One state of an operator. Bytes are those of keys and values, not compressed.

    `keys` and `key_groups` are None for state that belongs to no key; timers have no count of keys, as they are kept by
    time. `entries` is None where they cannot be counted without the user's classes. `next_timer_ms` is for timers.
    `type` is what values were declared as, and None for those that are pickled; there may have been several in turn.
    """

    name: str
    kind: str
    entries: int | None
    bytes: int
    keys: int | None = None
    key_groups: int | None = None
    next_timer_ms: int | None = None
    type: str | None = None
    by_bytes: list[KeyShare] = field(default_factory=list)
    by_entries: list[KeyShare] = field(default_factory=list)


@dataclass(frozen=True)
class OperatorSummary:
    """One operator with its states; of a source also where it stands: by split, by name of partition, or by Spark."""

    uid: str
    record: OperatorRecord
    states: list[StateSummary]
    positions: list[int] | None
    partitions: dict[str, int] | None
    frames: list[str | None] | None


@dataclass(frozen=True)
class VersionSummary:
    """A version of a checkpoint: its state files as they are on disk (None: damaged seal), and when it was sealed."""

    version: int
    files: int | None
    bytes: int | None
    sealed_ms: int | None


@dataclass(frozen=True)
class Inspection:
    """All that was found; `versions` is empty for a savepoint."""

    place: str
    is_savepoint: bool
    manifest: Manifest
    versions: list[VersionSummary]
    operators: list[OperatorSummary]


def inspect(uri: str, *, operator: str | None = None, state: str | None = None, top: int = 5) -> Inspection:
    """Count what is at a path; of one operator or one state only if they are given. Nothing there is changed."""
    for attempt in range(1, _ATTEMPTS + 1):
        origin = _opened(uri)
        try:
            return _inspected(origin, operator, state, top)
        except CheckpointError as error:
            if not _was_overtaken(origin):
                raise
            if attempt == _ATTEMPTS:
                raise CheckpointError(
                    f"the job of {uri} advances faster than its state can be read: take a savepoint and inspect that"
                ) from error
    raise AssertionError("the last attempt returns or raises")


def _opened(uri: str) -> Origin:
    try:
        return open_origin(uri)
    except (AttributeError, ImportError, pickle.UnpicklingError, EOFError) as error:
        raise CheckpointError(_foreign_text(uri, error)) from None
    except (KeyError, TypeError, IndexError) as error:
        raise CheckpointError(f"{uri} is damaged: it does not describe a job ({error!r})") from None


def _foreign_text(uri: str, error: Exception) -> str:
    return (
        f"{uri} holds objects of a program that cannot be found here ({error}): put its modules on PYTHONPATH; for "
        "classes of the script itself, take a savepoint and inspect that"
    )


def _was_overtaken(origin: Origin) -> bool:
    """Whether the job has gone on since a checkpoint was opened."""
    if not isinstance(origin, CheckpointOrigin):
        return False
    return CheckpointDirectory(origin.place).sealed_versions()[-1:] != [origin.manifest.version]


def _inspected(origin: Origin, operator: str | None, state: str | None, top: int) -> Inspection:
    manifest = origin.manifest
    if operator is not None and operator not in manifest.operators:
        raise CheckpointError(
            f"{origin.place} has no operator with uid {operator!r}; there are {', '.join(sorted(manifest.operators))}"
        )
    wanted = [operator] if operator is not None else list(manifest.operators)
    counts = {uid: OperatorCount(state, top) for uid in wanted}
    try:
        for uid, rows in _pieces(origin, wanted):
            counts[uid].add(rows)
        found = [_summary(origin, uid, counts[uid], state) for uid in wanted]
    except (AttributeError, ImportError, pickle.UnpicklingError, EOFError, KeyEncodingError) as error:
        raise CheckpointError(_foreign_text(origin.place, error)) from None
    if state is not None and not any(each.states for each in found):
        raise CheckpointError(f"{origin.place} has no state {state!r}; leave out --state to see all states")
    is_checkpoint = isinstance(origin, CheckpointOrigin)
    versions = _versions(origin.place) if is_checkpoint else []
    return Inspection(origin.place, not is_checkpoint, manifest, versions, found)


def _pieces(origin: Origin, uids: list[str]) -> Iterator[tuple[str, Iterable[PortableRow]]]:
    """The rows of operators, subtask by subtask; files that several operators share are read once."""
    shared: dict[str, list[tuple[str, CheckpointRows]]] = {}
    for uid in uids:
        for subtask in range(origin.manifest.operators[uid].parallelism):
            source: RowSource | None = origin.row_source(uid, subtask)
            if isinstance(source, CheckpointRows):
                shared.setdefault(source.folder, []).append((uid, source))
            elif source is not None:
                yield uid, source.rows(_EVERYTHING)
    for sharing in shared.values():
        with sharing[0][1].opened() as store:
            for uid, rows in sharing:
                yield uid, exported_rows(store, rows.operator_index)


class StateCount:
    """The entries of one state while they are counted; those of a key in one piece come one after another."""

    def __init__(self, kind: str, top: int) -> None:
        """Count nothing yet."""
        self.kind = kind
        self.entries = self.bytes = self.keys = 0
        self.groups: set[int] = set()
        self.next_timer_ms: int | None = None
        self._top = top
        self._key: bytes | None = None
        self._key_entries = self._key_bytes = 0
        self._by_bytes: list[tuple[int, int, bytes]] = []
        self._by_entries: list[tuple[int, int, bytes]] = []

    def add(self, row: PortableRow) -> None:
        """Count an entry."""
        size = len(row.key) + len(row.namespace) + len(row.suffix) + len(row.value)
        self.entries += 1
        self.bytes += size
        if row.key != self._key:
            self.end_key()
            self._key = row.key
        self._key_entries += 1
        self._key_bytes += size
        assert row.key_group is not None, "a row without key group is no entry"
        self.groups.add(row.key_group)

    def add_timer(self, row: PortableRow) -> None:
        """Count a timer: they come in the order of time, not of keys."""
        assert row.key_group is not None, "a row without key group is no entry"
        due_ms = timer_ms(row)
        if self.next_timer_ms is None or due_ms < self.next_timer_ms:
            self.next_timer_ms = due_ms
        self.entries += 1
        self.bytes += len(row.key) + len(row.namespace) + len(row.suffix) + len(row.value)
        self.groups.add(row.key_group)

    def end_key(self) -> None:
        """The next entry is of another key, or of another piece."""
        if self._key is None:
            return
        self.keys += 1
        _keep(self._by_bytes, (self._key_bytes, self._key_entries, self._key), self._top)
        _keep(self._by_entries, (self._key_entries, self._key_bytes, self._key), self._top)
        self._key = None
        self._key_entries = self._key_bytes = 0

    def summary(self, name: str) -> StateSummary:
        """What was counted."""
        by_bytes = [KeyShare(key, entries, size) for size, entries, key in sorted(self._by_bytes, reverse=True)]
        by_entries = [KeyShare(key, entries, size) for entries, size, key in sorted(self._by_entries, reverse=True)]
        keys = None if self.kind == "timer" else self.keys
        counted = (self.entries, self.bytes, keys, len(self.groups), self.next_timer_ms)
        return StateSummary(name, self.kind, *counted, by_bytes=by_bytes, by_entries=by_entries)


def _keep(heap: list[tuple[int, int, bytes]], item: tuple[int, int, bytes], top: int) -> None:
    if len(heap) < top:
        heapq.heappush(heap, item)
    elif heap and item > heap[0]:
        heapq.heapreplace(heap, item)


class OperatorCount:
    """The keyed states of one operator while they are counted."""

    def __init__(self, wanted: str | None, top: int) -> None:
        """Count one state, or all."""
        self._wanted = wanted
        self._top = top
        self.states: dict[str, StateCount] = {}

    def add(self, rows: Iterable[PortableRow]) -> None:
        """Count the rows of one subtask, which no other one has keys of."""
        states = self.states
        for row in rows:
            if self._wanted is not None and row.state != self._wanted:
                continue
            if row.key_group is None:
                if is_declaration(row) and row.state not in states:
                    states[row.state] = StateCount(row.kind, self._top)
                continue
            count = states.get(row.state)
            if count is None:
                count = states[row.state] = StateCount(row.kind, self._top)
            if row.kind == "timer":
                count.add_timer(row)
            else:
                count.add(row)
        for count in states.values():
            count.end_key()


def _summary(origin: Origin, uid: str, count: OperatorCount, wanted: str | None) -> OperatorSummary:
    manifest = origin.manifest
    by_name = sorted(count.states.items(), key=lambda item: (item[1].kind == "timer", item[0]))
    schemas = manifest.operators[uid].schemas
    keyed = [replace(each.summary(name), type=_type_text(schemas.get(name, {}))) for name, each in by_name]
    states = [*keyed, *_without_key(origin, uid, wanted)]
    places = (manifest.positions.get(uid), manifest.partitions.get(uid), manifest.frames.get(uid))
    return OperatorSummary(uid, manifest.operators[uid], states, *places)


def _without_key(origin: Origin, uid: str, wanted: str | None) -> Iterator[StateSummary]:
    """State that belongs to no key, over all subtasks."""
    names = origin.manifest.operators[uid].operator_states
    if not names:
        return
    known = [found for found in map(OperatorSnapshot.from_plain, origin.snapshots(uid)) if found is not None]
    saved, schemas = [found.states for found in known], merged_schemas(found.schemas for found in known)
    for name, kind in sorted(names.items()):
        if wanted in (None, name):
            contents = [states[name][1] for states in saved if name in states]
            elements = [element for each in contents for element in (each if isinstance(each, list) else [each])]
            entries = _map_entries(name, contents, schemas.get(name, [])) if kind == BROADCAST else len(elements)
            type_text = _type_text({"value": schemas[name]}) if name in schemas else None
            yield StateSummary(name, kind, entries, sum(map(len, elements)), type=type_text)


def _type_text(written: dict[str, list[Schema]]) -> str | None:
    """The declared type of a state in words; a map's key stands before the value."""
    roles = [" or ".join(map(described, written[role])) for role in ("map_key", "value") if written.get(role)]
    return " -> ".join(roles) or None


def _map_entries(name: str, contents: list[bytes], schemas: list[Schema]) -> int | None:
    """Entries of the copies of a map; None if they are of classes that are not here, or written in another way."""
    read = plain_reader_of(schemas)
    try:
        copies = map(read, contents)
        return sum(len(load_value(each, name) if isinstance(each, bytes) else each) for each in copies)
    except Exception:  # whatever loading objects of somebody else may raise
        return None


def _versions(uri: str) -> list[VersionSummary]:
    """The versions that can be restored; a running job removes old ones meanwhile."""
    directory = CheckpointDirectory(uri)
    found = [_version(directory, version) for version in directory.sealed_versions()]
    return [each for each in found if each is not None]


def _version(directory: CheckpointDirectory, version: int) -> VersionSummary | None:
    sealed_ms = directory.sealed_ms(version)
    try:
        seal = directory.read_seal(version)
    except CheckpointError:
        return VersionSummary(version, None, None, sealed_ms)
    if seal is None:
        return None
    sizes = [file.bytes for entry in seal.entries.values() for file in entry.state.files]
    return VersionSummary(version, len(sizes), sum(sizes), sealed_ms)
