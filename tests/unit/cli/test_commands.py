"""The command line as a whole: version, help, errors in one line, and how it is started."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import penstock
from penstock.cli import commands
from penstock.errors import CheckpointError


def test_version_and_help() -> None:
    told = CliRunner().invoke(commands.app, ["--version"])
    assert (told.exit_code, told.output) == (0, f"penstock {penstock.__version__}\n")
    assert "Usage: " in CliRunner().invoke(commands.app, ["--help"]).output


def test_an_unknown_command_is_a_usage_error() -> None:
    told = CliRunner().invoke(commands.app, ["fly"])
    assert told.exit_code == 2
    assert "No such command 'fly'" in told.output


def test_an_error_of_our_own_is_one_line() -> None:
    app = typer.Typer(cls=type(typer.main.get_command(commands.app)))

    @app.command()
    def one() -> None:
        raise CheckpointError("nothing there")

    @app.command()
    def two() -> None:
        """Only to make it a group."""

    told = CliRunner().invoke(app, ["one"])
    assert (told.exit_code, told.output) == (1, "penstock: nothing there\n")


@pytest.mark.parametrize("module", ["penstock"])
def test_it_runs_as_a_module(module: str) -> None:
    told = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"penstock {penstock.__version__}\n"
