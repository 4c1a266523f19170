"""The prompt: statements are typed, run and answered until somebody leaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.patch_stdout import StdoutProxy
from prompt_toolkit.shortcuts import clear

from penstock.cli.sql_shell.completion import SqlCompleter
from penstock.cli.sql_shell.help_text import HELP
from penstock.cli.sql_shell.highlighting import FlinkSqlLexer
from penstock.cli.sql_shell.known_names import KnownNames
from penstock.cli.sql_shell.script import told_error
from penstock.cli.sql_shell.session import Session
from penstock.cli.sql_shell.shell_commands import Clear, Help, Quit, is_word_alone, written_out
from penstock.scratch import open_private
from penstock.table.sql.splitting import split
from penstock.user_cache import user_cache

PROMPT = "Penstock SQL> "
MORE = "           -> "
_RED = "\x1b[31m{}\x1b[0m"


class Prompt:
    """Reads statements from a terminal and runs them in a session."""

    def __init__(self, session: Session) -> None:
        """Feed a session; what is typed is kept in a file of the user's."""
        self._session = session
        self._is_warned = False
        self._typing: PromptSession[str] = PromptSession(
            multiline=True,
            prompt_continuation=_continuation,
            history=kept_history(),
            completer=SqlCompleter(KnownNames(session.tables, session.jobs.ids_running)),
            complete_while_typing=False,
            lexer=PygmentsLexer(FlinkSqlLexer),
            key_bindings=_bindings(),
        )

    def run(self) -> None:
        """Read and run until the end."""
        while True:
            try:
                with _above_the_prompt():
                    text = self._typing.prompt(PROMPT)
            except KeyboardInterrupt:
                continue  # what was typed is dropped
            except EOFError:
                text = "QUIT"
            if self._run(text):
                return

    def _run(self, text: str) -> bool:
        """Run what was typed, up to the first statement that fails; returns whether to leave."""
        left: list[str] = []
        try:
            left = _statements(written_out(text))
            while left:
                if self._run_statement(left.pop(0)):
                    return True
        except KeyboardInterrupt:
            sys.stdout.write("Cancelled.\n")
        except Exception as error:
            _tell_error(told_error(error, self._is_verbose()))
        if left:
            what = "The statement" if len(left) == 1 else f"The {len(left)} statements"
            sys.stdout.write(f"{what} behind it {'was' if len(left) == 1 else 'were'} not run.\n")
        return False

    def _run_statement(self, statement: str) -> bool:
        command = self._session.run(statement)
        if isinstance(command, Quit):
            return self._may_leave()
        self._is_warned = False
        if isinstance(command, Help):
            sys.stdout.write(HELP)
        elif isinstance(command, Clear):
            clear()
        return False

    def _may_leave(self) -> bool:
        """Jobs end with the shell: whoever leaves while some run is told so once."""
        running = self._session.jobs.running()
        if not running or self._is_warned:
            return True
        self._is_warned = True
        what = "1 job runs" if len(running) == 1 else f"{len(running)} jobs run"
        sys.stdout.write(f"{what} in this shell and would be cancelled; SHOW JOBS shows them. QUIT again to leave.\n")
        return False

    def _is_verbose(self) -> bool:
        return self._session.settings().is_verbose


class _Above(StdoutProxy):
    """Standard output while the prompt is there: what is written appears above it."""

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, as the sink `print` does."""
        self.write("".join(lines))


@contextmanager
def _above_the_prompt() -> Iterator[None]:
    """Let jobs in the background print while somebody types."""
    with _Above(raw=True) as proxy, redirect_stdout(proxy), redirect_stderr(proxy):
        yield


def kept_history() -> History:
    """What was typed, in a file that nobody else can read, since statements may hold passwords; else in memory."""
    path = user_cache() / "sql_history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab", opener=open_private):
            return FileHistory(str(path))
    except OSError as error:
        sys.stdout.write(f"The history cannot be saved: {path}: {error.strerror}\n")
        return InMemoryHistory()


def _statements(text: str) -> list[str]:
    script = split(text)
    return [each.in_place(text) for each in [*script.statements, *([script.rest] if script.rest else [])]]


def is_complete(text: str) -> bool:
    """Whether Enter runs what was typed, instead of beginning another line."""
    if not text.strip() or is_word_alone(text):
        return True
    script = split(text)
    return script.rest is None and bool(script.statements)


def _continuation(width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:
    # A long line that is broken on the screen is still one line.
    return [("", " " * len(MORE) if wrap_count else MORE)]


def _bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None  # takes what was chosen from the list
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    return keys


def _tell_error(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write((_RED.format(text) if sys.stderr.isatty() and "NO_COLOR" not in os.environ else text) + "\n")
    sys.stderr.flush()
