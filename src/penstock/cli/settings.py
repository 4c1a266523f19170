"""The command `settings`: which settings there are, as a list to read or as the page of the documentation."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output import note
from penstock.graph.declared_settings import SETTINGS, Setting
from penstock.graph.settings_page import settings_page


def settings(
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="Show only settings whose key or description contains this text."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the documentation page as Markdown.")] = False,
) -> None:
    """Show the settings that a job can be given with -D, their defaults and what they mean."""
    if markdown:
        typer.echo(settings_page(), nl=False)
        return
    found = [setting for setting in SETTINGS.values() if text is None or _has(setting, text.lower())]
    if not found:
        note(f"penstock: no setting has {text!r} in its key or meaning; `penstock settings` shows all")
        raise typer.Exit(1)
    for setting in found:
        typer.echo(f"{setting.key}\n    {setting.doc}")
        typer.echo(f"    value: {setting.kind.name}; default: {setting.shown_default()}")


def _has(setting: Setting, text: str) -> bool:
    return any(text in each.lower() for each in (setting.key, setting.former or "", setting.doc))
