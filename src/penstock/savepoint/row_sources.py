"""Where keyed rows of an operator are read from: files of a checkpoint, or of a savepoint.

Small and picklable, so that tasks can be told where to read; nothing here knows what is restored, or where to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from penstock.checkpoint.directory import resolve
from penstock.savepoint.manifest import FileRecord
from penstock.savepoint.parts import check_file, read_keyed_rows
from penstock.scratch import make_scratch, remove_scratch
from penstock.state.portable import PortableRow, exported_rows, exported_states, is_declaration
from penstock.state.store import OrderedStore
from penstock.state.versions import StateVersion, SubtaskState

_HEAP_BYTES = 32 * 2**20  # of compressed files; what is larger goes to a store on disk


class RowSource(Protocol):
    """The rows of one operator that one old subtask had."""

    def rows(self, groups: range) -> Iterator[PortableRow]:
        """Those of some key groups, and those about the operator as a whole."""

    def states(self) -> dict[str, str]:
        """The states that have rows, with their kinds, timers among them."""


@dataclass(frozen=True)
class CheckpointRows:
    """Rows in the state files of a subtask's version; `folder` is where they are below `uri`."""

    uri: str
    folder: str
    version: StateVersion
    operator_index: int

    def rows(self, groups: range) -> Iterator[PortableRow]:
        """Read the whole state, and give what is asked for."""
        with self.opened() as store:
            for row in exported_rows(store, self.operator_index):
                if row.key_group is None or row.key_group in groups:
                    yield row

    def states(self) -> dict[str, str]:
        """Look them up, without going over the entries."""
        with self.opened() as store:
            return exported_states(store, self.operator_index)

    @contextmanager
    def opened(self) -> Iterator[OrderedStore]:
        """The state as a store, for as long as the block lasts."""
        filesystem, path = resolve(self.uri)
        is_small = sum(file.bytes for file in self.version.files) <= _HEAP_BYTES
        scratch = None if is_small else make_scratch("state")
        try:
            local = None if scratch is None else os.path.join(scratch, "state")
            with SubtaskState.open(filesystem, f"{path}/{self.folder}", self.version, local_path=local) as state:
                yield state.store
        finally:
            if scratch is not None:
                remove_scratch(scratch)


@dataclass(frozen=True)
class SavepointRows:
    """Rows in a part file of a savepoint."""

    uri: str
    file: str
    record: FileRecord

    def rows(self, groups: range) -> Iterator[PortableRow]:
        """Check the file as a whole, then read it."""
        filesystem, path = resolve(self.uri)
        check_file(filesystem, f"{path}/{self.file}", self.record)
        yield from read_keyed_rows(filesystem, f"{path}/{self.file}", groups)

    def states(self) -> dict[str, str]:
        """Found by reading the rows."""
        return {row.state: row.kind for row in self.rows(range(1 << 16)) if is_declaration(row) or row.kind == "timer"}
