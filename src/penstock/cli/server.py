"""The command `server`: jobs over HTTP, on this machine's loopback unless told otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import note
from penstock.errors import ConfigurationError


def server(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; others than loopback need TLS.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8081,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let every user of this machine in; for loopback only.")
    ] = False,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", help="Lines `operate TOKEN` and `read TOKEN`; default: made once."
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", metavar="FILE", help="Certificate (PEM) for HTTPS.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its private key (PEM).")] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option("--host-name", metavar="NAME", help="Name by which the server is addressed; several are fine."),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry",
            metavar="URL",
            help="A SQLite file, or postgresql://...; servers may share it.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="FOLDER", help="Where programs, logs and checkpoints of drivers are kept."),
    ] = None,
    history: Annotated[int, typer.Option("--history", metavar="N", min=1, help="Ended jobs to remember.")] = 100,
    log: Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Where the server's own log goes.")] = None,
    sql_sessions: Annotated[
        int, typer.Option("--sql-sessions", metavar="N", min=0, help="SQL sessions that may be open; 0 allows none.")
    ] = 20,
    sql_timeout: Annotated[
        float, typer.Option("--sql-timeout", metavar="SECONDS", min=1, help="Close SQL sessions idle for so long.")
    ] = 600,
    pages: Annotated[
        Path | None, typer.Option("--pages", metavar="FOLDER", help="Other static pages to serve at /.")
    ] = None,
) -> None:
    """Take programs, keep their drivers running, and serve jobs over HTTP. Ctrl-C ends the server, not the jobs."""
    # Here, because other commands need not wait for a web server to be loaded.
    try:
        from penstock.server.running import ServerOptions, run_server
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"{error.name} is missing: run `pip install 'penstock[server]'`") from None

    options = ServerOptions(
        host=host,
        port=port,
        has_token=not no_token,
        token_file=token_file,
        certificate=certificate,
        key=key,
        host_names=tuple(host_name or ()),
        pages=pages,
        registry=registry,
        folder=folder,
        history=history,
        log=log,
        sql_sessions=sql_sessions,
        sql_timeout=sql_timeout,
    )
    run_server(options, tell=note)
