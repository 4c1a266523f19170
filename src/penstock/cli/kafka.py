"""Commands for a Kafka broker on this machine: start, stop, status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from penstock.errors import ConfigurationError
from penstock.kafka_broker import KAFKA_VERSION, LocalBroker, default_folder, has_broker_jars

# Kafka's own port, which every example in the world uses.
_PORT = 9092

app = typer.Typer(help="Run a real Kafka broker on this machine, for development and tests.", no_args_is_help=True)

DataDirectory = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIRECTORY", help="Directory for the broker's data; default: your cache folder."
    ),
]


@app.command()
def start(
    port: Annotated[int | None, typer.Option(help=f"Port of 127.0.0.1; default: {_PORT}.", min=1, max=65535)] = None,
    data_dir: DataDirectory = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:PARTITIONS", help="Create this topic if it is missing; may be repeated."),
    ] = None,
) -> None:
    """Have a broker running, with these topics; fetches it once if it is not here."""
    wanted = [_parsed(text) for text in topic or []]
    broker = _broker(data_dir, port)
    if not has_broker_jars():
        typer.echo(f"fetching Kafka {KAFKA_VERSION}, about 45 MB; needed only once", err=True)
    broker.start()
    for name, partitions in wanted:
        broker.create_topic(name, partitions)
    typer.echo(f"Kafka {KAFKA_VERSION} runs at {broker.address} (process {broker.pid}, log {broker.log})")


@app.command()
def stop(
    data_dir: DataDirectory = None,
    remove: Annotated[bool, typer.Option("--remove", help="Also delete all topics and data.")] = False,
) -> None:
    """Stop the broker; its data stay, unless they are to be removed."""
    broker = _broker(data_dir)
    was_running = broker.is_running
    if remove:
        broker.remove()
    else:
        broker.stop()
    typer.echo("stopped" if was_running else "no broker was running", err=not was_running)


@app.command()
def status(
    data_dir: DataDirectory = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show address, process and topics of the broker; ends with 3 if none runs."""
    broker = _broker(data_dir)
    if not broker.is_running:
        typer.echo("null" if as_json else f"no broker runs in {broker.folder}", err=not as_json)
        raise typer.Exit(3)
    topics = broker.topics()
    if as_json:
        shown = {"address": broker.address, "pid": broker.pid, "folder": str(broker.folder), "topics": topics}
        typer.echo(json.dumps(shown, indent=2))
        return
    typer.echo(f"Kafka {KAFKA_VERSION} runs at {broker.address} (process {broker.pid}, log {broker.log})")
    for name, partitions in topics.items():
        typer.echo(f"  {name}:{partitions}")


def _broker(folder: Path | None, port: int | None = None) -> LocalBroker:
    return LocalBroker(folder if folder is not None else default_folder(), port, first_port=_PORT)


def _parsed(text: str) -> tuple[str, int]:
    name, colon, partitions = text.partition(":")
    count = int(partitions) if partitions.isdecimal() else 0
    if not name or (colon and count < 1):
        raise ConfigurationError(f"--topic {text!r}: write NAME or NAME:PARTITIONS, for example orders:4")
    return name, count or 1
