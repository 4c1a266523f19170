"""Changelogs for tests of table operators: random ones, what a changelog comes to, and types."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from penstock.vocabulary.sql.aggregates import result_type
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, SHORT_NAMES, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.typed_expressions import AggregateCall

INT = LogicalType(Kind.INTEGER)
BIGINT = LogicalType(Kind.BIGINT)
DOUBLE = LogicalType(Kind.DOUBLE)
STRING = LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))
TIMESTAMP = LogicalType(Kind.TIMESTAMP, parameters=(3,))
BOOLEAN = LogicalType(Kind.BOOLEAN)

Row = tuple[Any, ...]


def call(function: str, *arguments: int, types: tuple[LogicalType, ...], **settings: Any) -> AggregateCall:
    chosen = tuple(types[at] for at in arguments)
    return AggregateCall(function, arguments, result_type(function, chosen), chosen, **settings)


def shown(rows: list[Row]) -> list[str]:
    """Rows as Flink prints them."""
    return [f"{SHORT_NAMES[row[0]]}[{', '.join('null' if v is None else str(v) for v in row[1:])}]" for row in rows]


def materialized(rows: list[Row]) -> Counter[Row]:
    """The table that a changelog comes to; a row that is taken back must be there."""
    table: Counter[Row] = Counter()
    for row in rows:
        if row[0] in (INSERT, UPDATE_AFTER):
            table[row[1:]] += 1
        else:
            assert table[row[1:]] > 0, f"{shown([row])} takes back what is not there"
            table[row[1:]] -= 1
    return +table


def upserted(rows: list[Row], key: tuple[int, ...]) -> dict[Row, Row]:
    """The table that upserts and deletes by key come to."""
    table: dict[Row, Row] = {}
    for row in rows:
        at = tuple(row[1 + field] for field in key)
        if row[0] in (INSERT, UPDATE_AFTER):
            table[at] = row[1:]
        elif row[0] == DELETE:
            table.pop(at, None)
    return table


def random_changes(random: Random, make: Any, count: int) -> list[Row]:
    """Insertions, updates in pairs and deletes of rows that are there."""
    there: list[Row] = []
    made: list[Row] = []
    while len(made) < count:
        chance = random.random()
        if chance < 0.5 or not there:
            fields = make(random)
            there.append(fields)
            made.append((INSERT, *fields))
            continue
        gone = there.pop(random.randrange(len(there)))
        if chance < 0.8:
            fields = make(random)
            there.append(fields)
            made += [(UPDATE_BEFORE, *gone), (UPDATE_AFTER, *fields)]
        else:
            made.append((DELETE, *gone))
    return made


def in_blocks(random: Random, rows: list[Row]) -> list[list[Row]]:
    """Rows cut anywhere."""
    blocks, at = [], 0
    while at < len(rows):
        size = random.randint(1, 7)
        blocks.append(rows[at : at + size])
        at += size
    return blocks
