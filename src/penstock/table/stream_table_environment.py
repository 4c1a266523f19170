"""`StreamTableEnvironment`: tables and DataStreams in one job, in both directions."""

from __future__ import annotations

from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.common.types import Row, RowKind
from penstock.datastream.stream import DataStream, add_operator
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.runtime.operators.table.stamping import StampOperator
from penstock.table.catalog.columns import MetadataColumn, PhysicalColumn, TableSchema
from penstock.table.catalog.entries import CatalogTable
from penstock.table.changelog_mode import ChangelogMode
from penstock.table.connectors.contract import INSERTS
from penstock.table.element_functions import ToElement, ToNarrowElement
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.expressions import col
from penstock.table.inline_tables import GivenStream
from penstock.table.order_of_changes import kept_in_order
from penstock.table.stream_fields import chosen_fields
from penstock.table.table import Table
from penstock.table.table_descriptor import Schema
from penstock.table.table_environment import TableEnvironment
from penstock.table.type_infos import table_type
from penstock.vocabulary.sql.logical_types import Kind, TimeAttribute, row_of
from penstock.vocabulary.sql.row_kinds import UPDATE_AFTER, UPDATE_BEFORE

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

        Expressions choose columns: `col("name")` in any order, `.alias("other")`, `.rowtime` for the timestamp of an
        element and `.proctime` for the time of processing. If none of them names a field, they rename by position.

        A Schema declares columns instead; `column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")` is the timestamp of
        an element, and `watermark("rowtime", "SOURCE_WATERMARK()")` takes over the watermarks of the stream.
        """
        if any(not isinstance(each, Schema) for each in fields_or_schema):
            return self._of_fields(data_stream, fields_or_schema)
        return self._of_stream(data_stream, fields_or_schema, INSERTS)

    def _of_fields(self, stream: DataStream[Any], given: tuple[Any, ...]) -> Table:
        fields = chosen_fields(given, _inferred(stream, ()))
        if fields.renames_all:
            return self._of_stream(stream, fields.names, INSERTS)
        name = f"Stream${next(self._numbers)}"
        entry = CatalogTable(fields.schema(), inline=GivenStream(stream, INSERTS))
        self._catalogs.create((name,), entry, is_temporary=True)
        return self.from_path(f"`{name}`").select(*[col(at).alias(to) for at, to in fields.choices])

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
        """The changes of a table as a stream of Rows, whose kinds say what they do.

        `target_schema` has the types that columns are cast to, and the primary key of changes by key, which
        `ChangelogMode.upsert()` asks for: those have no rows before an update.
        """
        hidden = 0
        if target_schema is not None:
            table, hidden = self._cast(table, target_schema), _timestamps(target_schema)
        if changelog_mode is None:
            return self._to_stream(table, hidden=hidden)
        is_upsert = UPDATE_AFTER in changelog_mode.kinds and UPDATE_BEFORE not in changelog_mode.kinds
        planned = table.planned.by_key(_key_places(table, target_schema)) if is_upsert else table.planned
        if not planned.changelog_kinds <= changelog_mode.kinds:
            raise SqlError("to_changelog_stream: the table makes changes of kinds that the changelog mode leaves out.")
        return self._to_stream(table, planned, hidden)

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream[Row]:
        """The rows of a table that only adds rows; the older name of `to_data_stream`."""
        return self.to_data_stream(self._renamed(table, type_info))

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream[tuple[bool, Row]]:
        """The changes of a table as pairs: whether a row is added or taken back, and the row."""
        changes = self.to_changelog_stream(self._renamed(table, type_info))
        graph = self.stream_environment.graph
        known = set(graph.nodes)
        pairs: DataStream[tuple[bool, Row]] = changes.map(_told_as_pair)
        kept_in_order(pairs, graph, changes, set(graph.nodes) - known)
        return pairs

    def _cast(self, table: Table, schema: Schema) -> Table:
        """The columns as a schema has them: by name, or by place if a name is another, as in Flink."""
        wanted = [each for each in schema.declared.columns if isinstance(each, PhysicalColumn | MetadataColumn)]
        wanted = [each for each in wanted if not (isinstance(each, MetadataColumn) and each.is_virtual)]
        names = table.planned.row_type.names
        if not schema.declared.physical:
            return table
        if len(wanted) != len(names):
            raise SqlError(
                f"to_changelog_stream: the table has the columns {', '.join(names)}, and the schema has "
                f"{', '.join(each.name for each in wanted)}."
            )
        is_by_name = {each.name for each in wanted} == set(names)
        taken = [each.name for each in wanted] if is_by_name else names
        listed = [_listed(each, name) for each, name in zip(wanted, taken, strict=True)]
        # The timestamp of an element is not among its fields: it goes last, where it can be cut off.
        listed.sort(key=lambda each: each[0])
        return self.sql_query(f"SELECT {', '.join(text for _, text in listed)} FROM {self.name_of(table)}")

    def _renamed(self, table: Table, type_info: TypeInformation) -> Table:
        """The columns under the names and with the types that the elements are to have."""
        declared, names = table_type(type_info), table.planned.row_type.names
        if declared is None or declared.kind is not Kind.ROW or len(declared.names) != len(names):
            return table
        columns = zip(declared.names, declared.parts, names, strict=True)
        listed = ", ".join(_listed(PhysicalColumn(name, type_), taken)[1] for name, type_, taken in columns)
        return self.sql_query(f"SELECT {listed} FROM {self.name_of(table)}")

    def _to_stream(self, table: Table, planned: Any = None, hidden: int = 0) -> DataStream[Row]:
        """The rows as a stream; the last `hidden` columns are no fields of it."""
        rows = self.translate(planned or table.planned)
        row_type = table.planned.row_type
        graph = self.stream_environment.graph
        known, source = set(graph.nodes), rows
        for index, each in enumerate(row_type.parts):
            if each.time_attribute is TimeAttribute.ROWTIME:
                stamp = StampOperator(rowtime=index)
                rows = add_operator(self.stream_environment, "Event time", stamp, rows.edges, None, is_checked=False)
                break
        shown = len(row_type.names) - hidden
        narrow = row_of(row_type.names[:shown], row_type.parts[:shown])
        made: DataStream[Row] = rows.map(ToNarrowElement(narrow) if hidden else ToElement(row_type))
        kept_in_order(made, graph, source, set(graph.nodes) - known)
        return made


def _listed(column: PhysicalColumn | MetadataColumn, taken: str) -> tuple[bool, str]:
    """Whether a column is the timestamp of elements, and how it is selected; a cast would end a time attribute."""
    if isinstance(column, MetadataColumn):
        if column.metadata_key != "rowtime":
            raise SqlError(f"to_changelog_stream: elements have no metadata '{column.name}'; there is 'rowtime'.")
        return True, f"`{taken}` AS `{column.name}`"
    return False, f"CAST(`{taken}` AS {column.type.with_nullable(True)}) AS `{column.name}`"


def _timestamps(schema: Schema) -> int:
    """How many columns of a schema are written as the timestamp of elements."""
    columns = schema.declared.columns if schema.declared.physical else ()
    return sum(isinstance(each, MetadataColumn) and not each.is_virtual for each in columns)


def _told_as_pair(row: Row) -> tuple[bool, Row]:
    adds = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
    row.set_row_kind(RowKind.INSERT)
    return adds, row


def _key_places(table: Table, schema: Schema | None) -> tuple[int, ...]:
    key = None if schema is None else schema.declared.primary_key
    if key is None:
        raise SqlError(
            "to_changelog_stream: changes by key need one; pass a Schema with primary_key(...), or another changelog "
            "mode."
        )
    names = table.planned.row_type.names
    unknown = [each for each in key.columns if each not in names]
    if unknown:
        raise SqlError(f"to_changelog_stream: the primary key names a column '{unknown[0]}' that is not there.")
    return tuple([names.index(each) for each in key.columns])


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
