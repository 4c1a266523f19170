"""From a type as the grammar read it to a LogicalType."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import SqlParserError
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType, row_of

__all__ = ["logical_type"]

SIMPLE = {
    exp.DType.BOOLEAN: Kind.BOOLEAN,
    exp.DType.TINYINT: Kind.TINYINT,
    exp.DType.SMALLINT: Kind.SMALLINT,
    exp.DType.INT: Kind.INTEGER,
    exp.DType.BIGINT: Kind.BIGINT,
    exp.DType.FLOAT: Kind.FLOAT,
    exp.DType.DOUBLE: Kind.DOUBLE,
    exp.DType.DATE: Kind.DATE,
    exp.DType.NULL: Kind.NULL,
}

# With the parameters that a type has when none are written.
SIZED: dict[exp.DType, tuple[Kind, tuple[int, ...]]] = {
    exp.DType.DECIMAL: (Kind.DECIMAL, (10, 0)),
    exp.DType.CHAR: (Kind.CHAR, (1,)),
    exp.DType.VARCHAR: (Kind.VARCHAR, (MAX_LENGTH,)),
    exp.DType.BINARY: (Kind.BINARY, (1,)),
    exp.DType.VARBINARY: (Kind.VARBINARY, (MAX_LENGTH,)),
    exp.DType.TEXT: (Kind.VARCHAR, (MAX_LENGTH,)),
    exp.DType.BLOB: (Kind.VARBINARY, (MAX_LENGTH,)),
    exp.DType.TIME: (Kind.TIME, (0,)),
    exp.DType.TIMESTAMP: (Kind.TIMESTAMP, (6,)),
    exp.DType.TIMESTAMPLTZ: (Kind.TIMESTAMP_LTZ, (6,)),
}

NESTED = {exp.DType.ARRAY: Kind.ARRAY, exp.DType.MAP: Kind.MAP, exp.DType.LIST: Kind.MULTISET}


def logical_type(node: exp.Expr, nullable: bool | None = None) -> LogicalType:
    """The type that a node of the grammar stands for; `nullable` decides if the node itself says nothing."""
    if not isinstance(node, exp.DataType):
        raise SqlParserError(f"{node.sql()} is not a type")
    declared = node.args.get("nullable")
    is_nullable = nullable if nullable is not None else declared is not False
    return _bare(node).with_nullable(is_nullable)


def _bare(node: exp.DataType) -> LogicalType:
    kind = node.this
    if isinstance(kind, exp.Interval):
        return _interval(kind)
    if kind in SIMPLE:
        return LogicalType(SIMPLE[kind])
    if kind in SIZED:
        return _sized(*SIZED[kind], node)
    if kind in NESTED:
        return LogicalType(NESTED[kind], parts=tuple(map(logical_type, node.expressions)))
    if kind is exp.DType.STRUCT:
        names = tuple(each.name for each in node.expressions)
        return row_of(names, tuple(logical_type(each.args["kind"]) for each in node.expressions), nullable=True)
    raise SqlParserError(f"Type {node.sql('flink')} is not supported; docs/sql.md lists those that are.")


def _sized(kind: Kind, default: tuple[int, ...], node: exp.DataType) -> LogicalType:
    given = tuple(int(each.name) for each in node.expressions)
    if kind is Kind.DECIMAL and len(given) == 1:
        given = (*given, 0)
    return LogicalType(kind, parameters=given or default)


def _interval(interval: exp.Interval) -> LogicalType:
    unit = interval.args.get("unit")
    first = unit.this if isinstance(unit, exp.IntervalSpan) else unit
    text = first.name.upper() if first is not None else ""
    return LogicalType(Kind.INTERVAL_MONTHS if text in ("YEAR", "MONTH", "QUARTER") else Kind.INTERVAL_MILLIS)
