"""A job's plan run level by level in this process, batch by batch, without an engine.

Owns the carrying of rows between subtasks and the choice of where batches end; everything else is the runtime's.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
from pyarrow import fs

from penstock.checkpoint.seal import Seal
from penstock.connectors.source import SplitSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.graph import JobPlan, JobSettings, Vertex, compile_plan
from penstock.runtime import rows
from penstock.runtime.operators import SourceOperator
from penstock.runtime.report import Report
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.subtask import Subtask, TaskSettings
from penstock.state.versions import StateVersion, SubtaskState

Cuts = Callable[[int], int]
"""From how many records a split still has, how many the next batch takes of it."""


def whole(left: int) -> int:
    """One batch for everything."""
    return left


def random_cuts(seed: int, largest: int = 7) -> Cuts:
    """Small batches of random size, also empty ones."""
    rng = random.Random(seed)
    return lambda left: min(left, rng.randint(0, largest))


class InProcessJob:
    """Runs a program that was built in an environment to its end; `driver` has what reached each driver sink."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        directory: Path,
        *,
        parallelism: int = 1,
        seed: int | None = None,
        is_on_disk: bool = False,
        is_batch_mode: bool = False,
        watermark_every_records: int = 5,
    ) -> None:
        self.plan: JobPlan = compile_plan(environment.graph, JobSettings(parallelism=parallelism))
        self.driver: dict[str, list[Any]] = {vertex.name: [] for vertex in self.plan.driver_vertices()}
        self.batches = 0
        self._directory = directory
        self._is_on_disk = is_on_disk
        # With a seed, subtasks move to another process (a fresh copy) at random, tasks die and run again, and rows
        # arrive in any order.
        self._rng = None if seed is None else random.Random(seed)
        self._settings = TaskSettings(
            "job", 0, 0, is_batch_mode=is_batch_mode, watermark_every_records=watermark_every_records
        )
        self._pickled = {v.id: cloudpickle.dumps(v) for v in self.plan.vertices if not v.is_driver}
        self._subtasks: dict[tuple[int, int], Subtask] = {}
        self._positions = {v.id: [0] * v.parallelism for v in self.plan.sources()}
        self._seal = Seal()

    def run(self, cuts: Cuts = whole) -> InProcessJob:
        """Run batches until every source has ended."""
        while not self._has_ended():
            self._run_batch(cuts)
        return self

    def _has_ended(self) -> bool:
        return all(
            self._seal.entry(vertex.uid, split).has_ended
            for vertex in self.plan.sources()
            for split in range(vertex.parallelism)
        )

    def _run_batch(self, cuts: Cuts) -> None:
        self.batches += 1
        reports: list[Report] = []
        travelling: list[ExchangeRow] = []
        for vertex in self.plan.sources():
            for split in range(vertex.parallelism):
                travelling += self._read(vertex, split, cuts, reports)
        for _, vertices in self.plan.levels():
            here = {vertex.id for vertex in vertices}
            arrived = [row for row in travelling if row.vertex in here]
            travelling = [row for row in travelling if row.vertex not in here]
            for vertex in vertices:
                for number in range(vertex.parallelism):
                    mine = [row for row in arrived if (row.vertex, row.target) == (vertex.id, number)]
                    travelling += self._work(vertex, number, mine, reports)
        self._deliver(travelling)
        self._seal = self._seal.followed_by(self._seal.version + 1, reports, set())

    def _read(self, vertex: Vertex, split: int, cuts: Cuts, reports: list[Report]) -> list[ExchangeRow]:
        if self._seal.entry(vertex.uid, split).has_ended:
            return []
        operator = vertex.operators[0].operator
        assert isinstance(operator, SourceOperator) and isinstance(operator.source, SplitSource)
        start = self._positions[vertex.id][split]
        end = operator.source.split_end(split, vertex.parallelism)
        assert end is not None, "only bounded sources come to an end"
        stop = self._positions[vertex.id][split] = start + cuts(end - start)
        subtask = self._begun(vertex, split)
        if stop > start:
            subtask.read_split(start, stop)
        if stop == end:
            subtask.end_source()
        reports.append(subtask.finish())
        return subtask.take_rows()

    def _work(self, vertex: Vertex, number: int, mine: list[ExchangeRow], reports: list[Report]) -> list[ExchangeRow]:
        if not mine:
            return []
        if self._rng is not None:
            self._rng.shuffle(mine)
        ordered = sorted(mine, key=lambda row: (row.seq, row.src))
        if self._rng is not None and self._rng.random() < 0.2:
            self._die_in_the_middle(vertex, number, ordered)
        subtask = self._begun(vertex, number)
        for row in ordered:
            subtask.process(row)
        reports.append(subtask.finish())
        return subtask.take_rows()

    def _die_in_the_middle(self, vertex: Vertex, number: int, ordered: list[ExchangeRow]) -> None:
        subtask = self._begun(vertex, number)
        for row in ordered[: len(ordered) // 2 + 1]:
            subtask.process(row)
        subtask.abort()
        del self._subtasks[vertex.id, number]

    def _begun(self, vertex: Vertex, number: int) -> Subtask:
        key = (vertex.id, number)
        if key not in self._subtasks or (self._rng is not None and self._rng.random() < 0.5):
            copy: Vertex = pickle.loads(self._pickled[vertex.id])
            self._subtasks[key] = Subtask(copy, number, self._settings, lambda: 0)
        subtask = self._subtasks[key]
        entry = self._seal.entry(vertex.uid, number)
        version = self._seal.version + 1
        subtask.begin(version, f"try-{version}", entry, lambda: self._open_state(vertex, number, entry.state))
        return subtask

    def _open_state(self, vertex: Vertex, number: int, base: StateVersion) -> SubtaskState:
        folder = self._directory / f"{vertex.id}-{number}"
        local = self._directory / f"local-{vertex.id}-{number}" if self._is_on_disk else None
        return SubtaskState.open(
            fs.LocalFileSystem(), str(folder), base, local_path=None if local is None else str(local), snapshot_after=3
        )

    def _deliver(self, travelling: list[ExchangeRow]) -> None:
        for row in sorted(travelling, key=lambda row: (row.seq, row.src)):
            self.driver[self.plan.vertex(row.vertex).name] += list(_records(row))


def _records(row: ExchangeRow) -> Iterator[Any]:
    assert row.kind == rows.DATA, "the driver gets records only"
    yield from rows.decode_block(row.payload).values
