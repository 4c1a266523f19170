"""What is given on the command line, as the configuration of a program or a shell."""

from __future__ import annotations

import typer

from penstock.cli.output import note
from penstock.common.configuration import Configuration
from penstock.errors import ConfigurationError


def configuration_of(
    settings: list[str], savepoint: str | None, parallelism: int | None, master: str | None, allows_loss: bool
) -> Configuration:
    """What was given, read once, so that a mistake in it is one of the call and not of the program."""
    # Here, because other commands need not wait until half of Penstock is loaded.
    from penstock.checkpoint.directory import absolute_uri
    from penstock.graph import declared_settings as keys
    from penstock.graph.settings import JobSettings

    configuration = Configuration()
    for text in settings:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise typer.BadParameter(f"{text!r} must look like key=value", param_hint="-D")
        configuration.set_string(key.strip(), value)
    if savepoint is not None:
        configuration.set_string(keys.RECOVERY_PATH, absolute_uri(savepoint))
    if allows_loss:
        configuration.set_boolean(keys.IGNORE_UNCLAIMED_STATE, True)
    if parallelism is not None:
        configuration.set_integer(keys.PARALLELISM, parallelism)
    if master is not None:
        configuration.set_string(keys.SPARK_MASTER, master)
    try:
        JobSettings.from_configuration(configuration)
    except ConfigurationError as error:
        raise typer.BadParameter(str(error), param_hint="-D") from None
    return configuration


def tell_of_unknown(
    configuration: Configuration, others: tuple[str, ...] = (), reader: str = "only the program itself can read it"
) -> None:
    """The environment warns of keys that it knows to do nothing; on the line, others are most likely misspelt too.

    `others` are beginnings of keys that somebody else reads.
    """
    from penstock.graph.unused_keys import keys_of_nobody

    for key in keys_of_nobody(configuration.to_dict()):
        if not key.startswith(others):
            note(f"penstock: -D {key}: unknown to Penstock and Spark; {reader}")
