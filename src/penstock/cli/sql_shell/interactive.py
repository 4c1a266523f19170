"""The shell on a terminal: a session with a prompt before it and live views behind it."""

from __future__ import annotations

import sys

import penstock
from penstock.cli.sql_shell.live_view import show_live
from penstock.cli.sql_shell.plain_warnings import plain_warnings
from penstock.cli.sql_shell.prompt import Prompt
from penstock.cli.sql_shell.results import OutputFormat, ResultPrinter
from penstock.cli.sql_shell.script import ScriptRun, ScriptText
from penstock.cli.sql_shell.session import Session
from penstock.cli.sql_shell.shell_settings import ResultMode, ShellSettings
from penstock.cli.sql_shell.starting import waiting
from penstock.common.configuration import Configuration
from penstock.graph.declared_settings import ENGINE
from penstock.table.table_result import TableResult


class _TerminalShow:
    """Shows the rows of queries: those of unbounded input live, all others when they end."""

    def __init__(self, printer: ResultPrinter) -> None:
        self._printer = printer

    def __call__(self, result: TableResult, settings: ShellSettings, began: float) -> None:
        is_table = self._printer.format is OutputFormat.TABLE and sys.stdout.isatty()
        if is_table and not result.is_bounded and settings.mode is not ResultMode.TABLEAU:
            show_live(result, settings, began)
        else:
            self._printer.show(result, settings, began)


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run_interactive(configuration: Configuration, first: list[ScriptText], output_format: OutputFormat) -> int:
    """Run the shell until somebody leaves it; returns the exit code."""
    printer = ResultPrinter(sys.stdout, output_format, lambda: waiting("Running the query ..."))
    with plain_warnings(_tell):
        session = Session(configuration, printer, _tell, show_query=_TerminalShow(printer))
        scripts = ScriptRun(session, _tell)
        try:
            if not all(scripts.run(script) for script in first):
                return 1
            engine = "in this process" if configuration.get_string(ENGINE, "spark") == "in-process" else "on Spark"
            _tell(f"Penstock {penstock.__version__}. Jobs run {engine}. Type HELP for help, QUIT to leave.\n")
            session.begin_dialogue()
            Prompt(session).run()
        except KeyboardInterrupt:
            return 130
        finally:
            with waiting("Cancelling the jobs of this shell ..."):
                scripts.end()
    return 0
