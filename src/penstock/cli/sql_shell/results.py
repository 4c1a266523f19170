"""Results as they are printed: in a frame, as JSON lines or as CSV."""

from __future__ import annotations

import csv
import enum
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any, TextIO

from penstock.cli.output import one_line
from penstock.cli.sql_shell.materialized_table import MaterializedTable
from penstock.cli.sql_shell.shell_settings import MOST_ROWS, ResultMode, ShellSettings
from penstock.table.connectors.json_values import to_json
from penstock.table.printed_tables import framed, framed_changelog
from penstock.table.shown_values import shown_rows
from penstock.table.table_result import TableResult
from penstock.vocabulary.sql.row_kinds import INSERT, SHORT_NAMES

Row = tuple[Any, ...]


class OutputFormat(enum.Enum):
    """What a result is written as."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class ResultPrinter:
    """Writes results to a stream in one format."""

    def __init__(
        self,
        out: TextIO,
        output_format: OutputFormat = OutputFormat.TABLE,
        while_collecting: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Write to a stream; `while_collecting` is entered while a result is waited for that is shown at its end."""
        self._out = out
        self.format = output_format
        self._while_collecting = while_collecting

    def show(self, result: TableResult, settings: ShellSettings, began: float | None = None) -> None:
        """Write a result to its end; `began` is when its statement was given, on the monotonic clock."""
        with closing(result.rows()) as rows:
            lines: Iterable[str]
            if self.format is OutputFormat.TABLE and _is_document(result):
                lines = [one_line(line) for _, text in rows for line in str(text).rstrip().splitlines()]
            elif self.format is OutputFormat.TABLE:
                lines = self._framed(result, safe_texts(result, rows), settings)
                lines = _with_time(lines, began if settings.prints_time else None)
            else:
                lines = _records(_RECORDS[self.format](result), result, rows, settings)
            for line in lines:
                self._out.write(line + "\n")
                if not result.is_bounded:
                    self._out.flush()  # somebody watches it, or reads it from a pipe
            self._out.flush()

    def _framed(self, result: TableResult, shown: Iterator[Row], settings: ShellSettings) -> Iterator[str]:
        names, types = result.row_type.names, result.row_type.parts
        if _shows_changes(result, settings):
            yield from framed_changelog(names, types, ((SHORT_NAMES[row[0]], row[1:]) for row in shown))
            return
        table: MaterializedTable[Row] = MaterializedTable(settings.most_rows)
        with self._while_collecting():
            for row in shown:
                table.change(row[0], row[1:])
        table.finish()
        if table.dropped:
            yield f"({table.dropped:,} earlier rows are not shown; {MOST_ROWS} = {settings.most_rows:,})"
        yield from framed(names, list(table.rows())).splitlines()


def _is_document(result: TableResult) -> bool:
    """Whether a result is a text of many lines, of EXPLAIN or SHOW CREATE, which a frame would spoil."""
    return result.get_job_client() is None and result.row_type.names == ("result",)


def safe_texts(result: TableResult, rows: Iterable[Row]) -> Iterator[Row]:
    """Rows `(kind, *texts)` as `print()` shows them, without characters that a terminal would act on."""
    for row in shown_rows(result.row_type, rows, result.zone):
        yield row[0], *[None if each is None else one_line(each) for each in row[1:]]


def _shows_changes(result: TableResult, settings: ShellSettings) -> bool:
    """Whether every change is a line; a table that never ends cannot be printed otherwise, answers have no changes."""
    is_query = result.get_job_client() is not None
    return is_query and (not result.is_bounded or settings.mode is not ResultMode.TABLE)


def _with_time(lines: Iterator[str], began: float | None) -> Iterator[str]:
    """The time that a statement took, behind its last line."""
    last: str | None = None
    for line in lines:
        if last is not None:
            yield last
        last = line
    if last is not None:
        yield last if began is None else f"{last} ({time.monotonic() - began:.2f} seconds)"


class _JsonLines:
    """A JSON object a line, with the op before the columns."""

    def __init__(self, result: TableResult) -> None:
        self._convert = to_json(result.row_type)
        self._op = "op" if "op" not in result.row_type.names else "_op"

    header: tuple[str, ...] = ()

    def contents(self, rows: Iterable[Row]) -> Iterator[tuple[int, str]]:
        return ((row[0], json.dumps(self._convert(row[1:]), ensure_ascii=False)) for row in rows)

    def line(self, kind: int, content: str) -> str:
        return f'{{"{self._op}": "{SHORT_NAMES[kind]}", {content[1:]}'


class _CsvLines:
    """A header, then a line a row, with the op before the columns; NULL is an empty field."""

    def __init__(self, result: TableResult) -> None:
        self._result = result
        self.header = (_csv_line(["op", *result.row_type.names]),)

    def contents(self, rows: Iterable[Row]) -> Iterator[tuple[int, str]]:
        shown = shown_rows(self._result.row_type, rows, self._result.zone)
        return ((row[0], _csv_line(row[1:])) for row in shown)

    def line(self, kind: int, content: str) -> str:
        return f"{SHORT_NAMES[kind]},{content}"


_RECORDS: dict[OutputFormat, Callable[[TableResult], _JsonLines | _CsvLines]] = {
    OutputFormat.JSON: _JsonLines,
    OutputFormat.CSV: _CsvLines,
}


def _records(
    records: _JsonLines | _CsvLines, result: TableResult, rows: Iterable[Row], settings: ShellSettings
) -> Iterator[str]:
    yield from records.header
    contents = records.contents(rows)
    if _shows_changes(result, settings) or not result.has_updates:
        yield from (records.line(kind, content) for kind, content in contents)
        return
    table: MaterializedTable[str] = MaterializedTable(settings.most_rows)
    for kind, content in contents:
        table.change(kind, content)
    table.finish()
    yield from (records.line(INSERT, content) for content in table.rows())


def _csv_line(values: Sequence[Any]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(["" if each is None else each for each in values])
    return out.getvalue()
