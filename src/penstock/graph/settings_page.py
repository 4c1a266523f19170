"""The page docs/settings.md, made from the declared settings."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.graph.declared_settings import SETTINGS, Setting

_HEAD = """# Settings

All settings that Penstock reads. Set them in a `Configuration`, with the methods of the environment, or on
the [command line](cli.md): `penstock run -D key=value`. Older names of a key work too.
A bad value is refused before anything runs.

Write a duration as `10 s`, `1 min` or `500 ms`; a number without a unit is milliseconds. Write a size as
`64 mb`; a number without a unit is bytes.

This page is generated: `penstock settings --markdown > docs/settings.md`.
"""
_COLUMNS = "| key | value | default | meaning |\n|---|---|---|---|\n"


def settings_page() -> str:
    """Return the page as Markdown."""
    acting = [setting for setting in SETTINGS.values() if setting.has_effect]
    kept = [setting for setting in SETTINGS.values() if setting not in acting]
    return "\n".join(
        (
            _HEAD,
            "## Flink's settings\n",
            _table(setting for setting in acting if setting.is_flinks),
            "## Penstock's own settings\n",
            _table(setting for setting in acting if not setting.is_flinks),
            "## Settings without effect\n",
            "Flink programs may set these. Penstock checks and stores the values, and your program can read them.\n"
            "If you ask for something that does not happen, a warning says why.\n",
            _table(kept).rstrip("\n") + "\n",
        )
    )


def _table(settings: Iterable[Setting]) -> str:
    return _COLUMNS + "".join(map(_row, settings))


def _row(setting: Setting) -> str:
    former = f" (formerly `{setting.former}`)" if setting.former else ""
    return f"| `{setting.key}`{former} | {setting.kind.name} | {setting.shown_default()} | {setting.doc} |\n"
