"""The command `sql`: a prompt for SQL, or statements from files and from the command line."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.given_settings import configuration_of, tell_of_unknown
from penstock.cli.output import note

# All else is imported when it is needed: other commands, and `penstock --help`, need not wait for it.
if TYPE_CHECKING:
    from penstock.cli.sql_shell.script import ScriptText
    from penstock.common.configuration import Configuration

_INTERRUPTED = 130
_TABLE_KEYS = ("table.", "sql-client.")


class Format(enum.Enum):
    """What results are written as."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def sql(
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Run the statements of a file and exit.")
    ] = None,
    execute: Annotated[
        str | None, typer.Option("--execute", "-e", metavar="SQL", help="Run these statements and exit.")
    ] = None,
    init: Annotated[
        Path | None, typer.Option("--init", "-i", metavar="FILE", help="Run the statements of a file before starting.")
    ] = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="Output format; json prints one row per line.")
    ] = Format.TABLE,
    parallelism: Annotated[
        int | None, typer.Option("--parallelism", "-p", metavar="N", min=1, help="Subtasks of operators.")
    ] = None,
    from_savepoint: Annotated[
        str | None,
        typer.Option("--from-savepoint", "-s", metavar="PATH", help="Resume INSERT jobs from a savepoint."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("-D", metavar="KEY=VALUE", help="Set a configuration key; may be repeated.")
    ] = None,
    master: Annotated[str | None, typer.Option("--master", help="Spark master, such as local[4].")] = None,
) -> None:
    """Run Flink SQL: at a prompt, from a file, or from the command line."""
    if file is not None and execute is not None:
        raise typer.BadParameter("give either --file or --execute", param_hint="--execute")
    scripts = {option: _read(option, path) for option, path in (("--init", init), ("--file", file)) if path is not None}
    configuration = configuration_of(settings or [], from_savepoint, parallelism, master, False)
    if settings:
        tell_of_unknown(configuration, _TABLE_KEYS, "nothing reads it")
    first = [_script(str(init), scripts["--init"])] if init is not None else []
    last = None
    if file is not None:
        last = _script(str(file), scripts["--file"])
    elif execute is not None:
        last = _script("--execute", execute)
    elif not sys.stdin.isatty():
        last = _script("standard input", sys.stdin.read())
    if last is None:
        raise typer.Exit(_run_prompt(configuration, first, output_format))
    raise typer.Exit(_run_scripts(configuration, [*first, last], output_format))


def _read(option: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise typer.BadParameter(f"{path} cannot be read: {reason}", param_hint=option) from None


def _script(name: str, text: str) -> ScriptText:
    from penstock.cli.sql_shell.script import ScriptText

    return ScriptText(name, text)


def _run_scripts(configuration: Configuration, scripts: list[ScriptText], output_format: Format) -> int:
    from penstock.cli.sql_shell.plain_warnings import plain_warnings
    from penstock.cli.sql_shell.results import OutputFormat, ResultPrinter
    from penstock.cli.sql_shell.script import ScriptRun
    from penstock.cli.sql_shell.session import Session

    printer = ResultPrinter(sys.stdout, OutputFormat(output_format.value))
    with plain_warnings(note):
        session = Session(configuration, printer, note)
        run = ScriptRun(session, note)
        try:
            is_well = all(run.run(script) for script in scripts) and run.wait()
        except KeyboardInterrupt:
            return _INTERRUPTED
        finally:
            run.end()
    return 0 if is_well else 1


def _run_prompt(configuration: Configuration, first: list[ScriptText], output_format: Format) -> int:
    from penstock.cli.sql_shell.interactive import run_interactive
    from penstock.cli.sql_shell.results import OutputFormat

    return run_interactive(configuration, first, OutputFormat(output_format.value))
