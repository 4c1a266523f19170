"""What a job can go on from: the contract that savepoints and checkpoints of other jobs fulfil."""

from __future__ import annotations

import urllib.parse
from abc import ABC, abstractmethod
from typing import Any

from pyarrow import fs

from penstock.connectors.sink import Sink, UnfinishedFile
from penstock.graph.plan import Adopted
from penstock.keys.groups import group_range
from penstock.savepoint.manifest import Manifest
from penstock.savepoint.row_sources import RowSource


class Origin(ABC):
    """The state of a job at one moment. Reading it changes nothing, so several jobs may go on from it."""

    place: str
    manifest: Manifest

    @abstractmethod
    def row_source(self, uid: str, subtask: int) -> RowSource | None:
        """Where the keyed rows of an operator's old subtask are; None if it had none."""

    @abstractmethod
    def states_of(self, uid: str) -> dict[str, str]:
        """The keyed states of an operator by name, with their kinds; timers among them. May read all of its rows."""

    @abstractmethod
    def snapshots(self, uid: str) -> list[Any]:
        """What the old subtasks of an operator handed to their next batch, in order."""

    @abstractmethod
    def unfinished_files(self, uid: str, name: str, sink: Sink) -> list[UnfinishedFile]:
        """The files that a sink had begun; `sink` is the one that goes on."""

    def committables(self, uid: str) -> list[Any]:
        """What a sink handed over in the last version and may not have published, so that it is to be done again."""
        return []

    @abstractmethod
    def source_log(self, uid: str, number: int) -> tuple[fs.FileSystem, str]:
        """The folder that a source of Spark's has for a log of its own; `number` is its place in the frame."""

    def row_sources(self, uid: str, groups: range) -> list[RowSource]:
        """Where rows of some key groups may be."""
        record = self.manifest.operators[uid]
        found: list[RowSource] = []
        for subtask in range(record.parallelism):
            theirs = group_range(subtask, record.parallelism, record.max_parallelism)
            if theirs.start < groups.stop and groups.start < theirs.stop:
                source = self.row_source(uid, subtask)
                found += [] if source is None else [source]
        return found

    def adopted(self) -> dict[str, Adopted]:
        """What operators of a job that goes on from here are bound to."""
        bound = {uid: each.max_parallelism for uid, each in self.manifest.operators.items() if each.is_bound}
        splits = {uid: len(positions) for uid, positions in self.manifest.positions.items()}
        return {uid: Adopted(splits.get(uid), bound.get(uid)) for uid in {*bound, *splits}}


def quoted(uid: str) -> str:
    """A uid as the name of a folder."""
    return urllib.parse.quote(uid, safe="")
