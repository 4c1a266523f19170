"""A stand-in for the engine that drives writers and committers of a file sink through batches and failures."""

from __future__ import annotations

import copy
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

from penstock.connectors.files.sink import STAGING, FileSink
from penstock.connectors.sink import SinkContext, SinkWriter


class FileSinkJob:
    """Runs batches as the engine does: begin, write, prepare, seal, commit; state only moves by pickling."""

    def __init__(self, sink: FileSink, parallelism: int = 2, job_id: str = "job", uid: str = "sink") -> None:
        self.sink = sink
        self.contexts = [SinkContext(job_id, uid, "orders", i, parallelism, lambda: 0) for i in range(parallelism)]
        self.states: list[Any] = [None] * parallelism
        self.version = 0
        self.now_ms = 1_000_000
        self.written: dict[int, list[Any]] = defaultdict(list)
        self.deadlines: list[int | None] = [None] * parallelism
        self._attempts = 0
        self._resident: dict[int, SinkWriter] = {}

    def attempt(self, blocks: list[list[list[Any]]], *, end: bool = False, fail: str | None = None) -> list[Any] | None:
        """Run all subtasks once; returns committables, or None if the try was made to fail."""
        committables: list[Any] = []
        states, deadlines = [], []
        for context in self.contexts:
            self._attempts += 1
            writer = self._resident.get(context.subtask) or self.sink.create_writer(context)
            writer.begin(self.version, f"try/{self._attempts}", self.loaded(context.subtask))
            for block in blocks[context.subtask]:
                writer.write(list(block), None, 0)
            if fail in ("killed while writing", "aborted while writing"):
                return self._failed(writer, fail)
            committables += writer.prepare_commit(self.now_ms, end)
            states.append(pickle.dumps(writer.snapshot()))
            deadlines.append(writer.next_deadline())
            if fail is not None:
                return self._failed(writer, fail)
            self._resident[context.subtask] = writer
        self.states, self.deadlines = states, deadlines
        return committables

    def loaded(self, subtask: int) -> Any:
        return None if self.states[subtask] is None else pickle.loads(self.states[subtask])

    def batch(
        self,
        blocks: list[list[list[Any]]],
        *,
        end: bool = False,
        failures: tuple[str, ...] = (),
        commits: tuple[float, ...] = (1.0,),
        fresh_process: bool = False,
    ) -> list[Any]:
        """Run a batch with failed tries first, then commit; `commits` are the shares that get done each time."""
        for failure in failures:
            assert self.attempt(blocks, end=end, fail=failure) is None
        if fresh_process:
            self._resident.clear()
        committables = self.attempt(blocks, end=end)
        assert committables is not None
        sealed = pickle.dumps(committables)
        for number, share in enumerate(commits):
            committables = pickle.loads(sealed)
            committer = self.sink.create_committer()
            publish = committer.commit if number == 0 else committer.commit_again
            publish(committables[: round(len(committables) * share)])
        for subtask, subtask_blocks in enumerate(blocks):
            self.written[subtask] += [value for block in subtask_blocks for value in copy.deepcopy(block)]
        self.version += 1
        return committables

    def _failed(self, writer: SinkWriter, fail: str) -> None:
        if fail.startswith("aborted"):
            writer.abort()
        self._resident.clear()


def published(base: Path) -> list[Path]:
    """Visible files in the order of version and number."""
    files = [p for p in base.rglob("*") if p.is_file() and STAGING not in p.parts]
    return sorted(files, key=lambda p: tuple(map(int, p.name.split(".")[0].split("-")[2:])))


def published_of(base: Path, subtask: int) -> list[Path]:
    return [p for p in published(base) if p.name.split("-")[2] == str(subtask)]


def staged(base: Path) -> list[Path]:
    return [p for p in (base / STAGING).rglob("*") if p.is_file() and p.name != "publishing"]
