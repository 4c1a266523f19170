"""A savepoint on disk, read: opened, checked, and given out piece by piece. Writing it is `penstock.savepoint.writing`.

Nothing in a savepoint tells where it is, so that it may be moved as a whole.
"""

from __future__ import annotations

import shutil
from functools import partial
from typing import Any

from pyarrow import fs

from penstock.checkpoint.directory import absolute_uri, resolve
from penstock.connectors.sink import Sink, UnfinishedFile
from penstock.errors import CheckpointError
from penstock.savepoint.manifest import MANIFEST, Manifest
from penstock.savepoint.operator_rows import from_rows
from penstock.savepoint.origin import Origin, quoted
from penstock.savepoint.parts import check_file, read_operator_rows
from penstock.savepoint.row_sources import SavepointRows


def part_file(uid: str, subtask: int) -> str:
    """Where the keyed rows of an old subtask are in a savepoint."""
    return f"operators/{quoted(uid)}/part-{subtask}.parquet"


def operator_state_file(uid: str) -> str:
    """Where the state of an operator that belongs to no key is."""
    return f"operators/{quoted(uid)}/operator-state.parquet"


def output_file(uid: str, number: int) -> str:
    """Where a copy of a file is that a sink had begun."""
    return f"operators/{quoted(uid)}/output-{number}"


def source_folder(uid: str, number: int) -> str:
    """Where the log is that a source of Spark's keeps for itself."""
    return f"sources/{quoted(uid)}/{number}"


class SavepointOrigin(Origin):
    """A savepoint; opening it checks that all of its files are there."""

    def __init__(self, uri: str) -> None:
        self.place = absolute_uri(uri)
        self._filesystem, self._path = resolve(uri)
        try:
            with self._filesystem.open_input_file(f"{self._path}/{MANIFEST}") as stream:
                self.manifest = Manifest.from_json(bytes(stream.read()), uri)
        except OSError:
            raise CheckpointError(
                f"{uri} is not a complete savepoint: it has no {MANIFEST}, which is written last"
            ) from None
        self._check_sizes()

    def _check_sizes(self) -> None:
        wanted = self.manifest.files
        infos = self._filesystem.get_file_info([f"{self._path}/{file}" for file in wanted])
        for info, (file, record) in zip(infos, wanted.items(), strict=True):
            if info.type != fs.FileType.File:
                raise CheckpointError(f"savepoint {self.place} is incomplete: {file} is missing; use another savepoint")
            if info.size != record.bytes:
                raise CheckpointError(
                    f"savepoint {self.place} is damaged: {file} has {info.size} bytes instead of {record.bytes}; "
                    "use another savepoint"
                )

    def row_source(self, uid: str, subtask: int) -> SavepointRows | None:
        """The part file, if that subtask had rows."""
        file = part_file(uid, subtask)
        record = self.manifest.files.get(file)
        return None if record is None else SavepointRows(self.place, file, record)

    def states_of(self, uid: str) -> dict[str, str]:
        """From the description."""
        return self.manifest.operators[uid].states

    def snapshots(self, uid: str) -> list[Any]:
        """From the file of the operator."""
        file, parallelism = operator_state_file(uid), self.manifest.operators[uid].parallelism
        if file not in self.manifest.files:
            return [None] * parallelism
        return from_rows(read_operator_rows(self._filesystem, self._checked(file)), parallelism)

    def unfinished_files(self, uid: str, name: str, sink: Sink) -> list[UnfinishedFile]:
        """The copies that were made for the savepoint."""
        places = self.manifest.operators[uid].output
        return [UnfinishedFile(place, partial(self._copy, output_file(uid, n))) for n, place in enumerate(places)]

    def source_log(self, uid: str, number: int) -> tuple[fs.FileSystem, str]:
        """The copy of the folder."""
        return self._filesystem, f"{self._path}/{source_folder(uid, number)}"

    def _checked(self, file: str) -> str:
        path = f"{self._path}/{file}"
        check_file(self._filesystem, path, self.manifest.files[file])
        return path

    def _copy(self, file: str, stream: Any) -> None:
        with self._filesystem.open_input_stream(self._checked(file), compression=None) as source:
            shutil.copyfileobj(source, stream)
