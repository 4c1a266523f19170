"""Answers of Flink 2.3 to scalar expressions, stored in JSON beside this, and what this package answers.

A file has tables (columns with types, rows) and cases: an expression, its type in Flink and its value for each row of
the table. Values are as Java writes them: `2020-02-29T12:34:56.789` for timestamps, `x0aff` for bytes.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, cast

from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.scopes import Relation, Scope
from penstock.table.binder.session import PlanningContext, Session
from penstock.table.java_texts import java_text
from penstock.table.sql import parse_expression, parse_query, parse_type
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar import EvaluationContext, compiled_calc
from penstock.vocabulary.sql.scalar.calendar_values import parse_date, parse_time, parse_timestamp
from penstock.vocabulary.sql.scalar.kinds import units_per_second
from penstock.vocabulary.sql.scalar.numbers import float32
from penstock.vocabulary.sql.typed_expressions import TypedExpression

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Table:
    names: tuple[str, ...]
    types: tuple[LogicalType, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Case:
    table: Table
    expression: str
    zone: str
    type: str
    values: list[Any] | None

    @property
    def name(self) -> str:
        return self.expression if self.zone == "UTC" else f"{self.expression} in {self.zone}"


@cache
def measured(file: str) -> tuple[Case, ...]:
    data = json.loads((FOLDER / file).read_text(encoding="utf-8"))
    tables = {name: read_table(each) for name, each in data["tables"].items()}
    return tuple(
        [
            Case(tables[each["table"]], each["expression"], each.get("zone", "UTC"), each["type"], each.get("values"))
            for each in data["cases"]
        ]
    )


def read_table(data: dict[str, Any]) -> Table:
    types = tuple([parse_type(type_) for _, type_ in data["columns"]])
    rows = [tuple([internal(type_, v) for type_, v in zip(types, row, strict=True)]) for row in data["rows"]]
    return Table(tuple([name for name, _ in data["columns"]]), types, tuple(rows))


def internal(type_: LogicalType, value: Any) -> Any:
    """The internal value of what Java wrote."""
    kind = type_.kind
    if value is None:
        return None
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        number = float(value.replace("Infinity", "inf"))
        return float32(number) if kind is Kind.FLOAT else number
    if kind is Kind.DECIMAL:
        return Decimal(value)
    if kind is Kind.DATE:
        return parse_date(value)
    if kind is Kind.TIME:
        return parse_time(value)
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        text = value.rstrip("Z").replace("T", " ")
        return parse_timestamp(text if text.count(":") == 2 else text + ":00", units_per_second(type_))
    return value


def bound(case: Case) -> TypedExpression:
    """The typed expression of a case's text."""
    context = PlanningContext(
        catalog=cast(Any, None),
        source_of=cast(Any, None),
        sink_of=cast(Any, None),
        parse_query=parse_query,
        parse_expression=parse_expression,
        settings={"table.local-time-zone": case.zone},
        text=case.expression,
    )
    scope = Scope((Relation(None, case.table.names, case.table.types),))
    return ExpressionBinder(Session.of(context), scope).value(parse_expression(case.expression))


def computed(case: Case, expression: TypedExpression) -> list[Any]:
    calc = compiled_calc(None, [expression], EvaluationContext(time_zone=case.zone))
    write = shown(expression.type)
    return [write(row[1]) for row in calc([(0, *row) for row in case.table.rows])]


def shown(type_: LogicalType) -> Any:
    """What turns an internal value into what the files have."""
    kind = type_.kind
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        return lambda value: value
    if kind is Kind.DECIMAL:
        return lambda value: None if value is None else f"{value:f}"
    if kind in (Kind.BINARY, Kind.VARBINARY):
        return lambda value: None if value is None else "x" + value.hex()
    parts = [shown(each) for each in type_.parts]
    if kind is Kind.ARRAY:
        return lambda value: None if value is None else [parts[0](each) for each in value]
    if kind is Kind.ROW:
        return lambda value: None if value is None else [p(each) for p, each in zip(parts, value, strict=True)]
    if kind is Kind.MAP:
        return lambda value: None if value is None else pairs(parts, value)
    if kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        text = java_text(type_)
        return lambda value: None if value is None else text(value)
    if kind in (Kind.INTERVAL_MILLIS, Kind.INTERVAL_MONTHS):
        return lambda value: None if value is None else interval(kind, value)
    return lambda value: value


def pairs(parts: list[Any], value: dict[Any, Any]) -> Any:
    made = [[parts[0](key), parts[1](each)] for key, each in value.items()]
    return {"map": sorted(made, key=lambda pair: json.dumps(pair))}


def interval(kind: Kind, value: int) -> str:
    """As Java's Duration and Period write it."""
    if kind is Kind.INTERVAL_MONTHS:
        years, months = int(value / 12), value - int(value / 12) * 12
        return "P" + (f"{years}Y" if years else "") + (f"{months}M" if months else "") if value else "P0D"
    seconds, millis = divmod(abs(value), 1000)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    sign = "-" if value < 0 else ""
    parts = [f"{sign}{hours}H" if hours else "", f"{sign}{minutes}M" if minutes else ""]
    if seconds % 60 or millis:
        fraction = f".{millis:03d}".rstrip("0") if millis else ""
        parts.append(f"{sign}{seconds % 60}{fraction}S")
    return "PT" + ("".join(parts) or "0S")


def same(ours: Any, flinks: Any) -> bool:
    """Whether two values are the same; floats as numbers, up to the last digit of functions such as SIN."""
    if isinstance(ours, float):
        if not isinstance(flinks, str):
            return False
        other = float(flinks.replace("Infinity", "inf"))
        return (math.isnan(ours) and math.isnan(other)) or math.isclose(
            ours, other, rel_tol=3e-7 if _is_single(flinks) else 1e-15
        )
    if isinstance(ours, list) and isinstance(flinks, list):
        return len(ours) == len(flinks) and all(map(same, ours, flinks))
    if isinstance(ours, dict) and isinstance(flinks, dict):
        return same(ours["map"], flinks["map"])
    return type(ours) is type(flinks) and bool(ours == flinks)


def _is_single(text: str) -> bool:
    return len(text.split("E")[0].replace("-", "").replace(".", "")) <= 9
