"""docs/sql_functions.md names each function, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.vocabulary.sql.scalar import function_names

PAGE = Path(__file__).parents[4] / "docs" / "sql_functions.md"


def test_the_page_names_all_functions() -> None:
    table = PAGE.read_text(encoding="utf-8").split("## What to know")[0]
    named = {each.split("(")[0].replace("\\|", "|") for each in re.findall(r"`([^`]+)`", table)}
    assert function_names() - named == set()
    assert {each for each in named if each.isupper()} - function_names() - {"SYMMETRIC"} == set()
