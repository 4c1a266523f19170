"""One Spark data source for everything that Penstock reads itself, and for control: ticks, drain, end of input.

One for all, because every Python source of a query costs a process and some 0.1 s a batch. Its offset is plain
JSON, logged by Spark before each batch:
`{"begun": bool, "tick": int, "draining": bool, "ended": [vertex], "positions": {vertex: [position per split]}}`.
Its rows only name ranges; the records are made by the source operator, in the task after it.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from penstock.engine.spark.control import ControlReader, SourceList, SplitVertex

NAME = "penstock"
_SCHEMA = pa.schema([("info", pa.binary())])

Offset = dict[str, Any]


class PenstockSource(DataSource):
    """`spark.readStream.format("penstock")`; its one option is the control directory."""

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return NAME

    def schema(self) -> str:
        """One binary column: a pickled task description."""
        return "info binary"

    def streamReader(self, schema: Any) -> PenstockReader:
        """Make the reader (in the process Spark starts for it)."""
        return PenstockReader(self.options["control"])


class PenstockReader(DataSourceStreamReader):
    """Decides how far the next batch reads, and what else it is to do."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._sources: SourceList | None = None

    def _load(self) -> SourceList:
        if self._sources is None:
            with open(os.path.join(self._directory, "sources"), "rb") as stream:
                search_path, main_classes, sources = pickle.load(stream)
            sys.path.extend(entry for entry in search_path if entry not in sys.path)
            for name, value in pickle.loads(main_classes).items():
                setattr(sys.modules["__main__"], name, value)
            loaded: SourceList = pickle.loads(sources)
            self._sources = loaded
            self._control = ControlReader(self._directory)
            self._started = time.monotonic()
        return self._sources

    def initialOffset(self) -> Offset:
        """Nothing read, nothing begun."""
        sources = self._load()
        positions = {str(vertex): [0] * split.split_count for vertex, split in sources.splits.items()}
        return {"begun": False, "tick": 0, "draining": False, "ended": [], "positions": positions}

    def getDefaultReadLimit(self) -> ReadLimit:
        """How much a batch takes is decided here, not by Spark."""
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Where the next batch ends. Equal to `start` if there is nothing to do."""
        sources = self._load()
        wanted = self._control.state()
        now = time.time_ns() // 1_000_000
        is_due = wanted.due_ms is not None and wanted.due_ms <= now
        return {
            "begun": True,
            "tick": start["tick"] + 1 if is_due else start["tick"],
            "draining": start["draining"] or wanted.is_draining,
            "ended": sorted({*start["ended"], *wanted.ended}),
            "positions": start["positions"] if wanted.is_draining else self._advanced(sources, start["positions"]),
        }

    def _advanced(self, sources: SourceList, positions: dict[str, list[int]]) -> dict[str, list[int]]:
        elapsed_ms = int((time.monotonic() - self._started) * 1000)
        splits = sum(vertex.split_count for vertex in sources.splits.values())
        limit = max(1, sources.max_records_per_batch // max(1, splits))
        return {
            key: [
                _available(sources.splits[int(key)], split, position, elapsed_ms, limit)
                for split, position in enumerate(each)
            ]
            for key, each in positions.items()
        }

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """One partition for each thing to do in the batch; at least one, so that the batch exists."""
        sources = self._load()
        tasks = [
            task
            for vertex, split_vertex in sources.splits.items()
            for split in range(split_vertex.split_count)
            if (task := _split_task(vertex, split, split_vertex, start, end)) is not None
        ]
        tasks += [task for vertex in sources.frames if (task := _frame_task(vertex, sources, start, end)) is not None]
        return [InputPartition(pickle.dumps(task)) for task in tasks or [{}]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Hand the description over."""
        yield pa.RecordBatch.from_arrays([pa.array([partition.value], pa.binary())], schema=_SCHEMA)

    def stop(self) -> None:
        """The query has ended: Spark has closed the connection, which its runner would report as an error."""
        if isinstance(sys.exc_info()[1], EOFError):
            os._exit(0)


def _available(vertex: SplitVertex, split: int, position: int, elapsed_ms: int, limit: int) -> int:
    return max(position, vertex.source.available(split, vertex.split_count, position, elapsed_ms, limit))


def _task(vertex: int, split: int, start: int, stop: int, ends: bool) -> dict[str, Any]:
    return {"vertex": vertex, "split": split, "start": start, "stop": stop, "ends": ends}


def _split_task(vertex: int, split: int, known: SplitVertex, start: Offset, end: Offset) -> dict[str, Any] | None:
    """What to do for a split: read a range, end it, look at its idleness, or nothing."""
    first, last = start["positions"][str(vertex)][split], end["positions"][str(vertex)][split]
    limit = known.source.split_end(split, known.split_count)
    had_ended = start["draining"] or (start["begun"] and limit is not None and first >= limit)
    if had_ended:
        return None
    ends = end["draining"] or (limit is not None and last >= limit)
    is_poked = known.has_idleness and _looks_around(start, end)
    return _task(vertex, split, first, last, ends) if last > first or ends or is_poked else None


def _looks_around(start: Offset, end: Offset) -> bool:
    """Whether a batch lets sources notice that nothing comes; the first one starts their clocks."""
    return bool(end["tick"] != start["tick"] or not start["begun"])


def _frame_task(vertex: int, sources: SourceList, start: Offset, end: Offset) -> dict[str, Any] | None:
    had_ended = start["draining"] or vertex in start["ended"]
    if had_ended:
        return None
    ends = end["draining"] or vertex in end["ended"]
    is_poked = sources.frames[vertex] and _looks_around(start, end)
    return _task(vertex, 0, 0, 0, ends) if ends or is_poked else None
