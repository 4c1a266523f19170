"""The page on SQL: its programs print what it says, and its table names all connectors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.table.connectors.registry import connectors

PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text()
PROGRAMS = re.findall(r"^```python run\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("code", "printed"), PROGRAMS)
def test_the_program_prints_what_the_page_says(code: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "docs/sql.md", "exec", dont_inherit=True), {"__name__": "sql_block"})
    assert capsys.readouterr().out == printed


def test_the_page_has_programs() -> None:
    assert len(PROGRAMS) == 4


def test_the_table_names_all_connectors() -> None:
    # 'values' is for tests.
    assert set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)) == set(connectors()) - {"values"}
