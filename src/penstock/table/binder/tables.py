"""Tables of the catalog with bound expressions, and the plans that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.algebra.nodes import Normalize, PlanNode, Project, Scan, WatermarkAssigner
from penstock.table.algebra.resolved_tables import ResolvedColumn, ResolvedTable
from penstock.table.binder.expressions import ExpressionBinder, plain_time
from penstock.table.binder.function_calls import function_name
from penstock.table.binder.problems import Problems, near_names
from penstock.table.binder.scopes import Relation, Scope
from penstock.table.binder.session import Session
from penstock.table.catalog.columns import ComputedColumn, MetadataColumn
from penstock.table.catalog.entries import CatalogTable
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, TimeAttribute
from penstock.vocabulary.sql.row_kinds import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.typed_expressions import FieldRef, TypedExpression

__all__ = ["resolve_table", "scan_of"]


def resolve_table(path: tuple[str, ...], entry: CatalogTable, session: Session) -> ResolvedTable:
    """The table with types for all of its columns, computed ones too, and a bound watermark expression."""
    schema = entry.schema
    key_names = () if schema.primary_key is None else schema.primary_key.columns
    _check_names(path, key_names, schema.names, "primary key")
    plain = [_stored(each, each.name in key_names) for each in schema.columns if not isinstance(each, ComputedColumn)]
    physical = [each for each in plain if each.metadata_key is None]
    ordered = [*physical, *[each for each in plain if each.metadata_key is not None]]
    scope = Scope((_relation(path, ordered),))
    by_name = {each.name: each for each in plain}
    columns = [
        _computed(each, scope, session) if isinstance(each, ComputedColumn) else by_name[each.name]
        for each in schema.columns
    ]
    table = ResolvedTable(
        path,
        tuple(columns),
        primary_key=tuple([schema.names.index(each) for each in key_names]),
        options=tuple(sorted(entry.options.items())),
        origin=entry,
    )
    return table if schema.watermark is None else _with_watermark(table, entry, session)


def _stored(column: object, is_key: bool) -> ResolvedColumn:
    assert not isinstance(column, ComputedColumn)
    declared: LogicalType = column.type  # type: ignore[attr-defined]
    kind = declared.not_null() if is_key else declared
    if isinstance(column, MetadataColumn):
        return ResolvedColumn(column.name, kind, metadata_key=column.metadata_key, is_virtual=column.is_virtual)
    return ResolvedColumn(column.name, kind)  # type: ignore[attr-defined]


def _relation(path: tuple[str, ...], columns: list[ResolvedColumn]) -> Relation:
    names, types = tuple([each.name for each in columns]), tuple([each.type for each in columns])
    return Relation(path[-1] if path else None, names, types)


def _expression_binder(text: str, scope: Scope, session: Session) -> ExpressionBinder:
    return ExpressionBinder(replace(session, problems=Problems(text)), scope)


def _computed(column: ComputedColumn, scope: Scope, session: Session) -> ResolvedColumn:
    parsed = session.context.parse_expression(column.expression)
    bound = _expression_binder(column.expression, scope, session).bind(parsed)
    return ResolvedColumn(column.name, bound.type, expression=bound)


def _with_watermark(table: ResolvedTable, entry: CatalogTable, session: Session) -> ResolvedTable:
    spec = entry.schema.watermark
    assert spec is not None
    _check_names(table.path, (spec.column,), entry.schema.names, "watermark")
    rowtime = entry.schema.names.index(spec.column)
    declared = table.columns[rowtime].type
    if declared.kind not in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ) or declared.precision > 3:
        raise SqlValidationError(
            f"Table {'.'.join(table.path)}: the watermark column '{spec.column}' must be TIMESTAMP(3) or "
            f"TIMESTAMP_LTZ(3), or a lower precision, but it is {declared}; cast it in a computed column."
        )
    columns = list(table.columns)
    columns[rowtime] = replace(columns[rowtime], type=replace(declared, time_attribute=TimeAttribute.ROWTIME))
    relation = Relation(table.path[-1], entry.schema.names, tuple([each.type for each in table.columns]))
    parsed = session.context.parse_expression(spec.expression)
    if function_name(parsed) == "SOURCE_WATERMARK":
        # Connectors give no watermarks of their own: rows of a source are taken to be in the order of time.
        parsed = exp.column(spec.column)
    watermark = _expression_binder(spec.expression, Scope((relation,)), session).value(parsed)
    return replace(table, columns=tuple(columns), rowtime=rowtime, watermark=watermark)


def _check_names(path: tuple[str, ...], wanted: tuple[str, ...], known: tuple[str, ...], what: str) -> None:
    for name in wanted:
        if name not in known:
            raise SqlValidationError(
                f"Table {'.'.join(path)}: the {what} names a column '{name}' that is not "
                f"there.{near_names(name, known)}"
            )


def scan_of(table: ResolvedTable, entry: CatalogTable, session: Session, options: Mapping[str, str]) -> PlanNode:
    """The plan that reads all columns of a table: what the connector gives, computed columns, watermark."""
    source = entry.inline if entry.inline is not None else session.context.source_of(table.path, entry, options)
    check_metadata(table, table.source_columns, source, "read")
    scan: PlanNode = Scan(table, tuple(range(len(table.source_columns))), source, tuple(sorted(options.items())))
    positions = {each.name: index for index, each in enumerate(table.source_columns)}
    if [each.name for each in table.columns] != list(scan.names):
        expressions = tuple([_read(each, positions, scan) for each in table.columns])
        scan = Project(scan, expressions, tuple([each.name for each in table.columns]))
    if table.rowtime is not None and table.watermark is not None:
        scan = WatermarkAssigner(scan, table.rowtime, table.watermark)
    return _complete(scan, table, source, session)


def check_metadata(table: ResolvedTable, columns: Sequence[ResolvedColumn], connector: Any, verb: str) -> None:
    """Refuse metadata columns that a connector knows nothing of."""
    known = list(connector.metadata()) if hasattr(connector, "metadata") else []
    for each in columns:
        if each.metadata_key is not None and each.metadata_key not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise SqlValidationError(
                f"Table {'.'.join(table.path)}: column '{each.name}' is metadata '{each.metadata_key}', which the "
                f"connector cannot {verb}; {has}. A column that is only read is METADATA VIRTUAL."
            )


def _complete(scan: PlanNode, table: ResolvedTable, source: Any, session: Session) -> PlanNode:
    """The rows as a complete changelog: upserts, and changes that may be repeated, are completed by primary key."""
    kinds = set(source.changelog_kinds)
    is_upsert = UPDATE_AFTER in kinds and UPDATE_BEFORE not in kinds
    repeats = session.context.settings.get("table.exec.source.cdc-events-duplicate", "false").lower() == "true"
    may_repeat = repeats and kinds != {INSERT} and bool(table.primary_key)
    if not is_upsert and not may_repeat:
        return scan
    if not table.primary_key:
        raise SqlValidationError(
            f"Table {'.'.join(table.path)} gives updates without the rows before them, so it needs a primary key: "
            f"declare PRIMARY KEY (...) NOT ENFORCED."
        )
    return Normalize(scan, table.primary_key, is_needed=may_repeat)


def _read(column: ResolvedColumn, positions: dict[str, int], scan: PlanNode) -> TypedExpression:
    if column.expression is None:
        return FieldRef(positions[column.name], scan.types[positions[column.name]].as_plain_time())
    is_proctime = column.expression.type.time_attribute is TimeAttribute.PROCTIME
    return column.expression if is_proctime else plain_time(column.expression)
