"""The fence on PostgreSQL: a driver that was paused inside a batch leaves what the next one has finished alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.fencing import Fence
from penstock.errors import SinkError
from tests.jdbc.local_postgres import LocalPostgres
from tests.unit.connectors import test_jdbc_fence as on_sqlite


@pytest.fixture
def url(postgres: LocalPostgres) -> Any:
    with postgres.new_database() as made:
        url = f"jdbc:{made.replace('tester@', '')}?user=tester"
        on_sqlite.asked(url, "CREATE TABLE t (k BIGINT PRIMARY KEY, n BIGINT)")
        yield url


@pytest.mark.parametrize("make", [on_sqlite.upserting, on_sqlite.table_sink])
def test_a_driver_that_was_paused_leaves_the_finished_table_alone(
    url: str, tmp_path: Path, make: Callable[[str], Any]
) -> None:
    on_sqlite.test_a_driver_that_was_paused_leaves_the_finished_table_alone(url, tmp_path, make, 150)


def test_subtasks_of_a_driver_share_a_fence_and_the_next_driver_claims_it(url: str, tmp_path: Path) -> None:
    on_sqlite.test_subtasks_of_a_driver_share_a_fence_and_the_next_driver_claims_it(url, tmp_path)


def test_subtasks_do_not_wait_for_each_other(url: str, tmp_path: Path) -> None:
    on_sqlite.upserting(url).validate("sink")
    hold = on_sqlite.hold_of(tmp_path / "c", "first")
    one, two = (Fence(database_of(url), on_sqlite.context(hold), 0, "sink") for _ in range(2))
    one.commit(on_sqlite.writing(url, 1))

    def while_two_writes(cursor: Any) -> None:
        two.commit(on_sqlite.writing(url, 2))
        on_sqlite.writing(url, 3)(cursor)

    one.commit(while_two_writes)
    assert on_sqlite.asked(url, "SELECT k FROM t ORDER BY k") == [(1,), (2,), (3,)]


def test_without_the_right_to_make_the_table_a_job_runs_and_says_what_may_happen(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.connectors.jdbc import fencing

    monkeypatch.setattr(fencing, "_CREATE", fencing.Statement.parse("CREATE TABLE no_such_schema.x (a INT)"))
    on_sqlite.upserting(url).validate("sink")
    assert "it may write old rows when it goes on" in caplog.text and fencing.CREATE_FENCES_TABLE in caplog.text
    hold = on_sqlite.hold_of(tmp_path / "c", "first")
    fence = Fence(database_of(url), on_sqlite.context(hold), 3, "sink")
    fence.commit(on_sqlite.writing(url, 1))
    on_sqlite.hold_of(tmp_path / "c", "second")
    with pytest.raises(SinkError, match="another driver has taken over"):
        fence.commit(on_sqlite.writing(url, 2))
