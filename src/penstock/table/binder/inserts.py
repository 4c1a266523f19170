"""Binding of INSERT: the columns of a query as those of a table, cast where Flink casts by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.errors import PenstockError, SqlValidationError
from penstock.table.algebra.nodes import PlanNode, Project, Sink
from penstock.table.algebra.resolved_tables import ResolvedColumn, ResolvedTable
from penstock.table.binder.expressions import ExpressionBinder, plain_time
from penstock.table.binder.problems import near_names
from penstock.table.binder.scopes import Scope
from penstock.table.binder.session import Session
from penstock.table.binder.tables import check_metadata, resolve_table
from penstock.table.catalog.entries import CatalogTable
from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Call, Literal, TypedExpression

__all__ = ["bind_insert"]

FAMILIES = (
    (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE),
    (Kind.CHAR, Kind.VARCHAR),
    (Kind.BINARY, Kind.VARBINARY),
    (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ, Kind.DATE),
    (Kind.TIME,),
)
"""Kinds that become one another without a cast being written."""


def bind_insert(
    session: Session,
    name: tuple[str, ...],
    plan: PlanNode,
    columns: Sequence[str] | None,
    partition: Mapping[str, exp.Expr],
    options: Mapping[str, str],
    on_conflict: str | None,
) -> Sink:
    """The sink of a query."""
    path, entry = session.find(name)
    if not isinstance(entry, CatalogTable):
        raise SqlValidationError(f"{'.'.join(path)} is a view; INSERT needs a table.")
    table = resolve_table(path, entry, session)
    values = _by_column(session, table, plan, columns, partition)
    connector = session.context.sink_of(path, entry, options)
    check_metadata(table, table.persisted_columns, connector, "write")
    ordered = _written_columns(table, list(connector.metadata()) if hasattr(connector, "metadata") else [])
    written = [
        _fitted(values[each.name], each, table, session) if each.name in values else _missing(each, table)
        for each in ordered
    ]
    if any(isinstance(each, Call) and each.function == "CAST" for each in written):
        # Flink casts all columns where it casts one, so that NULL is allowed wherever the table allows it.
        written = [_as_declared(value, each) for value, each in zip(written, ordered, strict=True)]
    names = tuple([each.name for each in ordered])
    is_same = tuple(written) == plan.fields
    source = plan if is_same else Project(plan, tuple(written), names)
    return Sink(source, table, connector, ordered, on_conflict)


def _as_declared(value: TypedExpression, column: ResolvedColumn) -> TypedExpression:
    """The value with NULL among its type where the column has it."""
    nullable = value.type.nullable or column.type.nullable
    return replace(value, type=value.type.with_nullable(nullable))


def _written_columns(table: ResolvedTable, metadata: list[str]) -> tuple[ResolvedColumn, ...]:
    """The columns as a connector takes them: physical ones, then those of metadata in the order of its list."""
    written = table.persisted_columns
    physical = [each for each in written if each.metadata_key is None]
    others = [each for each in written if each.metadata_key is not None]
    others.sort(key=lambda each: metadata.index(each.metadata_key) if each.metadata_key in metadata else len(metadata))
    return (*physical, *others)


def _by_column(
    session: Session,
    table: ResolvedTable,
    plan: PlanNode,
    columns: Sequence[str] | None,
    partition: Mapping[str, exp.Expr],
) -> dict[str, TypedExpression]:
    known = [each.name for each in table.persisted_columns]
    binder = ExpressionBinder(session, Scope(()))
    values: dict[str, TypedExpression] = {key: binder.value(each) for key, each in partition.items()}
    wanted = [each for each in known if each not in values] if columns is None else list(columns)
    for each in [*wanted, *values]:
        if each not in known:
            raise SqlValidationError(
                f"INSERT INTO {'.'.join(table.path)}: there is no column '{each}' to write to.{near_names(each, known)}"
            )
    if len(wanted) != len(plan.types):
        raise SqlValidationError(
            f"INSERT INTO {'.'.join(table.path)}: the query has {len(plan.types)} columns ({_shown(plan)}), and the "
            f"table takes {len(wanted)} ({', '.join(wanted)}). Select as many, or name the columns to write: "
            f"INSERT INTO t (a, b) SELECT ..."
        )
    values.update(zip(wanted, plan.fields, strict=True))
    return values


def _shown(plan: PlanNode) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in zip(plan.names, plan.types, strict=True))


def _missing(column: ResolvedColumn, table: ResolvedTable) -> TypedExpression:
    if not column.type.nullable:
        raise SqlValidationError(
            f"INSERT INTO {'.'.join(table.path)}: column '{column.name}' is NOT NULL and gets no value; add "
            f"it to the list."
        )
    return Literal(None, column.type)


def _fitted(value: TypedExpression, column: ResolvedColumn, table: ResolvedTable, session: Session) -> TypedExpression:
    """A value as the column takes it; whether NULL is allowed is checked when rows come."""
    target = column.type.as_plain_time()
    plain = plain_time(value)
    wanted = target.with_nullable(value.type.nullable)
    if _is_same(plain.type, wanted):
        return value
    if plain.type.kind is not Kind.NULL and not _fits(plain.type, wanted):
        raise SqlValidationError(
            f"INSERT INTO {'.'.join(table.path)}: column '{column.name}' is {target}, and the query gives {value.type} "
            f"for it; write CAST(... AS {target.with_nullable(True)})."
        )
    try:
        return scalar.cast(plain, wanted)
    except PenstockError as error:
        raise SqlValidationError(f"INSERT INTO {'.'.join(table.path)}: column '{column.name}': {error}") from None


def _is_same(given: LogicalType, wanted: LogicalType) -> bool:
    """Whether values need no change: texts are only cut and padded where a setting says so."""
    if given.same_but_for_null(wanted):
        return True
    if given.kind is Kind.ROW and wanted.kind is Kind.ROW and len(given.parts) == len(wanted.parts):
        return all(_is_same(a, b) for a, b in zip(given.parts, wanted.parts, strict=True))
    if given.kind is wanted.kind and given.parts and len(given.parts) == len(wanted.parts):
        return all(_is_same(a, b) for a, b in zip(given.parts, wanted.parts, strict=True))
    return any(given.kind in each and wanted.kind in each for each in FAMILIES[1:3])


def _fits(given: LogicalType, wanted: LogicalType) -> bool:
    if given.kind is wanted.kind and len(given.parts) == len(wanted.parts):
        return all(_is_same(a, b) or _fits(a, b) for a, b in zip(given.parts, wanted.parts, strict=True))
    return any(given.kind in each and wanted.kind in each for each in FAMILIES)
