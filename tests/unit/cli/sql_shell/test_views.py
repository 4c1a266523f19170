"""What is shown of rows that change: the table they make, and the part of it that fits the screen."""

from __future__ import annotations

import random

import pytest

from penstock.cli.sql_shell.live_rows import LiveChangelog, LiveTable
from penstock.cli.sql_shell.materialized_table import MaterializedTable

INSERT, BEFORE, AFTER, DELETE = range(4)


def table_of(*changes: tuple[int, object], most: int = 100) -> MaterializedTable[object]:
    table: MaterializedTable[object] = MaterializedTable(most)
    for kind, row in changes:
        table.change(kind, row)
    return table


def test_an_update_stays_in_its_place() -> None:
    table = table_of((INSERT, "a1"), (INSERT, "b1"), (BEFORE, "a1"), (AFTER, "a2"), (DELETE, "b1"), (INSERT, "c1"))
    assert list(table.rows()) == ["a2", "c1"]


def test_a_row_that_is_there_twice_goes_once() -> None:
    assert list(table_of((INSERT, "a"), (INSERT, "a"), (DELETE, "a")).rows()) == ["a"]


def test_an_update_of_which_only_the_first_half_comes_is_a_deletion() -> None:
    assert list(table_of((INSERT, "a"), (INSERT, "b"), (BEFORE, "a"), (INSERT, "c")).rows()) == ["b", "c"]
    table = table_of((INSERT, "a"), (BEFORE, "a"))
    table.finish()
    assert list(table.rows()) == []


def test_the_oldest_rows_go_when_there_are_too_many() -> None:
    table = table_of((INSERT, "a"), (INSERT, "b"), (INSERT, "c"), (DELETE, "a"), most=2)
    assert (list(table.rows()), table.dropped) == (["b", "c"], 1)


def test_random_changes_leave_what_they_add_up_to(seed: int) -> None:
    chance, table = random.Random(seed), table_of()
    held: list[int] = []
    for _ in range(2_000):
        if held and chance.random() < 0.4:
            row = held.pop(chance.randrange(len(held)))
            is_update = chance.random() < 0.5
            table.change(BEFORE if is_update else DELETE, row)
            if is_update:
                held.append(chance.randrange(20))
                table.change(AFTER, held[-1])
        elif len(held) < 100:
            held.append(chance.randrange(20))
            table.change(INSERT, held[-1])
    table.finish()
    assert sorted(table.rows()) == sorted(held)  # type: ignore[type-var]


def test_the_frame_has_the_rows_that_fit() -> None:
    rows = LiveTable(["name", "n"], 100)
    for number in range(10):
        rows.change(INSERT, (f"row {number}", None if number == 4 else str(number)))
    assert rows.frame(top=3, height=6) == [
        "+-------+--------+",
        "|  name |      n |",
        "+-------+--------+",
        "| row 3 |      3 |",
        "| row 4 | <NULL> |",
        "+-------+--------+",
    ]
    assert (len(rows), rows.visible(6), rows.highest_top(6)) == (10, 2, 8)


def test_the_changelog_shows_the_op_of_each_change() -> None:
    rows = LiveChangelog(["n"], 2)
    for kind in (INSERT, BEFORE, AFTER):
        rows.change(kind, (str(kind),))
    assert [line.split() for line in rows.frame(0, 6)[3:-1]] == [["|", "-U", "|", "1", "|"], ["|", "+U", "|", "2", "|"]]
    assert (rows.changes, len(rows), rows.follows_end) == (3, 2, True)


@pytest.mark.parametrize("make", [LiveTable, LiveChangelog])
def test_long_texts_are_cut(make: type[LiveTable] | type[LiveChangelog]) -> None:
    rows = make(["text"], 10)
    rows.change(INSERT, ("x" * 100,))
    assert "x" * 27 + "... |" in rows.frame(0, 10)[3]
