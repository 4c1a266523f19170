"""Descriptions of sinks that run on the driver: print, collect, Spark writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.common.types import Row, changelog_text


@dataclass(frozen=True)
class PrintSink:
    """Print every record, as Flink's print(): at-least-once, a replayed batch may print again.

    A line is "identifier:subtask> value"; the subtask is shown when the sink's parallelism is above one. Rows of a
    declared type (`has_row_type`) are shown with their kind, `+I[a,1]`, as PyFlink does.
    """

    identifier: str = ""
    to_stderr: bool = False
    has_row_type: bool = False

    def lines(self, values: list[Any], lead: str) -> Iterator[str]:
        """Return the lines to print for some records."""
        for value in values:
            shown = changelog_text(value, ",") if self.has_row_type and isinstance(value, Row) else value
            yield f"{lead}{shown}\n"


@dataclass(frozen=True)
class CollectSink:
    """Hand every record to the program that started the job, once (`execute_and_collect`)."""

    id: str


@dataclass(frozen=True)
class ListSink:
    """Append every record, once, to a list of the program that started the job."""

    results: list[Any]


@dataclass(frozen=True)
class SparkWriterSink:
    """Pass the records of each batch to `write(data_frame, batch_id)`, to use any Spark writer.

    At-least-once, or exactly-once if `write` ignores a repeated `batch_id`. `schema` is a TypeInformation, a DDL text,
    or None to infer the columns from the records of the batch.
    """

    write: Callable[[Any, int], None]
    schema: Any = None
