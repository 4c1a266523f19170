"""The switch of the start-up tricks: all of them by default, none with `penstock.spark.fast-start` false."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.engine.spark.startup.session_config import WORKER_DAEMON
from penstock.engine.spark.startup.unix_sockets import fits
from tests.spark.jobs import startup_tricks
from tests.spark.processes import process_group

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a prepared daemon on Linux")

PLAIN = {
    "daemon": "pyspark.daemon",
    "zipped": True,
    "threshold": 700,
    "is_frozen": False,
    "unix_sockets": False,
    "archive": False,
    "python": sys.executable,
    "fork_server": False,
}


def test_by_default_all_of_it_is_on(spark: SparkSession) -> None:
    found = startup_tricks.looked()
    assert (found["daemon"], found["threshold"], found["is_frozen"]) == (WORKER_DAEMON, 50_000, True)
    assert not found["zipped"]
    assert found["archive"]
    assert found["unix_sockets"] == found["fork_server"] == fits(tempfile.gettempdir())
    assert found["python"] != sys.executable  # the script that leaves the zipped copy out


def test_with_the_switch_off_a_job_runs_and_none_of_it_is(tmp_path: Path) -> None:
    with process_group(tmp_path) as group:
        # As it is outside of the tests: nobody has chosen the Python of the workers.
        command = ["env", "--unset=PYSPARK_PYTHON", sys.executable, "-m", startup_tricks.MODULE, "false"]
        program = group.start(command, "plain")
        program.finish()
        assert json.loads(program.tail(1)) == PLAIN


def test_in_a_session_that_is_there_workers_of_one_job_go_without(spark: SparkSession) -> None:
    """The session keeps its daemon; what is switched for each job is what its workers do themselves."""
    assert startup_tricks.looked(fast_start=False)["threshold"] == 700
    assert startup_tricks.looked(fast_start=True)["threshold"] == 50_000
