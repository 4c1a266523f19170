"""What the commands for the broker say when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import kafka
from penstock.cli.commands import app


def test_no_broker_is_no_error_to_stop_but_a_status_of_its_own(tmp_path: Path) -> None:
    stopped = CliRunner().invoke(kafka.app, ["stop", "--data-dir", str(tmp_path)])
    assert (stopped.exit_code, stopped.output) == (0, "no broker was running\n")
    shown = CliRunner().invoke(kafka.app, ["status", "--data-dir", str(tmp_path)])
    assert (shown.exit_code, shown.output) == (3, f"no broker runs in {tmp_path}\n")
    assert CliRunner().invoke(app, ["kafka", "status", "--json", "--data-dir", str(tmp_path)]).stdout == "null\n"


@pytest.mark.parametrize("text", ["orders:", "orders:none", "orders:0", ":3", "orders:-1"])
def test_a_topic_that_makes_no_sense_is_refused_before_anything_starts(text: str, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["kafka", "start", "--data-dir", str(tmp_path), "--topic", text])
    assert told.exit_code == 1
    assert told.output == f"penstock: --topic {text!r}: write NAME or NAME:PARTITIONS, for example orders:4\n"
    assert not list(tmp_path.iterdir())
