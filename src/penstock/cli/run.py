"""The command `run`: what is given on the line becomes the configuration of a program."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from penstock.cli.detached import DetachedProgram
from penstock.cli.given_settings import configuration_of, tell_of_unknown
from penstock.cli.output import note, show_json
from penstock.cli.program import FAILED, Program
from penstock.cli.waiting import waiting_for
from penstock.common.configuration import Configuration
from penstock.common.given_configuration import giving
from penstock.job.reporting import REPORT_TO, check_report_url


class RunCommand(TyperCommand):
    """The command, whose options end after `-m NAME`, as those of `python` do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Leave what follows the name of a module to the module."""
        return super().parse_args(ctx, self._with_end_of_options(args))

    def _with_end_of_options(self, words: list[str]) -> list[str]:
        takes_value = {name for option in self.params if not getattr(option, "is_flag", True) for name in option.opts}
        position = 0
        while position < len(words) and words[position].startswith("-") and words[position] != "--":
            name, value = _name_and_value(words[position])
            position += 2 if name in takes_value and not value else 1
            if name in ("-m", "--module"):
                return [
                    *words[:position],
                    *([] if words[position : position + 1] == ["--"] else ["--"]),
                    *words[position:],
                ]
        return words


def _name_and_value(word: str) -> tuple[str, str]:
    if word.startswith("--"):
        name, _, value = word.partition("=")
        return name, value
    return word[:2], word[2:]


def run(
    target: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROGRAM", help="Script to run, followed by its arguments. Put the options of `run` before it."
        ),
    ] = None,
    module: Annotated[
        str | None, typer.Option("--module", "-m", metavar="NAME", help="Run a module instead of a script.")
    ] = None,
    from_savepoint: Annotated[
        str | None,
        typer.Option(
            "--from-savepoint", "-s", metavar="PATH", help="Resume from a savepoint, or from another job's checkpoint."
        ),
    ] = None,
    allow_non_restored_state: Annotated[
        bool,
        typer.Option(
            "--allow-non-restored-state", "-n", help="Drop the state of operators that no longer exist in the program."
        ),
    ] = False,
    parallelism: Annotated[
        int | None,
        typer.Option("--parallelism", "-p", metavar="N", min=1, help="Parallelism of operators that set none."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("-D", metavar="KEY=VALUE", help="Set a configuration key; may be repeated.")
    ] = None,
    master: Annotated[str | None, typer.Option("--master", help="Spark master, such as local[4].")] = None,
    detached: Annotated[
        bool, typer.Option("--detached", "-d", help="Run in the background and print the job id.")
    ] = False,
    ui: Annotated[
        bool, typer.Option("--ui", help="Serve pages that show the job while it runs, and print the link to them.")
    ] = False,
    ui_port: Annotated[
        int | None,
        typer.Option("--ui-port", metavar="PORT", min=0, max=65535, help="Port of these pages; default: a free one."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="File for the output of a detached program.")
    ] = None,
    report_to: Annotated[
        str | None,
        typer.Option(
            "--report-to", metavar="URL", envvar=REPORT_TO, help="A server on another machine that is to show the job."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --detached: print id, process and log as JSON, for programs.")
    ] = False,
) -> None:
    """Run a program. What it sets itself wins over what is given here."""
    words = list(target or ())
    if module is None and not words:
        raise typer.BadParameter("give the path of a script, or a module with -m", param_hint="PROGRAM")
    if module is None and not os.path.isfile(words[0]):
        raise typer.BadParameter(f"there is no script {words[0]}", param_hint="PROGRAM")
    if as_json and not detached:
        raise typer.BadParameter("is for --detached only", param_hint="--json")
    if log is not None and not detached:
        raise typer.BadParameter("only works with --detached", param_hint="--log")
    if report_to is not None:
        os.environ[REPORT_TO] = check_report_url(report_to)
    given = [*(settings or []), *_ui_settings(ui, ui_port)]
    configuration = configuration_of(given, from_savepoint, parallelism, master, allow_non_restored_state)
    program = Program(module or words.pop(0), is_module=module is not None, arguments=tuple(words))
    if settings:
        tell_of_unknown(configuration, ("table.",))
    _tell_of_misplaced(words)
    if detached:
        raise typer.Exit(_run_detached(program, configuration, log, as_json=as_json))
    with giving(configuration):
        raise typer.Exit(program.run())


def _ui_settings(ui: bool, port: int | None) -> list[str]:
    """The settings behind the options; who gives a port wants the pages."""
    from penstock.graph import declared_settings as keys

    wanted = [f"{keys.UI}=true"] if ui or port is not None else []
    return wanted if port is None else [*wanted, f"{keys.UI_PORT}={port}"]


def _tell_of_misplaced(arguments: list[str]) -> None:
    for word, following in itertools.pairwise([*arguments, ""]):
        text = following if word == "-D" else word[2:] if word.startswith("-D") else ""
        if "=" in text:
            note(
                f"penstock: -D {text} comes after the program, so it is passed to the program; put it before the "
                "program"
            )


def _run_detached(program: Program, configuration: Configuration, log: Path | None, *, as_json: bool) -> int:
    started = DetachedProgram(program, configuration, log)
    with waiting_for(f"the job of {program.target} to start"):
        outcome = started.await_job()
    if isinstance(outcome, int):
        note(started.tail())
        note(f"the program ended ({outcome}) without starting a job; its output: {started.log}")
        return FAILED if outcome < 0 else outcome  # a signal has no exit code of its own
    note(f"job {outcome.name!r} runs in process {outcome.pid}; its output: {started.log}")
    if as_json:
        show_json({"job_id": outcome.job_id, "pid": outcome.pid, "log": str(started.log)})
    else:
        typer.echo(outcome.job_id)
    return 0
