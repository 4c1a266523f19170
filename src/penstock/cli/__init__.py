"""The command line: `penstock`."""

from __future__ import annotations


def main() -> None:
    """Run the command line; ends the process with 0 (done), 1 (failed) or 2 (called wrongly)."""
    from penstock.cli.commands import app

    app(prog_name="penstock")
