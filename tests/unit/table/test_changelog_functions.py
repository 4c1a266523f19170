"""TO_CHANGELOG and FROM_CHANGELOG: changes as rows with codes, and back."""

from __future__ import annotations

import pytest

from penstock.common import Row, RowKind
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobFailedError, SqlError
from penstock.table import StreamTableEnvironment


@pytest.fixture
def tables() -> StreamTableEnvironment:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(1)
    return StreamTableEnvironment.create(environment)


def changes(tables: StreamTableEnvironment, query: str) -> list[tuple[str, ...]]:
    return [(str(row.get_row_kind()), *row) for row in tables.execute_sql(query).collect()]


def test_changes_become_rows_with_codes(tables: StreamTableEnvironment) -> None:
    kinds = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
    tables.create_temporary_view("t", tables.from_elements([Row.of_kind(kind, 1) for kind in kinds], ["id"]))
    assert changes(tables, "SELECT * FROM TO_CHANGELOG(input => TABLE t)") == [
        ("+I", "INSERT", 1),
        ("+I", "UPDATE_BEFORE", 1),
        ("+I", "UPDATE_AFTER", 1),
        ("+I", "DELETE", 1),
    ]
    mapping = "MAP['INSERT, UPDATE_AFTER', 'u', 'DELETE', 'd']"
    mapped = f"TO_CHANGELOG(input => TABLE t, op => DESCRIPTOR(o), op_mapping => {mapping})"
    assert changes(tables, f"SELECT id, o FROM {mapped}") == [("+I", 1, "u"), ("+I", 1, "u"), ("+I", 1, "d")]


def test_rows_with_codes_become_changes(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("t", tables.from_elements([(1, "c", "a"), (1, "d", "a")], ["id", "op", "name"]))
    mapping = "op_mapping => MAP['c, r', 'INSERT', 'd', 'DELETE']"
    assert changes(tables, f"SELECT * FROM FROM_CHANGELOG(input => TABLE t, {mapping})") == [
        ("+I", 1, "a"),
        ("-D", 1, "a"),
    ]
    with pytest.raises(JobFailedError, match="Received invalid op code 'c'"):
        changes(tables, "SELECT * FROM FROM_CHANGELOG(input => TABLE t)")


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("MAP['NOPE', 'x']", "Unknown change operation: 'NOPE'"),
        ("MAP['INSERT, DELETE', 'x', 'DELETE', 'y']", "Duplicate change operation: 'DELETE'"),
    ],
)
def test_a_wrong_mapping_is_refused(tables: StreamTableEnvironment, mapping: str, message: str) -> None:
    tables.create_temporary_view("t", tables.from_elements([(1,)], ["id"]))
    with pytest.raises(SqlError, match=message):
        tables.execute_sql(f"SELECT * FROM TO_CHANGELOG(input => TABLE t, op_mapping => {mapping})")
