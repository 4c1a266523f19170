"""`TableResult`: what a statement gives back - rows, a job, or just OK."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.common.job_client import JobClient
from penstock.common.types import Row
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.table.printed_tables import framed, framed_changelog
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.result_rows import result_row
from penstock.table.shown_values import shown_rows
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType, row_of
from penstock.vocabulary.sql.row_kinds import SHORT_NAMES

__all__ = ["ResultKind", "TableResult", "ok", "told"]

STRING = LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))


class ResultKind(enum.Enum):
    """Whether a result has rows of its own."""

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1


class TableResult:
    """The result of a statement; `print()` shows it, `collect()` iterates over it, `wait()` waits for its job."""

    def __init__(
        self,
        row_type: LogicalType,
        rows: Callable[[], CloseableIterator[tuple[Any, ...]]],
        *,
        kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
        client: JobClient | None = None,
        is_streaming: bool = False,
        is_bounded: bool = True,
        has_updates: bool = False,
        zone: str = "UTC",
    ) -> None:
        """Made by the environment; `rows` gives rows as `(kind, *fields)` of internal values."""
        self.is_bounded = is_bounded
        self.has_updates = has_updates
        self._row_type = row_type
        self._rows = rows
        self._kind = kind
        self._client = client
        self._is_streaming = is_streaming
        self._zone = zone

    def get_job_client(self) -> JobClient | None:
        """The handle to the job, if the statement started one."""
        return self._client

    def get_result_kind(self) -> ResultKind:
        """Whether there are rows, or just success."""
        return self._kind

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns."""
        return ResolvedSchema.of_row_type(self._row_type)

    def get_table_schema(self) -> ResolvedSchema:
        """The columns."""
        return self.get_resolved_schema()

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait for the end of the job; raises if it failed."""
        if self._client is not None:
            self._client.wait(None if timeout_ms is None else timeout_ms / 1000)

    def rows(self) -> CloseableIterator[tuple[Any, ...]]:
        """The rows as `(kind, *fields)` of internal values of `row_type`, for who shows them in a way of its own."""
        return self._rows()

    @property
    def row_type(self) -> LogicalType:
        """Names and types of the columns."""
        return self._row_type

    @property
    def zone(self) -> str:
        """The time zone in which points in time are shown."""
        return self._zone

    def collect(self) -> CloseableIterator[Row]:
        """The rows, as Row objects with their kinds; ends with the job. Close it to stop the job."""
        rows = self._rows()
        convert = result_row(self._row_type)
        return CloseableIterator(map(convert, rows), rows.close)

    def print(self) -> None:
        """Show the rows in a frame, as Flink does."""
        out = sys.stdout
        for line in self.lines():
            out.write(line + "\n")
        out.flush()

    def lines(self) -> Iterator[str]:
        """What `print` shows."""
        if self._kind is ResultKind.SUCCESS:
            yield "OK"
            return
        with self._rows() as rows:
            shown = shown_rows(self._row_type, rows, self._zone)
            if self._is_streaming:
                told_rows = ((SHORT_NAMES[row[0]], row[1:]) for row in shown)
                yield from framed_changelog(self._row_type.names, self._row_type.parts, told_rows)
            else:
                yield from framed(self._row_type.names, [row[1:] for row in shown]).splitlines()


def ok() -> TableResult:
    """The result of a statement that has nothing to tell."""
    return told(("result",), [("OK",)], kind=ResultKind.SUCCESS)


def told(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    types: Sequence[LogicalType] | None = None,
    kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
    client: JobClient | None = None,
    is_bounded: bool = True,
) -> TableResult:
    """A result of rows that are there already; texts unless types are given. `is_bounded`: whether its job ends."""
    row_type = row_of(tuple(names), tuple(types or [STRING] * len(names)))
    held = [(0, *row) for row in rows]
    return TableResult(
        row_type,
        lambda: CloseableIterator(iter(held), lambda: None),
        kind=kind,
        client=client,
        is_bounded=is_bounded,
    )
