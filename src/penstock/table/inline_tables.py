"""Tables that are no connector's: rows or a DataStream that the program gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.connectors.generated.held_rows import RowSource
from penstock.datastream.stream import DataStream
from penstock.table.connectors.contract import INSERTS, TableSource
from penstock.table.element_functions import ToRow
from penstock.table.order_of_changes import kept_in_order
from penstock.vocabulary.functions import ProcessFunction
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of

__all__ = ["GivenRows", "GivenStream"]

ROWTIME = "rowtime"


class GivenRows(TableSource):
    """Rows of internal values, `(kind, *fields)`."""

    is_bounded = True

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        """Keep the rows."""
        self.rows = rows

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        """The rows."""
        made: DataStream[tuple[Any, ...]] = environment.from_source(RowSource(self.rows), None, name or "elements")
        return made


class GivenStream(TableSource):
    """A DataStream of the program; `kinds` are those of a changelog stream.

    Its metadata `rowtime` is the timestamp of each element.
    """

    has_watermarks = True
    """`SOURCE_WATERMARK()` means those of the stream."""

    def __init__(self, stream: DataStream[Any], kinds: frozenset[int] = INSERTS) -> None:
        """Keep the stream."""
        self.given = stream
        self.changelog_kinds = kinds

    def metadata(self) -> Mapping[str, LogicalType]:
        """The timestamp of an element."""
        return {ROWTIME: LogicalType(Kind.TIMESTAMP_LTZ, parameters=(3,))}

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        """Its elements as rows; those of append-only streams are insertions whatever their kind."""
        width = len(row_type.names) - len(metadata)
        physical = row_of(row_type.names[:width], row_type.parts[:width])
        convert = ToRow(physical, self.changelog_kinds == INSERTS)
        graph = environment.graph
        known = set(graph.nodes)
        made: DataStream[tuple[Any, ...]] = (
            self.given.process(_Stamped(convert, len(metadata))) if metadata else self.given.map(convert)
        )
        kept_in_order(made, graph, self.given, set(graph.nodes) - known)
        return made


class _Stamped(ProcessFunction[Any, tuple[Any, ...]]):
    """Adds the timestamp of an element to its row."""

    def __init__(self, convert: ToRow, count: int) -> None:
        self.convert = convert
        self.count = count

    def process_element(self, value: Any, ctx: Any, /) -> Iterator[tuple[Any, ...]]:
        """The row of an element."""
        yield (*self.convert(value), *[ctx.timestamp()] * self.count)
