"""The main module of drivers: an exit code is left for whoever looks after the driver, however the program ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.driver_main import main


@pytest.mark.parametrize(
    ("program", "code"),
    [("pass", 0), ("import sys; sys.exit(7)", 7), ("raise ValueError('no')", 1), ("import sys; sys.exit('text')", 1)],
)
def test_the_exit_code_is_left(tmp_path: Path, program: str, code: int) -> None:
    (tmp_path / "program.py").write_text(program)
    with pytest.raises(SystemExit):
        main(str(tmp_path / "exit"), "run", str(tmp_path / "program.py"))
    assert (tmp_path / "exit").read_text() == str(code)
