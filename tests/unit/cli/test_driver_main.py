"""The main module of drivers: an exit code is left for whoever looks after the driver, however the program ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.driver_main import run
from penstock.server.dispatcher.processes import DRIVER_MODULE, NOT_STARTED


@pytest.mark.parametrize(
    ("program", "code"),
    [("pass", 0), ("import sys; sys.exit(7)", 7), ("raise ValueError('no')", 1), ("import sys; sys.exit('text')", 1)],
)
def test_the_exit_code_is_left(tmp_path: Path, program: str, code: int) -> None:
    (tmp_path / "program.py").write_text(program)
    with pytest.raises(SystemExit):
        run(str(tmp_path / "exit"), ["run", str(tmp_path / "program.py")])
    assert (tmp_path / "exit").read_text() == str(code)


@pytest.mark.parametrize("told", [b"", b'["run", '])
def test_a_driver_whose_dispatcher_goes_before_it_is_told_what_to_run_does_nothing(tmp_path: Path, told: bytes) -> None:
    command = [sys.executable, "-m", DRIVER_MODULE, str(tmp_path / "exit")]
    done = subprocess.run(command, input=told, capture_output=True, timeout=120, check=False)
    assert done.returncode == 1 and b"does not lead any more, or has died" in done.stderr
    assert (tmp_path / "exit").read_text() == str(NOT_STARTED)
