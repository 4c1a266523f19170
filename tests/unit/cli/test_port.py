"""`penstock port`: what it changes in a PyFlink program, and what it leaves to a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.commands import app
from penstock.cli.port import ported_program

PROGRAM = '''"""Counts words with pyflink."""
import os, pyflink.datastream as ds
from pyflink.common import Types, Row
from pyflink.datastream import (
    StreamExecutionEnvironment,  # of pyflink
    TimeCharacteristic,
)
from pyflink.datastream.connectors import FlinkKafkaConsumer, FileSource
from pyflink.datastream.connectors.elasticsearch import Elasticsearch7SinkBuilder
from pyflink.java_gateway import get_gateway
from my_pyflink import helper

env = StreamExecutionEnvironment.get_execution_environment()
env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
env.add_jars("file:///pyflink.jar")
env.from_collection([1]).key_by(lambda x: x, key_type=Types.INT()).pirnt()
'''


def test_imports_are_rewritten_and_nothing_else() -> None:
    ported = ported_program(PROGRAM)
    before, after = PROGRAM.splitlines(), ported.source.splitlines()
    assert [new for old, new in zip(before, after, strict=True) if old != new] == [
        "import os, penstock.datastream as ds",
        "from penstock.common import Types, Row",
        "from penstock.datastream import (",
        "from penstock.datastream.connectors import FlinkKafkaConsumer, FileSource",
        "from penstock.datastream.connectors.elasticsearch import Elasticsearch7SinkBuilder",
        "from penstock.java_gateway import get_gateway",
    ]
    assert ported.changed_lines == 6


def test_what_needs_a_hand_is_listed_by_line() -> None:
    found = [(line, what.partition(":")[0]) for line, what in ported_program(PROGRAM).by_hand]
    assert found == [
        (4, "TimeCharacteristic"),
        (8, "FlinkKafkaConsumer"),
        (9, "penstock.datastream.connectors.elasticsearch is not there"),
        (10, "penstock.java_gateway is not there"),
        (14, "set_stream_time_characteristic"),
        (15, "add_jars"),
    ]


def test_names_that_are_nowhere_get_the_nearest() -> None:
    ((line, what),) = ported_program("from pyflink.common import Typse").by_hand
    assert (line, what) == (1, "penstock.common has no Typse; did you mean Types?")
    ((line, what),) = ported_program("import pyflink.nonsense").by_hand
    assert (line, what) == (1, "pyflink.nonsense has no counterpart: Penstock has no such module")


@pytest.mark.parametrize("writes", [True, False])
def test_files_change_only_if_asked(tmp_path: Path, writes: bool) -> None:
    program, other, broken = tmp_path / "job.py", tmp_path / "other.py", tmp_path / "broken.py"
    program.write_text("from pyflink.common import Row\n")
    other.write_text("print('pyflink')\n")
    broken.write_text("print 'python 2'\n")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "lib.py").write_text("from pyflink.common import Row\n")
    told = CliRunner().invoke(app, ["port", str(tmp_path), *(["--write"] if writes else [])])
    assert told.exit_code == 0
    assert program.read_text() == f"from {'penstock' if writes else 'pyflink'}.common import Row\n"
    assert ("+from penstock.common import Row" in told.stdout) is not writes
    assert f"{broken}: not read, because it is no program of Python 3" in told.stderr
    assert told.stderr.endswith(
        f"1 files {'changed' if writes else 'would change (--write does it)'}; 0 places need a hand\n"
    )
    assert "venv" not in told.output


def test_a_path_that_is_not_there() -> None:
    told = CliRunner().invoke(app, ["port", "/no/such"])
    assert told.exit_code == 2
    assert "there is no file or folder /no/such" in told.stderr
