"""Making a savepoint of a sealed version: what is copied while nothing runs, what tasks write, and what makes it whole.

Who runs the tasks, and keeps the version's files from being removed meanwhile, is the engine.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from pyarrow import fs

import penstock
from penstock.checkpoint.directory import absolute_uri, resolve
from penstock.connectors.sink import Sink
from penstock.errors import CheckpointError, ConfigurationError
from penstock.graph.plan import JobPlan
from penstock.runtime.operators import SinkOperator, kept_writer_state, writer_state
from penstock.savepoint.folder import operator_state_file, output_file, part_file, source_folder
from penstock.savepoint.manifest import MANIFEST, FileRecord
from penstock.savepoint.operator_rows import to_rows
from penstock.savepoint.parts import KEYED_SCHEMA, OPERATOR_SCHEMA, summed, write_rows
from penstock.savepoint.retained import CheckpointOrigin, own_part
from penstock.savepoint.row_sources import RowSource
from penstock.state.declarations import SchemasByRole, merged
from penstock.state.operator_state import OperatorSnapshot
from penstock.state.portable import SCHEMA_KIND, PortableRow, is_declaration, written_in
from penstock.storage.durable_files import sync_local

_EVERYTHING = range(1 << 16)


@dataclass(frozen=True)
class PartOrder:
    """One part file to be written: the keyed rows of an operator in one subtask."""

    source: RowSource
    target_uri: str
    uid: str
    subtask: int


@dataclass(frozen=True)
class PartResult:
    """What became of an order; no record if there were no rows."""

    uid: str
    file: str
    record: FileRecord | None
    states: dict[str, str]
    schemas: dict[str, SchemasByRole] = field(default_factory=dict)


def write_part(order: PartOrder) -> PartResult:
    """Carry out an order; fit to run in any process that reaches both places."""
    return write_part_rows(order.target_uri, order.uid, order.subtask, order.source.rows(_EVERYTHING))


def write_part_rows(target_uri: str, uid: str, subtask: int, rows: Iterable[PortableRow]) -> PartResult:
    """Write a part file of a savepoint, and note which states are in it."""
    filesystem, path = resolve(target_uri)
    states: dict[str, str] = {}
    schemas: dict[str, SchemasByRole] = {}

    def noted(row: PortableRow) -> PortableRow:
        if is_declaration(row) or row.kind == "timer":
            states[row.state] = row.kind
        elif row.kind == SCHEMA_KIND:
            schemas.update(merged([schemas, {row.state: written_in(row)}]))
        return row

    file = part_file(uid, subtask)
    record = write_rows(
        filesystem, f"{path}/{file}", KEYED_SCHEMA, map(noted, rows), operator=uid, subtask=str(subtask)
    )
    return PartResult(uid, file, record, states, schemas)


RunParts = Callable[[list[PartOrder]], list[PartResult]]


class SavepointDraft:
    """A savepoint in the making; it becomes one when `finish` returns its path."""

    def __init__(self, origin: CheckpointOrigin, plan: JobPlan, directory: str) -> None:
        """Choose a new folder in `directory`, named as Flink names them."""
        name = f"savepoint-{origin.manifest.job_id[:6]}-{uuid.uuid4().hex[:12]}"
        self.uri = absolute_uri(f"{directory.rstrip('/')}/{name}")
        self._filesystem, self._path = resolve(self.uri)
        self._origin = origin
        self._operators = dict(origin.manifest.operators)
        self._files: dict[str, FileRecord] = {}
        self._sinks: dict[str, Sink] = {
            chained.uid: chained.operator.sink
            for vertex in plan.vertices
            for chained in vertex.operators
            if isinstance(chained.operator, SinkOperator)
        }
        self._filesystem.create_dir(self._path, recursive=True)

    def copy_outside_files(self) -> None:
        """Copy what the next batch will change: files that sinks have begun, and logs of Spark's sources."""
        for uid, sink in self._sinks.items():
            record = self._operators[uid]
            files = self._origin.unfinished_files(uid, record.name, sink)
            for number, file in enumerate(files):
                with self._open(output_file(uid, number)) as stream:
                    file.copy_to(stream)
                self._note(output_file(uid, number))
            self._operators[uid] = replace(record, output=[file.place for file in files])
        for uid, offsets in self._origin.manifest.frames.items():
            for number in range(len(offsets)):
                self._copy_log(uid, number)

    def finish(self, run: RunParts, now_ms: int) -> str:
        """Write the state and, last of all, the file that makes the savepoint whole."""
        for result in run(self._orders()):
            record = self._operators[result.uid]
            self._operators[result.uid] = replace(record, states={**record.states, **result.states})
            if result.record is not None:
                self._files[result.file] = result.record
        for uid in self._operators:
            file = operator_state_file(uid)
            rows = to_rows(self._portable_snapshots(uid))
            written = write_rows(self._filesystem, f"{self._path}/{file}", OPERATOR_SCHEMA, rows, operator=uid)
            if written is not None:
                self._files[file] = written
        manifest = replace(
            self._origin.manifest,
            operators=self._operators,
            files=self._files,
            time_ms=now_ms,
            penstock_version=penstock.__version__,
        )
        temporary = f"{MANIFEST}.tmp"
        with self._open(temporary) as stream:
            stream.write(manifest.to_json().encode())
        # Whoever is told of a savepoint may remove everything else.
        self._sync(*self._files, temporary)
        self._filesystem.move(f"{self._path}/{temporary}", f"{self._path}/{MANIFEST}")
        self._sync(MANIFEST)
        return self.uri

    def _sync(self, *files: str) -> None:
        """Have files and their folders on the disk, up to the one that has the savepoint's own name."""
        if not isinstance(self._filesystem, fs.LocalFileSystem):
            return  # other stores keep what they have taken
        root = os.path.dirname(self._path)
        paths = {root, self._path}
        for file in files:
            path = f"{self._path}/{file}"
            while path not in paths:
                paths.add(path)
                path = os.path.dirname(path)
        sync_local(paths)

    def discard(self) -> None:
        """Remove what was written: it will not become a savepoint."""
        try:
            self._filesystem.delete_dir(self._path)
        except OSError:
            return  # the failure that led here is the one to report

    def _orders(self) -> list[PartOrder]:
        found: list[PartOrder] = []
        for uid, record in self._operators.items():
            for subtask in range(record.parallelism):
                source = self._origin.row_source(uid, subtask)
                found += [] if source is None else [PartOrder(source, self.uri, uid, subtask)]
        return found

    def _portable_snapshots(self, uid: str) -> list[Any]:
        snapshots = self._origin.snapshots(uid)
        sink = self._sinks.get(uid)
        if sink is None:
            return snapshots
        states = writer_states(sink, snapshots, len(snapshots))
        return [with_own_part(each, own) for each, own in zip(snapshots, states, strict=True)]

    def _copy_log(self, uid: str, number: int) -> None:
        filesystem, folder = self._origin.source_log(uid, number)
        selector = fs.FileSelector(folder, allow_not_found=True)
        for info in filesystem.get_file_info(selector):
            if info.type == fs.FileType.File:
                file = f"{source_folder(uid, number)}/{info.base_name}"
                with filesystem.open_input_stream(info.path, compression=None) as source, self._open(file) as stream:
                    shutil.copyfileobj(source, stream)
                self._note(file)

    def _open(self, file: str) -> Any:
        path = f"{self._path}/{file}"
        self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        return self._filesystem.open_output_stream(path, compression=None)

    def _note(self, file: str) -> None:
        self._files[file] = summed(self._filesystem, f"{self._path}/{file}")


