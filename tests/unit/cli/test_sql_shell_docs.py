"""The session on the page of the SQL shell is what a terminal shows when it is typed."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.cli.sql_shell.help_text import HELP
from penstock.cli.sql_shell.prompt import MORE, PROMPT
from penstock.cli.sql_shell.shell_commands import SHORT_FORMS
from penstock.cli.sql_shell.shell_settings import DEFAULTS
from tests.unit.cli.terminal import ENTER, Terminal

PAGE = (Path(__file__).parents[3] / "docs" / "sql_shell.md").read_text()


def block(name: str) -> list[str]:
    (found,) = re.findall(rf"^```text {name}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [line.rstrip() for line in found.splitlines()]


def comparable(lines: list[str]) -> list[str]:
    """Without what differs from run to run: times and ids."""
    text = re.sub(r"\d+\.\d\d seconds", "N seconds", "\n".join(lines))
    return re.sub(r"\b[0-9a-f]{32}\b", "ID", text).splitlines()


def test_the_session_looks_like_this(tmp_path: Path) -> None:
    session = block("session")
    shell = Terminal(
        *("-m", "penstock", "sql", "-D", "penstock.engine=in-process", "-p", "1"),
        environment={"PENSTOCK_CACHE": str(tmp_path / "cache"), "PENSTOCK_HOME": str(tmp_path / "h")},
        lines=len(session) + 10,
    )
    try:
        shell.wait_for_line(PROMPT.rstrip())
        for number, line in enumerate(session, 1):
            for lead in (PROMPT, MORE):
                if line.startswith(lead):
                    shell.type(line.removeprefix(lead) + ENTER)
            if number < len(session) and session[number].startswith((PROMPT, MORE)):
                lead = PROMPT if session[number].startswith(PROMPT) else MORE
                shell.wait_for_line(lead.rstrip())
        assert shell.wait_for_end() == 0
    finally:
        shell.close()
    shown = [line for line in shell.lines() if line]
    begin = shown.index(session[0])
    assert comparable(shown[begin : begin + len(session)]) == comparable(session)


def test_the_view_of_the_page_has_the_keys_of_the_shell() -> None:
    source = (Path(__file__).parents[3] / "src/penstock/cli/sql_shell/live_view.py").read_text()
    assert f'"{block("view")[-1]} "' in source


def test_settings_and_short_forms_are_on_the_page_and_in_the_help() -> None:
    assert all(f"`{key}`" in PAGE for key in DEFAULTS)
    assert all(f"`{form}`" in PAGE for form in SHORT_FORMS if form != "\\?")
    assert all(form in HELP for form in SHORT_FORMS if form != "\\?")
