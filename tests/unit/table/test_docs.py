"""The pages on SQL: their programs print what they say, and the table of connectors names all."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from penstock.table.connectors.registry import connectors

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "sql.md").read_text()
PROGRAM = re.compile(r"^```python run\n(.*?)^```\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
COUNTS = {"sql.md": 6, "sql_match.md": 2, "sql_reference.md": 1, "table_api.md": 3}
REFERENCE = (DOCS / "sql_reference.md").read_text()
PROGRAMS = [(page, *found) for page in COUNTS for found in PROGRAM.findall((DOCS / page).read_text())]


@pytest.mark.parametrize(("page", "code", "printed"), PROGRAMS)
def test_the_program_prints_what_the_page_says(
    page: str, code: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, f"docs/{page}", "exec", dont_inherit=True), {"__name__": "sql_block"})
    assert capsys.readouterr().out == printed


def test_the_page_of_queries_is_one_program(capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "sql_queries.md").read_text()
    blocks = re.findall(r"^```(python run|text)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    namespace = {"__name__": "sql_queries"}
    printed, compared = "", 0
    for kind, content in blocks:
        if kind == "text":
            assert printed == content
            compared += 1
        else:
            exec(compile(content, "docs/sql_queries.md", "exec", dont_inherit=True), namespace)
            printed = capsys.readouterr().out
    assert compared == 5
    assert "+U[ann, 15]" in printed and "+U[vase, 2]" in printed


def test_the_pages_have_programs() -> None:
    assert Counter(page for page, *_ in PROGRAMS) == COUNTS


def test_the_table_names_all_connectors() -> None:
    # 'values' is for tests.
    assert set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)) == set(connectors()) - {"values"}
