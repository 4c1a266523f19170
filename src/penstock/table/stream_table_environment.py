"""`StreamTableEnvironment`: tables and DataStreams in one job, in both directions."""

from __future__ import annotations

from typing import Any

from penstock.common.types import Row
from penstock.datastream.stream import DataStream, add_operator
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.runtime.operators.table.stamping import StampOperator
from penstock.table.catalog.columns import PhysicalColumn, TableSchema
from penstock.table.catalog.entries import CatalogTable
from penstock.table.changelog_mode import ChangelogMode
from penstock.table.connectors.contract import INSERTS
from penstock.table.element_functions import ToElement
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.inline_tables import GivenStream
from penstock.table.table import Table
from penstock.table.table_descriptor import Schema
from penstock.table.table_environment import TableEnvironment
from penstock.table.type_infos import table_type
from penstock.vocabulary.sql.logical_types import Kind, TimeAttribute

__all__ = ["StreamTableEnvironment"]


class StreamTableEnvironment(TableEnvironment):
    """A table environment on a `StreamExecutionEnvironment`; its `execute` runs what was turned into streams."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Return a new environment."""
        return StreamTableEnvironment(environment_settings, stream_execution_environment)

    # ---- from streams ----

    def from_data_stream(self, data_stream: DataStream[Any], *fields_or_schema: Any) -> Table:
        """A table of the elements of a stream: its fields are the columns.

        A Schema declares columns instead; `column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")` is the timestamp of
        an element, and `watermark("rowtime", "SOURCE_WATERMARK()")` takes over the watermarks of the stream.
        """
        return self._of_stream(data_stream, fields_or_schema, INSERTS)

    def from_changelog_stream(
        self,
        data_stream: DataStream[Row],
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """A table of a stream of changes: Rows whose kinds say what they do."""
        mode = changelog_mode or ChangelogMode.all()
        return self._of_stream(data_stream, () if schema is None else (schema,), mode.kinds)

    def _of_stream(self, stream: DataStream[Any], given: tuple[Any, ...], kinds: frozenset[int]) -> Table:
        name = f"Stream${next(self._numbers)}"
        entry = CatalogTable(_stream_schema(stream, given), inline=GivenStream(stream, kinds))
        self._catalogs.create((name,), entry, is_temporary=True)
        return self.from_path(f"`{name}`")

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any) -> None:
        """Give a Table or a DataStream a name for statements."""
        if isinstance(table_or_data_stream, DataStream):
            table_or_data_stream = self.from_data_stream(table_or_data_stream, *fields_or_schema)
        super().create_temporary_view(view_path, table_or_data_stream)

    # ---- to streams ----

    def to_data_stream(self, table: Table) -> DataStream[Row]:
        """The rows of a table that only adds rows, as a stream of Rows; event time and watermarks are kept."""
        kinds = table.planned.changelog_kinds
        if kinds != INSERTS:
            raise SqlError(
                "to_data_stream: the table updates or deletes rows, which a stream of insertions cannot show; use "
                "to_changelog_stream."
            )
        return self._to_stream(table)

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> DataStream[Row]:
        """The changes of a table as a stream of Rows, whose kinds say what they do."""
        if changelog_mode is not None and not table.planned.changelog_kinds <= changelog_mode.kinds:
            raise SqlError("to_changelog_stream: the table makes changes of kinds that the changelog mode leaves out.")
        return self._to_stream(table)

    def _to_stream(self, table: Table) -> DataStream[Row]:
        rows = self.translate(table.planned)
        row_type = table.planned.row_type
        for index, each in enumerate(row_type.parts):
            if each.time_attribute is TimeAttribute.ROWTIME:
                stamp = StampOperator(rowtime=index)
                rows = add_operator(self.stream_environment, "Event time", stamp, rows.edges, None, is_checked=False)
                break
        made: DataStream[Row] = rows.map(ToElement(row_type))
        return made


def _stream_schema(stream: DataStream[Any], given: tuple[Any, ...]) -> TableSchema:
    if len(given) == 1 and isinstance(given[0], Schema):
        declared = given[0].declared
        if declared.physical:
            return declared
        inferred = _inferred(stream, ())
        return TableSchema((*inferred, *declared.columns), declared.watermark, declared.primary_key)
    return TableSchema(_inferred(stream, given))


def _inferred(stream: DataStream[Any], names: tuple[Any, ...]) -> tuple[PhysicalColumn, ...]:
    declared = None if stream.output_type is None else table_type(stream.output_type)
    if declared is None:
        raise SqlError(
            "from_data_stream: the stream declares no type that columns could be made of; give it an output_type, as "
            "in map(..., output_type=Types.ROW_NAMED(...)), or pass a Schema."
        )
    if declared.kind is not Kind.ROW:
        return (PhysicalColumn(str(names[0]) if names else "f0", declared),)
    columns = names or declared.names
    return tuple(PhysicalColumn(str(name), part) for name, part in zip(columns, declared.parts, strict=True))
