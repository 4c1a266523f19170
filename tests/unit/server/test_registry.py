"""The registry, on SQLite and on a PostgreSQL that the tests start: what is remembered, and who leads."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ConfigurationError, JobNotFoundError
from penstock.server.dispatcher import database
from penstock.server.dispatcher import registry as registry_module
from penstock.server.dispatcher.database import open_database
from penstock.server.dispatcher.registry import (
    ENDED,
    PREPARING,
    RUNNING,
    WAITING,
    Launch,
    Lead,
    Lease,
    Registry,
)
from tests.jdbc.conftest import postgres
from tests.jdbc.local_postgres import LocalPostgres
from tests.spark.waiting import wait_until

__all__ = ["postgres"]

Open = Callable[[], Registry]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A registry that is empty."""
    if request.param == "sqlite":
        yield str(tmp_path / "registry" / "r.sqlite")
        return
    with request.getfixturevalue("postgres").new_database() as made:
        yield made


@pytest.fixture
def opened(url: str) -> Iterator[Open]:
    """A function that opens the same registry again and again."""
    made: list[Registry] = []

    def open_registry() -> Registry:
        made.append(Registry(open_database(url)))
        return made[-1]

    yield open_registry
    for registry in made:
        registry.close()


def document(job_id: str, ended_ms: int) -> dict[str, Any]:
    return {"id": job_id, "ended_ms": ended_ms, "now_ms": ended_ms, "text": "ä" * 100}


def test_programs_and_submissions_are_remembered(opened: Open) -> None:
    first = opened()
    first.add_program("p1", "a.py", b"\x00\xff content", "numpy", 5)
    launch = Launch(["--x", "ü"], {"k": "v"}, savepoint="/s", parallelism=3)
    made = first.add_submission("p1", "a.py", launch)
    second = opened()
    assert second.program("p1")["content"] == b"\x00\xff content"
    assert [row["id"] for row in second.programs()] == ["p1"]
    found = second.submission(made.id)
    assert found == made and found is not None and found.launch == launch
    assert second.submissions(RUNNING) == [] and second.submissions(WAITING, RUNNING) == [made]
    with pytest.raises(ConfigurationError, match="is needed by a job"):
        second.remove_program("p1")
    assert second.change(made, state=ENDED, outcome="CANCELED") is not None
    second.remove_program("p1")
    with pytest.raises(JobNotFoundError, match="no program has the id 'p1'"):
        first.program("p1")