def writer_states(sink: Sink, snapshots: list[Any], parallelism: int) -> list[Any]:
    """What the writers of a sink go on from in another job, fit to be kept."""
    states = sink.restored_states([writer_state(own_part(each)) for each in snapshots], parallelism)
    return list(map(kept_writer_state, states))


def with_own_part(snapshot: Any, own: Any) -> Any:
    """A snapshot of an operator with another part of its own, see `own_part`."""
    found = OperatorSnapshot.from_plain(snapshot)
    return own if found is None else replace(found, own=own).to_plain()


def savepoint_place(given: str | None, default: str | None) -> str:
    """The directory for a savepoint: the one given, or the one of the configuration."""
    if given is None and default is None:
        raise ConfigurationError(
            "no directory for the savepoint: pass savepoint_directory, or set execution.checkpointing.savepoint-dir"
        )
    place = given if given is not None else default
    assert place is not None
    return place


def begin_savepoint(origin: CheckpointOrigin, plan: JobPlan, directory: str) -> SavepointDraft:
    """Start a savepoint, and copy what will not be there for long; nothing may run meanwhile."""
    try:
        draft = SavepointDraft(origin, plan, directory)
    except OSError as error:
        raise CheckpointError(f"savepoint directory {directory} cannot be used: {error}") from None
    try:
        draft.copy_outside_files()
    except BaseException:
        draft.discard()
        raise
    return draft


def finish_savepoint(draft: SavepointDraft, run: RunParts, now_ms: int) -> str:
    """Write the rest; returns the path of the savepoint."""
    try:
        return draft.finish(run, now_ms)
    except BaseException:
        draft.discard()
        raise
