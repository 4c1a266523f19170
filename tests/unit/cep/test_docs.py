"""The page on patterns: its programs print what it says, and its tables are what runs give."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from penstock.cep import AfterMatchSkipStrategy, Pattern
from tests.unit.cep.core import Core

PAGE = (Path(__file__).parents[3] / "docs" / "cep.md").read_text()
PROGRAMS = re.findall(r"^```python run\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TABLES = re.findall(r"^Events: `([^`]*)`(?:, pattern `([^`]*)`)?\n\n\|.*\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("code", "printed"), PROGRAMS)
def test_the_program_prints_what_the_page_says(code: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "docs/cep.md", "exec", dont_inherit=True), {"__name__": "cep_block"})
    assert capsys.readouterr().out == printed


def rows() -> list[tuple[str, str, str]]:
    found = []
    for events, pattern, table in TABLES:
        for what, matches in re.findall(r"^\| `([^`]*)` \| (.*) \|$", table, re.MULTILINE):
            found.append((events, pattern.replace("strategy", f"skip.{what}") if pattern else what, matches))
    return found


@pytest.mark.parametrize(("events", "pattern", "matches"), rows())
def test_the_table_is_what_a_run_gives(events: str, pattern: str, matches: str) -> None:
    core = Core(built_of(pattern))
    for time, event in enumerate(events.split()):
        core.offer(event, time)
    found = sorted(" ".join(event for taken in match.values() for event in taken) for match, _ in core.matches)
    assert sorted(matches.split(", ")) == (found or ["none"])


def starts_with(name: str, event: str) -> bool:
    return event.startswith(name)


def built_of(pattern: str) -> Pattern:
    """The pattern with its conditions: each element takes events whose name starts with its own."""
    built: Pattern = eval(pattern, {"begin": Pattern.begin, "skip": AfterMatchSkipStrategy})
    step: Pattern | None = built
    while step is not None:
        step.where(partial(starts_with, step.get_name()))
        step = step.get_previous()
    return built


def test_the_page_has_programs_and_tables() -> None:
    assert len(PROGRAMS) == 5
    assert len(rows()) == 18
