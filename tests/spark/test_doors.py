"""The ways in: pip and an empty directory, a session that is there already, spark-submit on a cluster."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark
import pytest

from tests.spark.installed import (
    Installed,
    build_wheel,
    install,
    new_environment,
    plain_variables,
    rows_of,
    run_readme,
)
from tests.spark.processes import QUICK_JAVA, quick_spark
from tests.spark.test_cluster import cluster, cluster_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")

EXISTING_SESSION = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")

from penstock.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
sums = env.from_collection([1, 2, 3]).key_by(lambda n: 0).reduce(lambda a, b: a + b)
print("sums", list(sums.execute_and_collect("sums")))
print("kept", spark.conf.get("spark.sql.session.timeZone"), spark.sparkContext.master)
print("still", spark.range(3).count())
"""

SUBMITTED = """
import sys
from pyspark import SparkContext
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink

env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
env.get_checkpoint_config().set_checkpoint_storage_dir(sys.argv[1] + "/checkpoint")
counted = env.from_sequence(1, 100).map(lambda n: (n % 4, 1)).key_by(lambda pair: pair[0]).sum(1)
counted.map(lambda pair: {"key": pair[0], "count": pair[1]}).sink_to(FileSink.json(sys.argv[1] + "/counts"))
env.execute("submitted")
context = SparkContext._active_spark_context
print("master", context.master, "name", context.appName)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(wheel, tmp_path_factory.mktemp("installed") / "environment", borrowing=True)


def test_the_program_of_the_readme_runs_from_an_empty_directory(installed: Installed, tmp_path: Path) -> None:
    """With borrowed packages; `make wheel-check` does it with nothing but what pip gets from the index."""
    run_readme(installed, tmp_path)


def test_a_session_that_is_there_is_used_and_stays_as_it_is(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(EXISTING_SESSION)
    done = installed.run(["program.py"], tmp_path, **quick_spark(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == ["sums [1, 3, 6]", "kept Europe/Berlin local[2]", "still 3"]


def test_a_python_of_workers_that_cannot_run_it_is_told_in_one_sentence(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(EXISTING_SESSION)
    python = plain_variables(tmp_path)["PATH"].partition(":")[0] + "/python3"
    done = installed.run(["program.py"], tmp_path, PYSPARK_PYTHON=python, **quick_spark(tmp_path))
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "has no penstock, " in last
    assert f"set the variable PYSPARK_PYTHON to {installed.python}, or unset it" in last
    assert "at org.apache" not in done.stderr


def test_spark_submit_on_a_cluster(installed: Installed, tmp_path: Path) -> None:
    """The master is the one on the line, and executors get Penstock from the driver: their Python does not have it."""
    without = new_environment(tmp_path / "workers", borrowing=True)
    program = tmp_path / "submitted.py"
    program.write_text(SUBMITTED)
    with cluster(tmp_path / "cluster") as (group, address):
        settings = {**cluster_settings(group), "spark.driver.extraJavaOptions": QUICK_JAVA}
        options = [f"--conf={key}={value}" for key, value in settings.items() if key.startswith("spark.")]
        job = group.start(
            [SUBMIT, "--master", address, *options, str(program), str(tmp_path)],
            "job",
            PYTHONPATH="",
            PATH=f"{without / 'bin'}:{os.environ['PATH']}",
            PYSPARK_PYTHON=str(without / "bin" / "python"),
            PYSPARK_DRIVER_PYTHON=str(installed.python),
            SPARK_LOCAL_IP="127.0.0.1",
        )
        job.finish()
        assert f"master {address} name submitted.py" in job.tail()
    counts = [(row["key"], row["count"]) for row in rows_of(tmp_path / "counts")]
    assert sorted(counts) == [(key, count) for key in range(4) for count in range(1, 26)]
