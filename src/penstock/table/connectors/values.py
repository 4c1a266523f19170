"""The connector 'values', for tests: a table reads rows that were registered, and a sink keeps what it gets.

`register(rows)` returns an id for the option `data-id`; `results(name)` are the rows that were written to a table, as
`(kind, *fields)` of internal values, in the order in which they came.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.common.types import Row
from penstock.connectors.driver_sinks import ListSink
from penstock.connectors.generated.held_rows import RowSource
from penstock.datastream.stream import DataStream
from penstock.errors import SqlError
from penstock.runtime.lookups import AsyncLookup, Lookup
from penstock.runtime.operators.sink import DriverSinkOperator
from penstock.table.connectors.contract import (
    ALL_KINDS,
    INSERTS,
    Connector,
    LookupOffer,
    LookupRequest,
    TableContext,
    TableSink,
    TableSource,
    kinds_of_text,
)
from penstock.table.sql import parse_type
from penstock.vocabulary.sql.external_values import internal_row
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import UPDATE_BEFORE

__all__ = ["ValuesConnector", "clear", "register", "results"]

_data: dict[str, list[Any]] = {}
_results: dict[str, list[tuple[Any, ...]]] = {}
_ids = itertools.count(1)


def register(rows: Sequence[Any]) -> str:
    """Keep rows (Row, tuple, dict) for a table WITH ('connector' = 'values', 'data-id' = the id returned)."""
    key = str(next(_ids))
    _data[key] = list(rows)
    return key


def results(name: str) -> list[tuple[Any, ...]]:
    """The rows written to the table of that full name so far."""
    return _results.setdefault(name, [])


def clear() -> None:
    """Forget all rows."""
    _data.clear()
    _results.clear()


class ValuesConnector(Connector):
    """Rows in memory."""

    name = "values"

    def keys(self) -> Mapping[str, str]:
        """Those of Flink's connector of that name; most concern its own tests and are read by nobody."""
        unused = """enable-watermark-push-down runtime-source filterable-fields
        lookup-function-class enable-projection-push-down partition-list source.num-element-to-skip
        nested-projection-supported runtime-sink sink-expected-messages-num table-sink-class
        enable-vector-search sink.parallelism source.parallelism partition-push-down scan.parallelism
        source.sleep-after-elements source.sleep-time sink.drop-late-event enable-aggregate-push-down
        dynamic-filtering-fields lookup-threshold"""
        return {
            "data-id": "what `register` returned",
            "changelog-mode": "kinds of rows the source gives",
            "bounded": "whether the source is bounded",
            "terminating": "whether the source ends",
            "rows-per-batch": "how many rows a batch reads at most, so that several sources take turns",
            "disable-lookup": "whether the table cannot be looked up by key",
            "async": "whether it can be looked up asynchronously too",
            "lookup-data-id": "the rows that are looked up, where they are not those of data-id",
            "readable-metadata": "metadata columns, `key:TYPE`, separated by commas",
            "writable-metadata": "metadata columns that can be written",
            "sink-insert-only": "whether the sink takes insertions only",
            "sink-changelog-mode-enforced": "kinds of rows the sink takes",
            "sink.supports-delete-by-key": "whether rows that delete may hold the key only",
            "source.produces-delete-by-key": "whether rows that delete hold the key only",
            **dict.fromkeys(unused.split(), "ignored"),
        }

    def source(self, table: TableContext) -> TableSource:
        """The registered rows."""
        return _ValuesSource(table)

    def sink(self, table: TableContext) -> TableSink:
        """A list."""
        return _ValuesSink(table)


def _metadata(text: str | None) -> dict[str, LogicalType]:
    pairs = [each.split(":", 1) for each in _split(text or "")]
    return {key.strip(): parse_type(type_) for key, type_ in pairs}


def _split(text: str) -> list[str]:
    """At commas that are not inside brackets."""
    parts, depth = [""], 0
    for each in text:
        depth += (each in "(<") - (each in ")>")
        if each == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += each
    return [each for each in parts if each.strip()]


