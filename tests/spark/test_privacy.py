"""Who may get in: local Spark listens to this machine only, with a secret, and its files are the user's alone."""

from __future__ import annotations

import stat
import subprocess
import sys
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from tests.spark.conftest import NewEnvironment
from tests.spark.processes import command_of, process_group, spark_settings

HELD = "import sys; from penstock.scratch import make_scratch; print(make_scratch('x'), flush=True); sys.stdin.read()"


def listening() -> dict[str, str]:
    """Addresses that this process and all below it listen at, with the program that does."""
    here = psutil.Process()
    found = {}
    for process in [here, *here.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # workers come and go
            for connection in process.net_connections("inet"):
                if connection.status == psutil.CONN_LISTEN:
                    found[f"{connection.laddr.ip}:{connection.laddr.port}"] = process.name()
    return found


def test_nothing_listens_on_an_address_that_others_reach(spark: SparkSession, new_environment: NewEnvironment) -> None:
    environment = new_environment(2)
    seen: dict[str, str] = {}
    results = environment.from_collection([1, 2, 3]).key_by(lambda n: n).map(lambda n: n).execute_and_collect()
    for _ in results:
        seen |= listening()
    assert "java" in seen.values()
    reached = [name for name in seen if not ip_address(name.rpartition(":")[0].removeprefix("::ffff:")).is_loopback]
    assert reached == []


def test_spark_asks_for_a_secret_that_nobody_reads_in_a_list_of_processes(spark: SparkSession) -> None:
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.authenticate") == "true"
    assert not conf.contains("spark.authenticate.secret")  # Spark draws one inside the JVM
    lines = [command_of(process) for process in psutil.Process().children(recursive=True)]
    assert any("spark.authenticate=true" in line for line in lines)
    assert not [line for line in lines if "secret" in line]
    # The way from Python into the JVM has a token of its own, also on loopback.
    assert spark.sparkContext._gateway.gateway_parameters.auth_token


def test_what_spark_keeps_on_disk_is_the_users_alone(spark: SparkSession) -> None:
    folder = Path(spark.sparkContext.getConf().get("spark.local.dir"))
    assert folder.name.startswith("penstock-scratch-spark-")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_start_clears_away_what_a_killed_driver_left(new_environment: NewEnvironment) -> None:
    killed, living = (
        subprocess.Popen([sys.executable, "-c", HELD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    assert killed.stdout is not None and living.stdout is not None
    left, needed = (Path(each.stdout.readline().strip()) for each in (killed, living))  # type: ignore[union-attr]
    try:
        killed.kill()
        killed.communicate()
        assert left.exists()
        environment = new_environment(1)
        environment.from_collection([1]).map(lambda n: n).print()
        environment.execute()
        assert not left.exists()
        assert needed.exists()
    finally:
        living.kill()
        living.communicate()


# The file system of a checkpoint would read such a setting; what Java was started with, and knows, is told.
REFERRING = """
import os, psutil
from penstock.datastream import StreamExecutionEnvironment
from pyspark.sql import SparkSession
env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
env.from_collection([1, 2]).map(lambda n: n + 1).print()
env.execute("referring")
spark = SparkSession.builder.getOrCreate()
lines = []
for each in psutil.Process().children(recursive=True):
    try:
        lines.append(" ".join(each.cmdline()))
    except psutil.NoSuchProcess:  # workers come and go
        continue
assert any("java" in line for line in lines)
assert not [line for line in lines if os.environ["MY_SECRET"] in line], lines
assert spark.sparkContext._jsc.hadoopConfiguration().get("fs.my.secret.key") == os.environ["MY_SECRET"]
assert os.environ["MY_SECRET"] not in str(spark.sparkContext.getConf().getAll())
print("as it should be")
"""


def test_a_secret_that_a_setting_refers_to_reaches_java_and_no_command_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(REFERRING)
    key = "-Dspark.hadoop.fs.my.secret.key=${env:MY_SECRET}"
    with process_group(tmp_path) as group:
        told = [f"-D{name}={value}" for name, value in spark_settings(group).items()]
        command = [sys.executable, "-m", "penstock", "run", *told, "--master", "local[1]", key]
        program = group.start([*command, str(tmp_path / "program.py")], "referring", MY_SECRET="hunter2hunter2")
        program.finish()
        assert "as it should be" in program.tail() and "hunter2" not in program.tail(10_000)
        refused = group.start(
            [*command, "-Dspark.ssl.keyPassword=${env:MY_SECRET}", str(tmp_path / "program.py")],
            "refused",
            MY_SECRET="hunter2hunter2",
        )
        assert refused.process.wait(120) == 1
        assert "configuration key 'spark.ssl.keyPassword' refers to a secret" in refused.tail()
