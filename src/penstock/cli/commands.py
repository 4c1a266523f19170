"""All commands put together, and what becomes of an error that a user can do something about."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import penstock
from penstock.cli import jobs, kafka, state
from penstock.cli.metrics import metrics
from penstock.cli.output import note
from penstock.cli.port import port
from penstock.cli.query import query, query_server
from penstock.cli.run import RunCommand, run
from penstock.cli.server import server
from penstock.cli.settings import settings
from penstock.cli.sql import sql
from penstock.cli.submit import restore, submit
from penstock.errors import PenstockError


class _Commands(TyperGroup):
    """Tells errors of Penstock's own in one line, without the stack that led to them."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            note(f"penstock: {error}")
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=_Commands,
    help="Run and manage Penstock jobs on this machine, and inspect their state.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help and plain usage errors, also where they are piped
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that stand before the command."""


# What stands behind the program belongs to it, options too.
app.command("run", cls=RunCommand, context_settings={"allow_interspersed_args": False})(run)
app.command("sql")(sql)
app.command("list")(jobs.list_jobs)
app.command("savepoint")(jobs.savepoint)
app.command("stop")(jobs.stop)
app.command("cancel")(jobs.cancel)
app.command("info")(jobs.info)
app.command("logs")(jobs.logs)
app.command("submit", context_settings={"allow_interspersed_args": False})(submit)
app.command("restore", context_settings={"allow_interspersed_args": False})(restore)
app.command("server")(server)
app.command("query")(query)
app.command("query-server")(query_server)
app.command("metrics")(metrics)
app.command("settings")(settings)
app.command("port")(port)
app.add_typer(state.app, name="state")
app.add_typer(kafka.app, name="kafka")