def _narrowed(row: Any, width: int) -> Any:
    """Rows may hold more than the table declares."""
    if isinstance(row, Row) and row._fields is None and len(row) > width:
        return Row.of_fields(None, list(row)[:width], row.get_row_kind())
    return row


class _ValuesSource(TableSource):
    def __init__(self, table: TableContext) -> None:
        self.table = table
        self.is_bounded = table.options.boolean("terminating", True)
        self.watermark_after_each_row = table.options.get("scan.watermark.emit.strategy") == "on-event"
        self.changelog_kinds = kinds_of_text(table.options.get("changelog-mode") or "I")
        self.deletes_by_key = table.options.boolean("source.produces-delete-by-key", False)
        self.can_be_looked_up = not table.options.boolean("disable-lookup", False)

    def metadata(self) -> Mapping[str, LogicalType]:
        return _metadata(self.table.options.get("readable-metadata"))

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        rows = self._rows(self.table.options.get("data-id") or "", row_type)
        source = RowSource(rows, self.is_bounded, self.table.options.integer("rows-per-batch"))
        made: DataStream[tuple[Any, ...]] = environment.from_source(source, None, name or self.table.path[-1])
        return made

    def _rows(self, key: str, row_type: LogicalType) -> list[tuple[Any, ...]]:
        if key and key not in _data:
            raise SqlError(f"Table {self.table.name}: no rows were registered under data-id '{key}'.")
        convert = internal_row(row_type)
        width = len(row_type.names)
        return [convert(_narrowed(each, width)) for each in _data.get(key, ())]

    def lookup(self, request: LookupRequest) -> LookupOffer:
        options = self.table.options
        key = options.get("lookup-data-id") or options.get("data-id") or ""
        whole = self.table.physical_type
        places = [whole.names.index(each) + 1 for each in request.row_type.names]
        found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for row in self._rows(key, whole):
            fields = tuple([row[place] for place in places])
            found.setdefault(tuple([fields[each] for each in request.keys]), []).append(fields)
        is_asynchronous = options.boolean("async", False)
        return LookupOffer(_HeldRows(found), _AsyncHeldRows(found) if is_asynchronous else None)


class _HeldRows(Lookup):
    def __init__(self, rows: dict[tuple[Any, ...], list[tuple[Any, ...]]]) -> None:
        self.rows = rows

    def find(self, keys: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        return [self.rows.get(key, []) for key in keys]


class _AsyncHeldRows(AsyncLookup):
    def __init__(self, rows: dict[tuple[Any, ...], list[tuple[Any, ...]]]) -> None:
        self.rows = rows

    async def find(self, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self.rows.get(key, [])


class _ValuesSink(TableSink):
    can_overwrite = True  # as in Flink's tests, where it changes nothing

    def __init__(self, table: TableContext) -> None:
        self.table = table
        self.deletes_by_key = table.options.boolean("sink.supports-delete-by-key", False)

    def metadata(self) -> Mapping[str, LogicalType]:
        return _metadata(self.table.options.get("writable-metadata"))

    def accepts(self, kinds: frozenset[int]) -> frozenset[int]:
        enforced = self.table.options.get("sink-changelog-mode-enforced")
        if enforced is not None:
            return kinds_of_text(enforced)
        if self.table.options.boolean("sink-insert-only", True):
            return INSERTS
        return kinds - {UPDATE_BEFORE} if self.table.primary_key else kinds & ALL_KINDS

    def consume(
        self,
        stream: DataStream[tuple[Any, ...]],
        row_type: LogicalType,
        primary_key: tuple[int, ...] = (),
        name: str = "",
        metadata: tuple[str, ...] = (),
    ) -> Any:
        sink = DriverSinkOperator(ListSink(results(self.table.name)))
        return stream._end(name or self.table.path[-1], sink)
