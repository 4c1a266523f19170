"""The connectors 'print' and 'blackhole'."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.connectors.discarding_sink import DiscardingSink
from penstock.connectors.driver_sinks import PrintSink
from penstock.datastream.stream import DataStream
from penstock.runtime.operators.sink import DriverSinkOperator
from penstock.table.connectors.contract import Connector, TableContext, TableSink
from penstock.table.java_texts import java_row_text
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import UPDATE_BEFORE

__all__ = ["BlackHoleConnector", "PrintConnector"]


@dataclass(frozen=True)
class TablePrintSink(PrintSink):
    """Prints rows of a table as Flink's connector does: `+I[1, a]`."""

    row_type: LogicalType | None = None

    def lines(self, values: list[Any], lead: str) -> Iterator[str]:
        """A line for each row."""
        assert self.row_type is not None
        write: Callable[[tuple[Any, ...]], str] = java_row_text(self.row_type)
        for value in values:
            yield f"{lead}{write(value)}\n"


class _PrintTable(TableSink):
    def __init__(self, table: TableContext) -> None:
        self.identifier = table.options.get("print-identifier") or ""
        self.to_stderr = table.options.boolean("standard-error")

    def accepts(self, kinds: frozenset[int]) -> frozenset[int]:
        return kinds

    def consume(
        self,
        stream: DataStream[tuple[Any, ...]],
        row_type: LogicalType,
        primary_key: tuple[int, ...] = (),
        name: str = "",
        metadata: tuple[str, ...] = (),
    ) -> Any:
        sink = TablePrintSink(self.identifier, self.to_stderr, row_type=row_type)
        return stream._end(name or "print", DriverSinkOperator(sink))


class PrintConnector(Connector):
    """Prints every row to standard output."""

    name = "print"

    def keys(self) -> Mapping[str, str]:
        """How lines begin and where they go."""
        return {
            "print-identifier": "put before each line",
            "standard-error": "whether to print to standard error",
            "sink.parallelism": "parallelism of the sink",
        }

    def sink(self, table: TableContext) -> TableSink:
        """A printer."""
        return _PrintTable(table)


class _NothingTable(TableSink):
    def accepts(self, kinds: frozenset[int]) -> frozenset[int]:
        return kinds - {UPDATE_BEFORE}  # as Flink's: who drops rows does not need them twice

    def consume(
        self,
        stream: DataStream[tuple[Any, ...]],
        row_type: LogicalType,
        primary_key: tuple[int, ...] = (),
        name: str = "",
        metadata: tuple[str, ...] = (),
    ) -> Any:
        return stream.sink_to(DiscardingSink())


class BlackHoleConnector(Connector):
    """Drops every row."""

    name = "blackhole"

    def keys(self) -> Mapping[str, str]:
        """None."""
        return {"sink.parallelism": "parallelism of the sink"}

    def sink(self, table: TableContext) -> TableSink:
        """A sink that does nothing."""
        return _NothingTable()
