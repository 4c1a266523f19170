"""The page docs/settings.md, made from the declared settings."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.graph.declared_settings import CHECKPOINT_MODE, SETTINGS, Setting

_HEAD = """# Settings

All settings that Penstock reads. Set them with a `Configuration`, by the methods of the environment, or on
[the command line](cli.md): `penstock run -D key=value`. A key with an older name is read under that name too.
A bad value is refused before anything runs.

A duration is a text such as `10 s`, `1 min` or `500 ms`; a bare number is milliseconds. A size is a text such as
`64 mb`; a bare number is bytes.

This page is made by `penstock settings --markdown > docs/settings.md` from `penstock.graph.declared_settings`.
"""
_COLUMNS = "| key | value | default | meaning |\n|---|---|---|---|\n"


def settings_page() -> str:
    """Return the page as Markdown."""
    acting = [setting for setting in SETTINGS.values() if setting.has_effect and setting.key != CHECKPOINT_MODE]
    kept = [setting for setting in SETTINGS.values() if setting not in acting]
    return "\n".join(
        (
            _HEAD,
            "## Flink's settings\n",
            _table(setting for setting in acting if setting.is_flinks),
            "## Penstock's own settings\n",
            _table(setting for setting in acting if not setting.is_flinks),
            "## Kept without effect\n",
            "Programs for Flink may carry these. They are checked, and given back to whoever asks. Where something is\n"
            "asked for that does not happen, a warning says why.\n",
            _table(kept).rstrip("\n") + "\n",
        )
    )


def _table(settings: Iterable[Setting]) -> str:
    return _COLUMNS + "".join(map(_row, settings))


def _row(setting: Setting) -> str:
    former = f" (formerly `{setting.former}`)" if setting.former else ""
    return f"| `{setting.key}`{former} | {setting.kind.name} | {setting.shown_default()} | {setting.doc} |\n"