def test_of_two_who_see_the_same_only_one_changes_it(opened: Open) -> None:
    one, other = opened(), opened()
    made = one.add_submission("p", "a.py", Launch())
    wins = []
    start = threading.Barrier(2)

    def claim(registry: Registry) -> None:
        start.wait()
        wins.append(registry.change(made, state=PREPARING, attempt=1))

    threads = [threading.Thread(target=claim, args=(each,)) for each in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(each is not None for each in wins) == 1


def test_one_takes_the_lead_as_it_was_seen_and_each_has_an_epoch_of_its_own(opened: Open) -> None:
    one, other = opened(), opened()
    assert one.lease() is None
    first = one.take_lead("one", "http://one", None, 60_000)
    assert first == Lead("one", 1) and other.take_lead("other", "http://other", None, 60_000) is None
    seen = other.lease()
    assert seen is not None and (seen.holder, seen.url, seen.is_free) == ("one", "http://one", False)
    assert first is not None and one.renew_lead(first, 60_000)
    assert other.take_lead("other", "", seen, 60_000) is None, "it lives: the lease was renewed since it was seen"
    second = other.take_lead("other", "", other.lease(), 60_000)
    assert second == Lead("other", 2) and not one.renew_lead(first, 60_000)
    one.leave_lead(first)  # not its to leave any more
    assert second is not None and other.renew_lead(second, 60_000)
    other.leave_lead(second)
    left = one.lease()
    assert left is not None and left.is_free and left.epoch == 2


def test_who_does_not_lead_any_more_cannot_change_anything(opened: Open) -> None:
    one, other = opened(), opened()
    made, over = (one.add_submission("p", "a.py", Launch()) for _ in range(2))
    assert one.change(over, state=ENDED) is not None
    first = one.take_lead("one", "", None, 1)
    second = other.take_lead("other", "", other.lease(), 1)
    assert first is not None and second is not None
    # It was paused and believes that it leads.
    assert one.change(made, first, state=PREPARING) is None and one.forget_submissions(first, 0) == []
    assert other.change(made, second, state=PREPARING) is not None
    assert [each.id for each in other.forget_submissions(second, 0)] == [over.id]


def test_a_lead_cannot_be_taken_between_the_look_at_it_and_what_is_done_with_it(opened: Open) -> None:
    one, other = opened(), opened()
    lead = one.take_lead("one", "", None, 60_000)
    assert lead is not None
    taken: list[Lead | None] = []
    thread = threading.Thread(target=lambda: taken.append(other.take_lead("other", "", other.lease(), 60_000)))
    with one._database.transaction() as transaction:
        assert registry_module._holds(transaction, lead)
        thread.start()
        thread.join(0.2)
        assert taken == [], "the other waits for the end of what is done"
    thread.join(60)
    assert taken == [Lead("other", 2)]


def test_a_registry_of_the_first_version_is_read_and_brought_up_to_date(url: str) -> None:
    database = open_database(url)
    with database.transaction() as transaction:
        for table in registry_module._TABLES:
            transaction.run(table.format(bytes=database.bytes_type))
        transaction.run("INSERT INTO facts VALUES ('schema', '1')")
        transaction.run("INSERT INTO leases VALUES ('leader', 'old', 'http://old', 77)")
        content = {"id": "s", "program": "p", "name": "a.py", "launch": {"arguments": ["x"]}, "due_ms": 9}
        transaction.run("INSERT INTO submissions VALUES ('s', 'WAITING', 5, ?)", json.dumps(content))
    database.close()
    for _ in range(2):
        registry = Registry(open_database(url))
        assert registry.lease() == Lease("old", "http://old", 0, 0, 77)
        [found] = registry.submissions(WAITING)
        assert (found.launch.arguments, found.due_ms, found.delay_ms) == (["x"], 9, 0)
        registry.close()


def test_history_is_limited_and_the_latest_stays(opened: Open) -> None:
    registry = opened()
    for number in range(5):
        registry.add_history(document(f"job{number}", number), most=3)
    registry.add_history({**document("job3", 9), "text": "again"}, most=3)
    assert registry.history() == [("job3", 9), ("job4", 4), ("job2", 2)]
    found = registry.ended_job("job3")
    assert found is not None and found["text"] == "again"
    assert registry.ended_job("job0") is None


def test_deaths_of_drivers_and_what_is_said_of_them_are_remembered(opened: Open) -> None:
    one, other = opened(), opened()
    made = one.add_submission("p", "a.py", Launch())
    text = "ä\0 \ud83d 100 % of ? and %s"  # what a log may have in it
    started = one.change(made, state=RUNNING, attempt=1, pid=2**22, process_started=2**40, restart={"kind": "x"})
    assert started is not None
    died = one.change(started, state=WAITING, deaths_ms=[2**41], deaths=[text], error=text)
    assert died is not None and other.submission(made.id) == died
    assert other.change(started, state=RUNNING) is None  # seen before the death
    assert [each.deaths for each in other.submissions(WAITING)] == [[text]]


def test_of_submissions_that_are_over_the_latest_stay(opened: Open) -> None:
    registry = opened()
    made = [registry.add_submission("p", f"{number}.py", Launch()) for number in range(5)]
    for each in made[1:]:
        assert registry.change(each, state=ENDED) is not None
    order = [each.id for each in registry.submissions(ENDED)]
    lead = registry.take_lead("one", "", None, 60_000)
    assert lead is not None
    assert {each.id for each in registry.forget_submissions(lead, 2)} == set(order[2:])
    assert {each.id for each in registry.submissions()} == {made[0].id, *order[:2]}
    assert registry.forget_submissions(lead, 2) == []


def test_drivers_on_other_machines_report_and_are_asked(opened: Open) -> None:
    one, other = opened(), opened()
    one.set_report("job1", b"\x00\xff first")
    one.set_report("job1", b"\x00\xff second")
    one.set_report("job0", b"")
    assert other.report("job1", 60_000) == b"\x00\xff second"
    assert [each for each, _ in other.reporting_jobs(60_000)] == ["job0", "job1"]
    wait_until(lambda: [each for each, _ in other.reporting_jobs(1)] == [], "nothing was heard for a millisecond")
    assert other.report("job1", 1) is None
    with one._database.transaction() as transaction:  # the clock was set back since it was heard of
        transaction.run("UPDATE reports SET seen_ms = seen_ms + 3600000")
    assert [each for each, _ in other.reporting_jobs(60_000)] == ["job0", "job1"]
    wait_until(lambda: [each for each, _ in other.reporting_jobs(1)] == [], "it does not count as running for an hour")
    other.add_request("r1", "job1", '{"do": "cancel"}')
    other.add_request("r2", "job1", '{"do": "?"}')
    assert sorted(one.requests("job1")) == [("r1", '{"do": "cancel"}'), ("r2", '{"do": "?"}')]
    assert other.take_outcome("r1") is None
    one.set_outcome("r1", '{"result": "ä"}')
    assert [each for each, _ in one.requests("job1")] == ["r2"]
    assert other.take_outcome("r1") == '{"result": "ä"}'
    assert other.take_outcome("r1") is None  # told once
    one.forget_report("job1")
    assert other.report("job1", 60_000) is None and one.requests("job1") == []
    assert [each for each, _ in other.reporting_jobs(60_000)] == ["job0"]


def looked_at(path: Path) -> sqlite3.Connection:
    """A file that another process, which began before it was a registry, is reading."""
    looking = sqlite3.connect(path, isolation_level=None)
    looking.execute("CREATE TABLE other (x)")
    looking.execute("BEGIN")
    looking.execute("SELECT * FROM other").fetchall()
    return looking


def impatient(path: Path) -> sqlite3.Connection:
    """A connection that is refused at once, as SQLite refuses one of two that both switch to another journal."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def test_a_file_that_another_process_reads_becomes_a_registry_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = looked_at(tmp_path / "r.sqlite")
    monkeypatch.setattr(database, "_connected", impatient)
    monkeypatch.setattr(time, "sleep", lambda seconds: looking.close())
    registry = Registry(open_database(str(tmp_path / "r.sqlite")))
    registry.set_fact("x", "1")
    assert registry.fact("x") == "1"
    registry.close()


def test_a_file_that_another_process_keeps_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looking = looked_at(tmp_path / "r.sqlite")
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.0)
    with pytest.raises(ConfigurationError, match=r"r\.sqlite cannot be used: database is locked"):
        open_database(str(tmp_path / "r.sqlite"))
    looking.close()


def test_many_who_make_the_registry_at_once_make_one(url: str) -> None:
    start, made = threading.Barrier(6), list[Registry]()

    def open_registry() -> None:
        start.wait()
        made.append(Registry(open_database(url)))

    threads = [threading.Thread(target=open_registry) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6, "a dispatcher could not be started"
    made[0].set_fact("x", "1")
    assert [registry.fact("x") for registry in made] == ["1"] * 6
    for registry in made:
        registry.close()


@pytest.mark.slow
def test_a_server_of_postgresql_that_was_restarted_is_found_again(postgres: LocalPostgres) -> None:
    with postgres.new_database() as url:
        registry = Registry(open_database(url))
        registry.set_fact("x", "1")
        name = url.rpartition("/")[2]
        postgres.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        assert registry.fact("x") == "1"
        registry.close()


def test_what_fails_within_a_transaction_changes_nothing(opened: Open) -> None:
    registry = opened()
    database = registry._database
    with pytest.raises(ZeroDivisionError), database.transaction() as transaction:
        transaction.run("INSERT INTO facts VALUES ('x', 'y')")
        raise ZeroDivisionError
    assert registry.fact("x") == ""
    registry.set_fact("x", "1")
    registry.set_fact("x", "2")
    assert registry.fact("x") == "2"


def test_a_registry_of_another_version_is_refused(opened: Open) -> None:
    opened().set_fact("schema", "99")
    with pytest.raises(ConfigurationError, match="is of version 99"):
        opened()


@pytest.mark.parametrize("url", ["mysql://x", "postgresql://127.0.0.1:1/none"])
def test_registries_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ConfigurationError, match="registry"):
        open_database(url)


def test_a_registry_without_space_says_so_and_goes_on_when_there_is_some(tmp_path: Path) -> None:
    database = open_database(str(tmp_path / "r" / "x.sqlite"))
    registry = Registry(database)
    with database.transaction() as transaction:
        [row] = transaction.rows("PRAGMA page_count")
    connection = database._connection  # type: ignore[attr-defined]
    connection.execute(f"PRAGMA max_page_count={row['page_count'] + 1}")
    with pytest.raises(ConfigurationError, match=r"x\.sqlite cannot be used: database or disk is full; free some"):
        registry.add_program("p", "a.py", bytes(1 << 20), "", 1)
    assert registry.programs() == []
    connection.execute("PRAGMA max_page_count=100000")
    registry.add_program("p", "a.py", bytes(1 << 20), "", 1)
    assert [row["id"] for row in registry.programs()] == ["p"]
    registry.close()


def test_a_registry_that_was_removed_or_put_back_is_not_written_any_more(tmp_path: Path) -> None:
    path = tmp_path / "r" / "x.sqlite"
    registry = Registry(open_database(str(path)))
    path.rename(tmp_path / "backup")
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"x\.sqlite was removed or replaced .* start the server again"):
            registry.set_fact("x", "lost")
        path.write_bytes((tmp_path / "backup").read_bytes())
    registry.close()


def test_the_file_of_a_registry_is_the_users_alone(tmp_path: Path) -> None:
    Registry(open_database(str(tmp_path / "r" / "x.sqlite"))).close()
    assert (tmp_path / "r" / "x.sqlite").stat().st_mode & 0o777 == 0o600
