"""The SQL gateway of a server as a process: statements, pages, jobs, sessions and their ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.server.servers import Server, server
from tests.server.sql_client import SqlSession, group_of, session_processes
from tests.spark.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NUMBERS = """
CREATE TABLE numbers (id BIGINT, half AS CAST(id AS DECIMAL(10, 2)) / 2, at AS TO_TIMESTAMP_LTZ(id, 3)) WITH (
    'connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '{}')
"""
ENDLESS = "CREATE TABLE ticks (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '{}')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Server]:
    with server(folder, "--sql-sessions", "3") as one:
        yield one


@pytest.fixture
def session(running: Server) -> Iterator[SqlSession]:
    made = SqlSession.open(running)
    yield made
    made.close()


@contextmanager
def refused(status: int, text: str) -> Iterator[None]:
    with pytest.raises(urllib.error.HTTPError) as error:
        yield
    told = json.load(error.value)
    assert (error.value.code, text in told["errors"][0]) == (status, True), told


def test_facts_of_every_version(running: Server) -> None:
    for version in ("", "/v1", "/v2", "/v3", "/v4"):
        assert running.get(f"{version}/api_versions") == {"versions": ["V1", "V2", "V3", "V4"]}
        assert running.get(f"{version}/info") == {"productName": "Apache Flink", "version": "2.3.0"}


def test_rows_come_in_pages_as_json_and_as_text(session: SqlSession) -> None:
    assert session.rows(NUMBERS.format(2500)) == [("INSERT", "OK")]
    operation = session.begin("SELECT id, half, at FROM numbers")
    pages = session.pages(operation)
    rows = [row["fields"] for page in pages for row in page["results"]["data"]]
    assert sorted(rows) == sorted([n, n / 2, f"1970-01-01T00:00:0{n // 1000}{fraction(n)}Z"] for n in range(1, 2501))
    assert max(len(page["results"]["data"]) for page in pages) <= 1000 and len(pages) >= 4
    first = pages[0]
    assert (first["isQueryResult"], first["resultKind"], len(first["jobID"])) == (True, "SUCCESS_WITH_CONTENT", 32)
    assert [each["logicalType"]["type"] for each in first["results"]["columns"]] == [
        "BIGINT", "DECIMAL", "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    ]  # fmt: skip
    texts = session.rows("SELECT id, half, at FROM numbers WHERE id < 2", "PLAIN_TEXT")
    assert texts == [("INSERT", "1", "0.5000000000000", "1970-01-01 00:00:00.001")]


def fraction(n: int) -> str:
    return f".{n % 1000:03}".rstrip("0") if n % 1000 else ""


def test_a_page_can_be_fetched_again_and_no_other(session: SqlSession) -> None:
    operation = session.begin("SELECT * FROM (VALUES (1), (2)) AS t (x)")
    while not (page := session.page(operation))["results"]["data"]:
        assert page["nextResultUri"].endswith("/result/0?rowFormat=JSON")
    again = session.page(operation)
    assert again == page and [row["fields"] for row in page["results"]["data"]] == [[1], [2]]
    with refused(400, "there is no page 7: the next one is 1"):
        session.page(operation, 7)
    with refused(400, "rowFormat must be JSON or PLAIN_TEXT, not 'XML'"):
        session.page(operation, 1, "XML")
    assert session.page(operation, 1)["resultType"] == "EOS"
    session.version = "v1"
    assert session.page(operation, 0)["nextResultUri"].endswith("/result/1")
    assert session.call("GET", f"/operations/{operation}/status") == {"status": "FINISHED"}
    assert session.call("DELETE", f"/operations/{operation}/close") == {"status": "CLOSED"}
    with refused(404, "this session has no operation"):
        session.page(operation, 1)


def test_settings_changes_and_mistakes(session: SqlSession) -> None:
    session.call("POST", "/configure-session", {"statement": "SET 'parallelism.default' = '2'"})
    session.call("POST", "/configure-session", {"statement": "CREATE VIEW v AS SELECT 1 AS x"})
    session.call("POST", "/configure-session", {"statement": "SET 'kafka.password' = 'hunter2'"})
    told = session.call("GET", "")["properties"]
    assert (told["parallelism.default"], told["kafka.password"]) == ("2", "******")
    with refused(400, "configure-session takes SET, CREATE, DROP"):
        session.call("POST", "/configure-session", {"statement": "SELECT 1"})
    with refused(400, "There is no column 'y' here"):
        session.rows("SELECT y FROM v")
    failed = session.begin("SELECT y FROM v")
    wait_until(lambda: session.call("GET", f"/operations/{failed}/status") == {"status": "ERROR"}, "it has failed")
    assert session.rows("SELECT x FROM v") == [("INSERT", 1)]
    asked = {"statement": "SELECT * FROM ", "position": 14}
    assert "v" in session.call("GET", "/complete-statement", asked)["candidates"]
    tokyo = {"table.local-time-zone": "Asia/Tokyo"}
    operation = session.begin("SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING)", **tokyo)
    assert [row["fields"] for page in session.pages(operation) for row in page["results"]["data"]] == [
        ["1970-01-01 09:00:00.000"]
    ]
    assert session.call("GET", "")["properties"]["table.local-time-zone"] == "UTC"
    assert session.call("POST", "/heartbeat") == {}


def test_an_insert_is_a_job_that_outlasts_its_session(running: Server, tmp_path: Path) -> None:
    session = SqlSession.open(running, **{"execution.checkpointing.interval": "200ms"})
    session.rows(ENDLESS.format(50))
    sink = f"'connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path}/out'"
    session.rows(f"CREATE TABLE files (id BIGINT) WITH ({sink})")
    with refused(400, "There is no column 'nothing' here"):
        session.rows("INSERT INTO files SELECT nothing FROM ticks")
    [(_, job)] = session.rows("INSERT INTO files SELECT id FROM ticks")
    assert running.state(job) == "RUNNING"
    session.close()
    wait_until(lambda: running.document(job)["checkpoints"]["completed"] > 2, "the job goes on without its session")
    other = SqlSession.open(running)
    [shown] = other.rows(f"DESCRIBE JOB '{job}'")
    assert shown[1:4] == (job, "insert-into_default_catalog.default_database.files", "RUNNING")
    assert job in [row[1] for row in other.rows("SHOW JOBS")]
    with refused(404, "There is no job with the id 'nowhere' at this server"):
        other.rows("STOP JOB 'nowhere'")
    assert other.rows(f"STOP JOB '{job}'") == [("INSERT", "OK")]
    other.close()
    running.await_state(job, "CANCELED")
    assert any((tmp_path / "out").rglob("*"))


def test_statement_sets_tables_made_of_queries_and_waiting(session: SqlSession, tmp_path: Path) -> None:
    session.rows(NUMBERS.format(9))
    for name in ("low", "high"):
        sink = f"'connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path}/{name}'"
        session.rows(f"CREATE TABLE {name} (id BIGINT) WITH ({sink})")
    session.rows("SET 'table.dml-sync' = 'true'")
    assert session.rows("BEGIN STATEMENT SET") == [("INSERT", "OK")]
    session.rows("INSERT INTO low SELECT id FROM numbers WHERE id < 5")
    session.rows("INSERT INTO high SELECT id FROM numbers WHERE id >= 5;")
    assert session.rows("END;") == [("INSERT", "OK")]
    assert (lines(tmp_path / "low"), lines(tmp_path / "high")) == (list("1234"), list("56789"))
    sink = f"'connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path}/made'"
    session.rows(f"CREATE TABLE made WITH ({sink}) AS SELECT id FROM numbers WHERE id < 3")
    session.rows("INSERT INTO made VALUES (7)")  # the table is known to the session, and is not filled again
    assert lines(tmp_path / "made") == list("127")


def lines(folder: Path) -> list[str]:
    files = [each for each in folder.rglob("*") if each.is_file() and not each.name.startswith((".", "_"))]
    return sorted(line for each in files for line in each.read_text().split())


def test_a_closed_session_ends_its_queries_and_its_process(running: Server, folder: Path) -> None:
    session = SqlSession.open(running)
    session.rows(ENDLESS.format(100))
    operation = session.begin("SELECT id FROM ticks")
    job = session.page(operation)["jobID"]
    other = session.begin("SELECT id FROM ticks")
    cancelled = session.page(other)["jobID"]
    assert session.call("POST", f"/operations/{other}/cancel") == {"status": "CANCELED"}
    running.await_state(cancelled, "CANCELED")
    assert running.state(job) == "RUNNING" and len(session_processes(folder)) == 1
    session.close()
    assert session_processes(folder) == []
    running.await_state(job, "CANCELED")
    with refused(404, "there is no SQL session"):
        session.rows("SELECT 1")
    assert not list((folder / "data" / "sql_sessions").iterdir())


def test_no_more_sessions_than_allowed(running: Server) -> None:
    sessions = [SqlSession.open(running) for _ in range(3)]
    with refused(429, "3 SQL sessions are open, and no more are allowed"):
        SqlSession.open(running)
    for each in sessions:
        each.close()
    SqlSession.open(running).close()


def test_a_session_whose_process_dies_is_told_so_and_makes_room(running: Server, folder: Path) -> None:
    session = SqlSession.open(running)
    [process] = session_processes(folder)
    os.kill(process, signal.SIGKILL)
    with refused(404, ""):
        while True:
            session.rows("SELECT 1")
    wait_until(lambda: not session_processes(folder), "it is gone")


def test_only_who_may_operate_has_sessions(tmp_path: Path) -> None:
    tokens = tmp_path / "h" / "server" / "tokens"
    tokens.parent.mkdir(parents=True)
    for folder in (tmp_path / "h", tokens.parent):
        folder.chmod(0o700)
    tokens.write_text(f"operate {'o' * 20}\nread {'r' * 20}\n")
    tokens.chmod(0o600)
    with server(tmp_path) as one:
        reader = Server(one.process, one.url, "r" * 20)
        operator = Server(one.process, one.url, "o" * 20)
        assert reader.get("/v1/info")["version"] == "2.3.0"
        with refused(403, "this token may only look"):
            SqlSession.open(reader)
        session = SqlSession.open(operator)
        with refused(403, "this token may only look"):
            SqlSession(reader, session.handle).call("GET", "")
        with refused(401, "no valid token"):
            SqlSession(Server(one.process, one.url, None), session.handle).call("GET", "")


def test_a_session_that_nobody_uses_is_closed(tmp_path: Path) -> None:
    with server(tmp_path, "--sql-timeout", "2") as one:
        session = SqlSession.open(one)
        session.rows(ENDLESS.format(100))
        job = session.page(session.begin("SELECT id FROM ticks"))["jobID"]
        wait_until(lambda: not session_processes(tmp_path), "the session has timed out")
        one.await_state(job, "CANCELED")
        with refused(404, "it was closed, or timed out"):
            session.call("POST", "/heartbeat")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_server_that_ends_leaves_no_session_behind(tmp_path: Path, how: signal.Signals) -> None:
    with server(tmp_path) as one:
        session = SqlSession.open(one)
        session.rows(ENDLESS.format(100))
        session.page(session.begin("SELECT id FROM ticks"))
        assert len(session_processes(tmp_path)) == 1
        one.process.send_signal(how)
        one.process.wait(30)
        wait_until(lambda: not session_processes(tmp_path), "the process of the session has ended")
        assert not list((tmp_path / "data" / "sql_sessions").iterdir())


@pytest.mark.slow
def test_a_session_on_spark_and_its_end_with_a_killed_server(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        session = SqlSession.open(one, **{"penstock.engine": "spark", "spark.master": "local[1]"})
        session.rows(NUMBERS.format(20))
        assert session.rows("SELECT SUM(id) FROM numbers WHERE id > 19") == [("INSERT", 20)]
        [process] = session_processes(tmp_path)
        group = group_of(process)
        assert len(group) > 1  # Spark's JVM, and its workers
        one.kill()
        wait_until(lambda: not group_of(process), "Spark has ended with the session")


def test_the_program_of_the_page(running: Server) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sql_gateway.md").read_text()
    [(program, output)] = re.findall(r"^```python gateway\n(.*?)^```\n```text output\n(.*?)^```", page, re.M | re.S)
    place = {"PENSTOCK_SERVER": running.url, "PENSTOCK_TOKEN": str(running.token)}
    told = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **place}, capture_output=True, text=True, check=False
    )
    assert (told.stdout, told.stderr) == (output, "")
