"""A fence in the database: at-least-once writers write only as long as it names the driver that they work for.

A driver that was paused inside a batch goes on after another one has finished the job, and would put old rows over new
ones. So each transaction of a writer locks the row of its sink (shared, so that subtasks do not wait for each other)
and looks whose it is. If it is not its own, it claims it, in a transaction that has the row for itself: it asks the
checkpoint directory who holds it. A driver that takes over claims the row before it writes its first rows. So either
the paused one's transaction ends before that, and its rows are written over, or it finds the row changed and the
directory lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from penstock.connectors.holding import is_held, refuse_to_write
from penstock.connectors.jdbc.databases import Database, complaint, in_transaction, transaction
from penstock.connectors.jdbc.sql import Statement
from penstock.connectors.sink import SinkContext

FENCES_TABLE = "penstock_fences"
"""One row for each sink of a job, with the driver that may write."""

CREATE_FENCES_TABLE = (
    f"CREATE TABLE IF NOT EXISTS {FENCES_TABLE} (job_id TEXT NOT NULL, uid TEXT NOT NULL, driver TEXT NOT NULL, "
    "PRIMARY KEY (job_id, uid))"
)
_CREATE = Statement.parse(CREATE_FENCES_TABLE)
_LOOK = Statement.parse(f"SELECT 1 FROM {FENCES_TABLE} WHERE job_id IS NULL")
_MAKE = Statement.parse(f"INSERT INTO {FENCES_TABLE} (job_id, uid, driver) VALUES (?, ?, '') ON CONFLICT DO NOTHING")
_OWNER = "WHERE job_id = ? AND uid = ?"
_READ = Statement.parse(f"SELECT driver FROM {FENCES_TABLE} {_OWNER}")
_CLAIM = Statement.parse(f"UPDATE {FENCES_TABLE} SET driver = ? {_OWNER}")

Work = Callable[[Any], None]

_log = logging.getLogger(__name__)


class _NotOurs(Exception):
    """The row names another driver, or nobody yet."""


class Fence:
    """The fence of one writer."""

    def __init__(self, database: Database, context: SinkContext, max_retries: int, who: str) -> None:
        self._database = database
        self._hold = context.hold
        self._owner = (context.job_id, context.uid)
        self._max_retries = max_retries
        self._who = who
        self._has_table: bool | None = None

    def commit(self, work: Work) -> None:
        """Do `work(cursor)` in a transaction that nobody can take over before it ends; raises SinkError if one has."""
        if not self._is_there():
            if not is_held(self._hold):
                raise refuse_to_write(self._who)
            in_transaction(self._database, work, self._max_retries, self._who)
            return
        try:
            self._run(work)
        except _NotOurs:
            in_transaction(self._database, self._claim, self._max_retries, self._who)
            try:
                self._run(work)
            except _NotOurs:
                raise refuse_to_write(self._who) from None

    def _is_there(self) -> bool:
        if self._has_table is None:
            self._has_table = bool(self._hold.file) and why_refused(self._database, _LOOK) is None
        return self._has_table

    def _run(self, work: Work) -> None:
        def fenced(cursor: Any) -> None:
            cursor.execute(self._database.text(_READ) + self._database.share_rows, self._owner)
            found = cursor.fetchone()
            if found is None or found[0] != self._hold.driver:
                raise _NotOurs
            work(cursor)

        in_transaction(self._database, fenced, self._max_retries, self._who)

    def _claim(self, cursor: Any) -> None:
        cursor.execute(self._database.text(_MAKE), self._owner)
        cursor.execute(self._database.text(_READ) + self._database.lock_rows, self._owner)
        cursor.fetchone()
        if not is_held(self._hold):
            raise refuse_to_write(self._who)
        cursor.execute(self._database.text(_CLAIM), (self._hold.driver, *self._owner))


def why_refused(database: Database, statement: Statement) -> Exception | None:
    """Why a statement cannot be run; None if it was."""
    try:
        with transaction(database) as cursor:
            cursor.execute(database.text(statement))
    except database.library.Error as error:
        assert isinstance(error, Exception)
        return error
    return None


def ensure_fences_table(database: Database, who: str) -> None:
    """Make the table if it is not there; without the right to, the job runs with the window that is left then."""
    if why_refused(database, _LOOK) is None:
        return
    failure = why_refused(database, _CREATE)
    if failure is not None and why_refused(database, _LOOK) is not None:
        _log.warning(
            "%s; should a driver of this job be paused and taken over, it may write old rows when it goes on: ask "
            "someone with the rights to run: %s",
            complaint(who, f"create the table {FENCES_TABLE} in", database, failure),
            CREATE_FENCES_TABLE,
        )
