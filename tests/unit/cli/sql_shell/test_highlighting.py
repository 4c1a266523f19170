"""Which parts of a text get a colour of their own; nothing of the text is lost."""

from __future__ import annotations

import pytest
from pygments.token import Comment, Keyword, Name, Number, String

from penstock.cli.sql_shell.highlighting import FlinkSqlLexer

TEXT = "SELECT a, `b c`, COUNT(*), CAST(1.5 AS BIGINT), 'it''s' -- why\nFROM t /*+ OPTIONS('x'='y') */ /* no */;"


def colours(text: str) -> list[tuple[object, str]]:
    return list(FlinkSqlLexer(stripnl=False, ensurenl=False).get_tokens(text))


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        (Keyword, "SELECT"),
        (Name, "a"),
        (Name.Variable, "`b c`"),
        (Name.Function, "COUNT"),
        (Keyword.Type, "BIGINT"),
        (Number, "1.5"),
        (String.Single, "'it''s'"),
        (Comment.Single, "-- why"),
        (Comment.Preproc, "/*+ OPTIONS('x'='y') */"),
        (Comment.Multiline, "/* no */"),
    ],
)
def test_parts_have_their_kinds(kind: object, part: str) -> None:
    assert (kind, part) in colours(TEXT)


@pytest.mark.parametrize("text", [TEXT, "select 'open", "select `open", "/* open", "\\d x", "ä€ ~ # 1e", "selected"])
def test_nothing_is_lost(text: str) -> None:
    assert "".join(part for _, part in colours(text)) == text


def test_a_name_that_begins_like_a_keyword_is_a_name() -> None:
    assert colours("selected") == [(Name, "selected")]
