"""Unique keys and upsert keys of queries."""

from __future__ import annotations

import pytest

from penstock.table.metadata.keys import unique_keys, upsert_keys
from tests.unit.table.planning.tables import query


def keys(text: str) -> tuple[list[list[int]], list[list[int]]]:
    """The unique and the upsert keys of a query."""
    plan = query(text).inferred.root
    return sorted(map(sorted, unique_keys(plan))), sorted(map(sorted, upsert_keys(plan)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT name, id FROM changes", [[1]]),
        ("SELECT name FROM changes", []),
        ("SELECT id, id AS again FROM changes", [[0], [1]]),
        ("SELECT CAST(id AS DECIMAL(3, 0)) FROM changes", []),
        ("SELECT product, COUNT(*) FROM orders GROUP BY product", [[0]]),
        ("SELECT COUNT(*) FROM orders", [[]]),
        ("SELECT DISTINCT product, amount FROM orders", [[0, 1]]),
        ("SELECT id FROM changes UNION ALL SELECT id FROM changes", []),
        ("SELECT o.amount, c.id FROM orders o JOIN changes c ON o.id = c.id", []),
        ("SELECT c.id, c.name FROM changes c WHERE c.id IN (SELECT id FROM orders)", [[0]]),
    ],
)
def test_keys_of_queries(text: str, expected: list[list[int]]) -> None:
    assert keys(text) == (expected, expected)


def test_a_join_by_keys_has_the_keys_of_both_sides() -> None:
    unique, upsert = keys("SELECT c.id, d.id FROM changes c JOIN customers d ON c.id = d.id")
    assert unique == upsert == [[0], [0, 1], [1]]


def test_a_join_by_other_columns_spreads_the_changes_of_a_key() -> None:
    unique, upsert = keys("SELECT c.id, d.id FROM changes c JOIN customers d ON c.name = d.name")
    assert unique == [[0, 1]]
    assert upsert == []  # an update may move a row to another join key, so that its changes come in any order
