"""A new savepoint in the making: its folder, what is copied into it, what makes it whole.

The folder becomes a savepoint when its description is written, as the last of all files; until then it can go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyarrow import fs

from penstock.checkpoint.directory import absolute_uri, resolve
from penstock.errors import CheckpointError
from penstock.savepoint.folder import SavepointOrigin, operator_state_file, source_folder
from penstock.savepoint.manifest import MANIFEST, FileRecord, Manifest, OperatorRecord
from penstock.savepoint.operator_rows import to_rows
from penstock.savepoint.origin import Origin, quoted
from penstock.savepoint.parts import OPERATOR_SCHEMA, summed, write_rows
from penstock.savepoint.writing import PartOrder, PartResult
from penstock.state.declarations import merged
from penstock.state.operator_state import OperatorSnapshot
from penstock.state_processor.assembling import CopyOrder


class NewSavepoint:
    """A folder that did not exist before, and the description that will be its last file."""

    def __init__(self, path: str, manifest: Manifest) -> None:
        self.uri = absolute_uri(path.rstrip("/") or path)
        self.operators: dict[str, OperatorRecord] = dict(manifest.operators)
        self._manifest = manifest
        self._files: dict[str, FileRecord] = {}
        self._filesystem, self._path = resolve(self.uri)
        try:
            if self._filesystem.get_file_info(self._path).type != fs.FileType.NotFound:
                raise CheckpointError(f"write: {path} already exists; pass the path of a new folder")
            self._filesystem.create_dir(self._path, recursive=True)
        except OSError as error:
            raise CheckpointError(f"write: {path} cannot be written: {error}") from None

    def note_copies(self, copies: list[tuple[str, FileRecord]]) -> None:
        """Take up files that were copied."""
        self._files.update(copies)

    def note_parts(self, results: list[PartResult]) -> None:
        """Take up part files that were written, and the states in them."""
        for result in results:
            record = self.operators[result.uid]
            self.operators[result.uid] = replace(
                record,
                states={**record.states, **result.states},
                schemas=merged([record.schemas, result.schemas]),
            )
            if result.record is not None:
                self._files[result.file] = result.record

    def write_snapshots(self, uid: str, snapshots: list[Any]) -> None:
        """Write what an operator holds beside keyed state."""
        states = [found.states for found in map(OperatorSnapshot.from_plain, snapshots) if found is not None]
        kinds = {name: kind for each in states for name, (kind, _) in each.items()}
        self.operators[uid] = replace(self.operators[uid], operator_states=kinds)
        file = operator_state_file(uid)
        written = write_rows(
            self._filesystem, f"{self._path}/{file}", OPERATOR_SCHEMA, to_rows(snapshots), operator=uid
        )
        if written is not None:
            self._files[file] = written

    def copy_source_logs(self, origin: Origin, sources: dict[str, str]) -> None:
        """Copy the logs that sources of Spark's keep beside a checkpoint."""
        for uid, offsets in self._manifest.frames.items():
            for number in range(len(offsets)):
                filesystem, folder = origin.source_log(sources[uid], number)
                for info in filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True)):
                    if info.type == fs.FileType.File:
                        self._copy_log(filesystem, info, f"{source_folder(uid, number)}/{info.base_name}")

    def finish(self) -> str:
        """Write the description; returns the path."""
        self._remove_torn_files()
        manifest = replace(self._manifest, operators=self.operators, files=self._files)
        temporary = f"{self._path}/{MANIFEST}.tmp"
        with self._filesystem.open_output_stream(temporary, compression=None) as stream:
            stream.write(manifest.to_json().encode())
        self._filesystem.move(temporary, f"{self._path}/{MANIFEST}")
        return self.uri

    def discard(self) -> None:
        """Remove what was written: it will not become a savepoint."""
        try:
            self._filesystem.delete_dir(self._path)
        except OSError:
            return  # the failure that led here is the one to report

    def _copy_log(self, filesystem: fs.FileSystem, info: fs.FileInfo, file: str) -> None:
        path = f"{self._path}/{file}"
        self._filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        with (
            filesystem.open_input_stream(info.path, compression=None) as source,
            self._filesystem.open_output_stream(path, compression=None) as stream,
        ):
            stream.write(source.read())
        self._files[file] = summed(self._filesystem, path)

    def _remove_torn_files(self) -> None:
        """Files that tasks left which died before Spark ran them again."""
        for info in self._filesystem.get_file_info(fs.FileSelector(self._path, recursive=True)):
            if info.type == fs.FileType.File and info.path.removeprefix(f"{self._path}/") not in self._files:
                self._filesystem.delete_file(info.path)


def copy_orders(
    origin: SavepointOrigin, target_uri: str, uid: str, source: str, *, with_parts: bool, with_operator_state: bool
) -> list[CopyOrder]:
    """The files of an operator that stay as they are, under its new uid."""
    orders: list[CopyOrder] = []
    for file, record in origin.manifest.files.items():
        for top in ("operators", "sources"):
            head = f"{top}/{quoted(source)}/"
            if not file.startswith(head):
                continue
            name = file.removeprefix(head)
            is_part = top == "operators" and name.startswith("part-")
            is_operator_state = file == operator_state_file(source)
            if (with_parts or not is_part) and (with_operator_state or not is_operator_state):
                orders.append(CopyOrder(origin.place, file, target_uri, f"{top}/{quoted(uid)}/{name}", record))
    return orders


def part_orders(origin: Origin, target_uri: str, uid: str, source: str) -> list[PartOrder]:
    """The part files of an operator whose rows are in a checkpoint."""
    orders: list[PartOrder] = []
    for subtask in range(origin.manifest.operators[source].parallelism):
        rows = origin.row_source(source, subtask)
        orders += [] if rows is None else [PartOrder(rows, target_uri, uid, subtask)]
    return orders
