"""The commands `submit` and `restore`: a program for a server, or from a savepoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.given_settings import configuration_of
from penstock.cli.output import note, show_json
from penstock.cli.targets import SERVER, AsJson
from penstock.cli.waiting import waiting_for

_DEFAULT_SERVER = "http://127.0.0.1:8081"

Target = Annotated[
    list[str],
    typer.Argument(metavar="PROGRAM", help="A script, folder or wheel, and its arguments; options stand before."),
]
Entry = Annotated[
    str | None,
    typer.Option("--entry", "-e", metavar="NAME", help="What to run of a folder (a script) or wheel (a module)."),
]
Requirements = Annotated[
    Path | None,
    typer.Option("--requirements", "-r", metavar="FILE", help="Packages for an environment of its own."),
]
Settings = Annotated[
    list[str] | None, typer.Option("-D", metavar="KEY=VALUE", help="Any setting; may be given many times.")
]
Parallelism = Annotated[
    int | None, typer.Option("--parallelism", "-p", metavar="N", min=1, help="Subtasks of operators that set none.")
]
Master = Annotated[str | None, typer.Option("--master", help="Spark's master, as local[4].")]
Loss = Annotated[
    bool,
    typer.Option("--allow-non-restored-state", "-n", help="Drop state of operators that the program has no longer."),
]
ServerUrl = Annotated[str, typer.Option("--server", metavar="URL", envvar=SERVER, help="The server to run it.")]


def submit(
    program: Target,
    server: ServerUrl = _DEFAULT_SERVER,
    entry: Entry = None,
    requirements: Requirements = None,
    from_savepoint: Annotated[
        str | None, typer.Option("--from-savepoint", "-s", metavar="PATH", help="Go on from a savepoint.")
    ] = None,
    allow_non_restored_state: Loss = False,
    parallelism: Parallelism = None,
    settings: Settings = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Give a program to a server, which runs it and starts it again if it dies. Prints the id of its job."""
    configuration = configuration_of(settings or [], None, None, master, False)
    launch: dict[str, Any] = {
        "programArgsList": program[1:],
        "flinkConfiguration": {key: str(value) for key, value in configuration.to_dict().items()},
        "entryClass": entry,
        "savepointPath": from_savepoint,
        "allowNonRestoredState": allow_non_restored_state,
        "parallelism": parallelism,
    }
    _submit(Path(program[0]), launch, server, requirements, as_json)


def restore(
    savepoint: Annotated[str, typer.Argument(metavar="SAVEPOINT", help="A savepoint, or a checkpoint of another job.")],
    program: Target,
    server: ServerUrl = _DEFAULT_SERVER,
    entry: Entry = None,
    requirements: Requirements = None,
    allow_non_restored_state: Loss = False,
    parallelism: Parallelism = None,
    settings: Settings = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Have a server run a program from a savepoint; `penstock run -s` does it in this terminal. Prints the job's id."""
    submit(
        program,
        server,
        entry,
        requirements,
        savepoint,
        allow_non_restored_state,
        parallelism,
        settings,
        master,
        as_json,
    )


def _submit(path: Path, launch: dict[str, Any], server: str, requirements: Path | None, as_json: bool) -> None:
    # Here, because other commands need no HTTP.
    from penstock.cli.server_target import ServerTarget, packed

    if requirements is not None and not requirements.is_file():
        raise typer.BadParameter(f"there is no file {requirements}", param_hint="--requirements")
    try:
        needed = "" if requirements is None else requirements.read_text("utf-8")
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{requirements} is not a text in UTF-8", param_hint="--requirements") from None
    client = ServerTarget(server)
    name, content = packed(path)
    with waiting_for(f"{path.name} to be uploaded"):
        program = client.upload(name, content, needed)
    with waiting_for(f"the job of {path.name} to start"):
        told = client.run(program, launch)
    note(f"{path.name} runs as submission {told['applicationId']} at {client.url}")
    if as_json:
        show_json({"job_id": told["jobid"], "submission": told["applicationId"], "program": program})
    else:
        typer.echo(told["jobid"])
