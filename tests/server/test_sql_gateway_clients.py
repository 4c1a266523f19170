"""Clients of the SQL gateway that nobody here wrote: the JDBC driver and the SQL client of Flink 2.3."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.java import java_home
from tests.server.flink_command import find_flink
from tests.server.flink_jars import flink_jar, jar
from tests.server.servers import Server, server
from tests.server.sql_client import session_processes
from tests.spark.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PROGRAM = Path(__file__).with_name("JdbcClient.java")
SCRIPT = """
SET 'sql-client.execution.result-mode' = 'tableau';
CREATE TABLE orders (id BIGINT, fruit AS CASE WHEN MOD(id, 3) = 0 THEN 'pear' ELSE 'apple' END) WITH (
    'connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '8');
SHOW TABLES;
SELECT fruit, COUNT(*) AS total FROM orders GROUP BY fruit;
CREATE TABLE nowhere (id BIGINT) WITH ('connector' = 'blackhole');
BEGIN STATEMENT SET;
INSERT INTO nowhere SELECT id FROM orders;
INSERT INTO nowhere SELECT id + 1 FROM orders;
END;
SELECT wrong FROM orders;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Server]:
    with server(folder) as one:
        yield one


def environment(running: Server) -> dict[str, str]:
    """The token goes into a header, as with Flink's other commands."""
    return {**os.environ, "FLINK_REST_CLIENT_HEADERS": f"Authorization:Bearer {running.token}", "TZ": "UTC"}


def test_flinks_jdbc_driver(running: Server, folder: Path, tmp_path: Path) -> None:
    home = Path(java_home())
    compiler = home / "bin" / "javac" if (home / "bin" / "javac").exists() else shutil.which("javac")
    if compiler is None:
        pytest.skip("there is no Java compiler here")
    jars = os.pathsep.join(map(str, [flink_jar("flink-sql-jdbc-driver-bundle"), jar("org.slf4j:slf4j-api:1.7.36")]))
    subprocess.run([str(compiler), "-nowarn", "-d", str(tmp_path), str(PROGRAM)], check=True)
    command = [str(home / "bin" / "java"), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}{os.pathsep}{tmp_path}"]
    told = subprocess.run(
        [*command, "JdbcClient", running.url.removeprefix("http://")],
        env=environment(running), capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    lines = told.stdout.splitlines()
    assert told.returncode == 0, told.stdout + told.stderr
    assert lines[:2] == ["catalogs default_catalog", "schemas default_database | default_catalog"]
    assert sorted(lines[2:4]) == [
        "rows 1 | 0.5000000000000 | 1970-01-01 00:00:00.001 | 1 | false | 2024-02-03 | 0.25 | {a=1} | null",
        "rows 2 | 1.0000000000000 | 1970-01-01 00:00:00.002 | 2 | true | 2024-02-03 | 0.5 | {a=2} | null",
    ]
    assert lines[4].startswith("refused [There is no column 'wrong' here.")
    job = lines[5].removeprefix("job ")
    running.await_state(job, "FINISHED")
    assert lines[6:] == ["ticks 2500"]
    wait_until(lambda: not session_processes(folder), "the driver has closed its session")


def test_flinks_sql_client(running: Server, folder: Path, tmp_path: Path) -> None:
    client = find_flink().with_name("sql-client.sh")
    (tmp_path / "config.yaml").write_text("rest.address: 127.0.0.1\n")
    (tmp_path / "script.sql").write_text(SCRIPT)
    places = {"FLINK_CONF_DIR": str(tmp_path), "FLINK_LOG_DIR": str(tmp_path), "HOME": str(tmp_path)}
    # The package of PyFlink has the client without the classes of the gateway that it shares; they go onto its path.
    shared = {"HADOOP_CLASSPATH": str(flink_jar("flink-sql-gateway"))}
    address = running.url.removeprefix("http://")
    told = subprocess.run(
        [str(client), "gateway", "--endpoint", address, "-f", str(tmp_path / "script.sql")],
        env={**environment(running), **places, **shared}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    out = told.stdout
    assert "|     orders |\n" in out, out + told.stderr
    assert re.search(r"\| \+U \| +apple \| +6 \|\n", out) and "Received a total of 16 rows" in out, out
    [job] = re.findall(r"Job ID: (\w{32})", out)
    assert "[There is no column 'wrong' here." in out
    running.await_state(job, "FINISHED")
    wait_until(lambda: not session_processes(folder), "the client has closed its session")
