"""One Spark data source for everything that Penstock reads itself, and for control: ticks, drain, end of input.

One for all, because every Python source of a query costs a process and some 0.1 s a batch. Its offset, see
`penstock.job.intake`, is plain JSON that Spark logs before each batch. Its partitions only name ranges; the records
are made by the source operator, in the task that reads them: its rows are those of level 0.
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

from penstock.engine.spark.control import ControlReader, read_plan
from penstock.engine.spark.rows_arrow import SPARK_SCHEMA
from penstock.job.intake import SourceList, grouped
from penstock.runtime.source_tasks import Offset, SourceTask

NAME = "penstock"

_LOOKING_SECONDS = 0.05
"""How long Spark waits for an answer where there is nothing to do; frames of other sources wait with it."""
_BETWEEN_LOOKS_SECONDS = 0.01


class PenstockSource(DataSource):
    """`spark.readStream.format("penstock")`; its one option is the control directory."""

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return NAME

    def schema(self) -> str:
        """Rows of the exchange."""
        return SPARK_SCHEMA

    def streamReader(self, schema: Any) -> PenstockReader:
        """Make the reader (in the process Spark starts for it)."""
        return PenstockReader(self.options["control"])


class PenstockReader(DataSourceStreamReader):
    """Decides how far the next batch reads, and what else it is to do."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._sources: SourceList | None = None
        self._plan: bytes | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What tasks need of it, which may be on other machines: the plan, and nothing of the driver's."""
        return {"_directory": self._directory, "_sources": None, "_plan": read_plan(self._directory)}

    def _load(self) -> SourceList:
        if self._sources is None:
            with open(os.path.join(self._directory, "sources"), "rb") as stream:
                imports, sources = pickle.load(stream)
            imports.install()
            loaded: SourceList = pickle.loads(sources)
            self._sources = loaded
            self._control = ControlReader(self._directory)
            self._started = time.monotonic()
        return self._sources

    def initialOffset(self) -> dict[str, Any]:
        """Nothing read, nothing begun."""
        return self._load().first_offset().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """How much a batch takes is decided here, not by Spark."""
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Where the next batch ends. Equal to `start` if there is nothing to do, but not before having looked a while.

        Each question of Spark's costs more than many looks.
        """
        sources, began = self._load(), Offset.from_json(start)
        until = time.monotonic() + _LOOKING_SECONDS
        while (end := self._next(sources, began)) == began and time.monotonic() < until:
            time.sleep(_BETWEEN_LOOKS_SECONDS)
        scripted_ms = sources.processing_time(end)
        if scripted_ms is not None:
            self._control.set_clock(scripted_ms)
        return end.to_json()

    def _next(self, sources: SourceList, start: Offset) -> Offset:
        """Where the next batch would end if it began now; batches that are not urgent rest."""
        request, now_ms, now = self._control.state(), self._control.now_ms(), time.monotonic()
        if now < self._control.rests_until and not request.is_urgent(start, now_ms):
            return start
        return sources.next_offset(start, request, now_ms=now_ms, elapsed_ms=int((now - self._started) * 1000))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Partitions of things to do in the batch; at least one, so that the batch exists."""
        groups = grouped(self._load().tasks(Offset.from_json(start), Offset.from_json(end)))
        return [InputPartition(pickle.dumps(group)) for group in groups or [[]]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a task: run the source operators over the ranges of a partition.

        Done here and not in a function behind the source, which would be another Python process and a way through
        the JVM for every task.
        """
        # Here, because the process that asks for offsets needs no operators: each job starts one, and waits for it.
        from penstock.engine.spark.tasks import run_native_sources

        assert self._plan is not None, "only a copy that was sent to a task reads"
        group: list[SourceTask] = pickle.loads(partition.value)
        return run_native_sources(pickle.loads(self._plan), group)

    def stop(self) -> None:
        """The query has ended: Spark has closed the connection, which its runner would report as an error."""
        if self._sources is not None:
            self._sources.close()
        if isinstance(sys.exc_info()[1], (EOFError, ConnectionError)):
            os._exit(0)
