"""The page on types shows a program that runs, and that `make types` has checked."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("page.py")
PAGE = Path(__file__).parents[2] / "docs" / "typing.md"


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def test_the_page_shows_the_program() -> None:
    shown = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    program = PROGRAM.read_text().partition("\n\n")[2]
    assert lines("".join(shown)) == lines(program)


def test_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    found = runpy.run_path(str(PROGRAM))
    assert capsys.readouterr().out == "87.75\n"
    assert list(found["rises"].execute_and_collect()) == [("IBM", 2.5)]
    assert [trade.symbol for trade in found["large"].execute_and_collect()] == ["SAP"]
