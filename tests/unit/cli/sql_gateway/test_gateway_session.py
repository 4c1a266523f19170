"""A session of the gateway without its process: what it remembers, submits and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.sql_gateway import gateway_session
from penstock.cli.sql_gateway.gateway_session import GatewaySession
from penstock.errors import SqlError
from penstock.server.gateway.channel import CallError

BLACKHOLE = "WITH ('connector' = 'blackhole')"


class Server:
    """Keeps what is asked of it."""

    def __init__(self) -> None:
        self.programs: list[str] = []

    def submit(self, program: str) -> str:
        self.programs.append(program)
        return f"job-{len(self.programs)}"

    def await_end(self, job: str) -> None:
        if job == "job-2":
            raise CallError(f"job {job} is FAILED", 500)

    def jobs(self, job: str | None) -> list[list[str]]:
        return [["job-1", "name", "RUNNING", "now"]]

    def stop_job(self, job: str, with_savepoint: bool, with_drain: bool) -> str | None:
        return "/saved" if with_savepoint else None


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def session(server: Server) -> GatewaySession:
    return GatewaySession({"penstock.engine": "in-process", "parallelism.default": "1"}, server)


def rows(session: GatewaySession, statement: str) -> list[Any]:
    operation = session.execute(statement)
    found: list[Any] = []
    token: int | None = 0
    while token is not None:
        page = session.fetch(operation, token, "JSON")
        token = page["next"]
        found += [row["fields"] for row in json.loads(page.get("data", "[]"))]
    return found


def ran(server: Server) -> list[str]:
    """What the driver of the last program runs."""
    scope: dict[str, Any] = {}
    lines = server.programs[-1].split("\nsettings =")[0]
    exec(lines, scope)
    return [*scope["BEFORE"], scope["STATEMENT"]]


def test_an_insert_takes_along_what_made_its_tables_and_nothing_else(session: GatewaySession, server: Server) -> None:
    make = f"CREATE TABLE t (x INT) {BLACKHOLE}"
    for statement in (make, "SHOW TABLES", "SET 'pipeline.name' = 'mine'", "DESCRIBE t", "SELECT 1"):
        rows(session, statement)
    assert rows(session, "INSERT INTO t VALUES (1)") == [["job-1"]]
    assert ran(server) == [make, "INSERT INTO t VALUES (1)"]
    assert "'pipeline.name': 'mine'" in server.programs[0]


def test_tables_of_a_catalog_in_a_file_are_not_made_again(
    session: GatewaySession, server: Server, tmp_path: Path
) -> None:
    statements = [
        f"CREATE CATALOG c WITH ('type' = 'file', 'path' = '{tmp_path}/c.json')",
        f"CREATE TABLE c.default_database.t (x INT) {BLACKHOLE}",
        "CREATE DATABASE c.d",
        "USE c.d",
        f"CREATE TABLE u (x INT) {BLACKHOLE}",
        "DROP TABLE u",
        "CREATE TEMPORARY VIEW v AS SELECT 1 AS x",
        f"CREATE TABLE default_catalog.default_database.w (x INT) {BLACKHOLE}",
    ]
    for statement in statements:
        rows(session, statement)
    insert = "INSERT INTO c.default_database.t SELECT x FROM v"
    rows(session, insert)
    assert ran(server) == [statements[0], statements[3], statements[6], statements[7], insert]


def test_a_table_made_of_a_query_is_filled_once(session: GatewaySession, server: Server) -> None:
    create = f"CREATE TABLE t {BLACKHOLE} AS SELECT 1 AS x"
    rows(session, create)
    assert ran(server) == [create]
    rows(session, "INSERT INTO t VALUES (2)")
    made, insert = ran(server)
    assert made.startswith("CREATE TABLE `default_catalog`.`default_database`.`t` (") and " AS SELECT" not in made
    assert insert == "INSERT INTO t VALUES (2)"


def test_a_statement_set_is_one_job(session: GatewaySession, server: Server) -> None:
    rows(session, f"CREATE TABLE t (x INT) {BLACKHOLE}")
    rows(session, "BEGIN STATEMENT SET")
    with pytest.raises(SqlError, match="only INSERT is possible"):
        rows(session, "SELECT 1")
    for number in (1, 2):
        rows(session, f"INSERT INTO t VALUES ({number});")
    assert not server.programs
    assert rows(session, "END;") == [["job-1"]]
    assert ran(server)[-1] == ("EXECUTE STATEMENT SET BEGIN INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); END")
    rows(session, "BEGIN STATEMENT SET")
    with pytest.raises(SqlError, match="there is no INSERT before END"):
        rows(session, "END")


def test_waiting_for_inserts(session: GatewaySession) -> None:
    rows(session, f"CREATE TABLE t (x INT) {BLACKHOLE}")
    rows(session, "SET 'table.dml-sync' = 'true'")
    assert rows(session, "INSERT INTO t VALUES (1)") == [["OK"]]
    with pytest.raises(CallError, match="job job-2 is FAILED"):
        rows(session, "INSERT INTO t VALUES (1)")


def test_jobs(session: GatewaySession) -> None:
    assert rows(session, "SHOW JOBS") == [["job-1", "name", "RUNNING", "now"]]
    assert rows(session, "STOP JOB 'job-1'") == [["OK"]]
    assert rows(session, "STOP JOB 'job-1' WITH SAVEPOINT") == [["/saved"]]
    with pytest.raises(SqlError, match="HELP is for a person at a prompt"):
        rows(session, "HELP")


def test_settings_that_come_with_a_statement_go_with_it(session: GatewaySession) -> None:
    operation = session.execute("SET", {"pipeline.name": "once", "parallelism.default": "3"})
    told = dict(row["fields"] for row in json.loads(session.fetch(operation, 0, "JSON")["data"]))
    assert (told["pipeline.name"], told["parallelism.default"]) == ("once", "3")
    assert "pipeline.name" not in session.config() and session.config()["parallelism.default"] == "1"


def test_results_that_nobody_closes_are_forgotten_and_running_ones_are_not(
    session: GatewaySession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_session, "MOST_OPERATIONS", 2)
    rows(session, "CREATE TABLE ticks (x INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1')")
    first = next(iter(session._operations))
    running = session.execute("SELECT * FROM ticks")
    session.fetch(running, 0, "JSON")
    rows(session, "SHOW TABLES")
    with pytest.raises(CallError, match="this session has no operation"):
        session.status(first)
    other = session.execute("SELECT * FROM ticks")
    session.fetch(other, 0, "JSON")
    with pytest.raises(CallError, match="2 statements of this session run: close some") as refused:
        session.execute("SELECT 1")
    assert refused.value.status == 429
    assert session.cancel(running) == "CANCELED"
    with pytest.raises(CallError, match="the operation is CANCELED"):
        session.fetch(running, 0, "JSON")
    session.end()
