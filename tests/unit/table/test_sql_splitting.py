"""Cutting a text into statements: what a semicolon is part of, and what is not finished yet."""

from __future__ import annotations

import pytest

from penstock.errors import SqlParserError
from penstock.table.sql import parse
from penstock.table.sql.splitting import split

SET_OF_INSERTS = "EXECUTE STATEMENT SET BEGIN\n  INSERT INTO a SELECT 1;\n  INSERT INTO b SELECT ';';\nEND"


def statements(text: str) -> list[str]:
    return [each.text for each in split(text).statements]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT 'a;b', 'it''s;';", ["SELECT 'a;b', 'it''s;'"]),
        ("SELECT `a;b` FROM `t;`;", ["SELECT `a;b` FROM `t;`"]),
        ("SELECT 1 -- not here; nor 'here\n, 2;", ["SELECT 1 -- not here; nor 'here\n, 2"]),
        ("SELECT /* ; ' */ 1;", ["SELECT /* ; ' */ 1"]),
        ("SELECT * FROM t /*+ OPTIONS('k' = 'a;b') */;", ["SELECT * FROM t /*+ OPTIONS('k' = 'a;b') */"]),
        (";; SELECT 1 ;;", ["SELECT 1"]),
        ("-- a comment;\n", []),
        (f"USE x; {SET_OF_INSERTS}; SELECT 1;", ["USE x", SET_OF_INSERTS, "SELECT 1"]),
        (
            "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END; SELECT 2;",
            ["BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END", "SELECT 2"],
        ),
        ("SELECT CASE WHEN a THEN 1 END; SELECT 2;", ["SELECT CASE WHEN a THEN 1 END", "SELECT 2"]),
    ],
)
def test_statements_end_at_their_semicolons(text: str, expected: list[str]) -> None:
    script = split(text)
    assert [each.text for each in script.statements] == expected
    assert script.rest is None


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("SELECT 1; SELECT 2", "SELECT 2"),
        ("SELECT 1", "SELECT 1"),
        ("SELECT 1; SELECT 'a; b;", "SELECT 'a; b;"),
        ("SELECT 1; SELECT `a;", "SELECT `a;"),
        ("SELECT 1; /* from here; on", "/* from here; on"),
        ("SELECT 1; EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", None),
        (f"SELECT 1; {SET_OF_INSERTS}", SET_OF_INSERTS),
        ("SELECT 1; -- the end", ""),
    ],
)
def test_what_has_no_semicolon_yet_is_the_rest(text: str, rest: str | None) -> None:
    script = split(text)
    expected = "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;" if rest is None else rest
    assert [each.text for each in script.statements] == ["SELECT 1"][: text.startswith("SELECT 1;")]
    assert ("" if script.rest is None else script.rest.text) == expected


def test_a_statement_keeps_its_place_in_the_text() -> None:
    text = "SELECT 1;\n\n  CREATE TABEL a\n (b INT);"
    second = split(text).statements[1]
    with pytest.raises(SqlParserError) as caught:
        parse(second.in_place(text))
    assert (caught.value.line, caught.value.column) == (3, 10)
    assert str(caught.value).splitlines()[1:] == ["  CREATE TABEL a", "         ^^^^^"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("SELECT 1,\n  'abc", 2, 3), ("SELECT 'a', `b", 1, 13), ("SELECT 1 /* x", 1, 10)],
)
def test_what_is_left_open_is_shown(text: str, line: int, column: int) -> None:
    with pytest.raises(SqlParserError, match="has no closing") as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
