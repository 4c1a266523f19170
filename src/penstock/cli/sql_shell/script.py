"""Files of statements, and statements of the command line: run in their order, up to the first that fails."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from penstock.cli.output import one_line
from penstock.cli.sql_shell.session import Session
from penstock.cli.sql_shell.shell_commands import Quit
from penstock.errors import JobCancelledError, JobFailedError, PenstockError
from penstock.table.sql.splitting import StatementText, split

_SHOWN_LENGTH = 60
# That of an error of Penstock's own says nothing to who wrote SQL; that of a function of the user's stays.
_OWN_TRACEBACK = re.compile(r"\ATraceback .*?^penstock\.errors\.\w+: ", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class ScriptText:
    """A text of statements, and what it is called in errors."""

    name: str
    text: str

    def statements(self) -> list[StatementText]:
        """Its statements; the last one needs no semicolon."""
        script = split(self.text)
        return [*script.statements, *([] if script.rest is None else [script.rest])]


class ScriptRun:
    """Runs texts in a session; `tell` says what went wrong."""

    def __init__(self, session: Session, tell: Callable[[str], None]) -> None:
        """Run in a session."""
        self._session = session
        self._tell = tell

    def run(self, script: ScriptText) -> bool:
        """Run a text; returns whether all of it went well. QUIT ends it early."""
        statements = script.statements()
        for number, statement in enumerate(statements, 1):
            try:
                if self._session.run(statement.in_place(script.text)) == Quit():
                    break
            except Exception as error:
                line = script.text.count("\n", 0, statement.start) + 1
                which = f"statement {number} of {len(statements)} in {script.name}, line {line}, failed"
                self._tell(f"penstock: {which}: {_beginning(statement.text)}")
                self._tell(told_error(error, self._session.settings().is_verbose))
                return False
        return True

    def wait(self) -> bool:
        """Wait for the jobs that go on; returns whether they ended well."""
        try:
            self._session.jobs.wait()
        except (JobFailedError, JobCancelledError) as error:
            self._tell(told_error(error))
            return False
        return True

    def end(self) -> None:
        """Leave no job behind."""
        with suppress(PenstockError):
            self._session.jobs.cancel()


def told_error(error: BaseException, is_verbose: bool = False) -> str:
    """An error as a person reads it: errors of Penstock explain themselves, of others the class says something too."""
    if is_verbose:
        return "".join(traceback.format_exception(error)).rstrip()
    if isinstance(error, PenstockError):
        return _OWN_TRACEBACK.sub("", str(error))
    return f"{type(error).__name__}: {error}"


def _beginning(text: str) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= _SHOWN_LENGTH else line[: _SHOWN_LENGTH - 3] + "..."
