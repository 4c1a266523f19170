"""Supported databases: how to connect, their SQL dialect, and which errors are temporary."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any, TypeVar

from penstock.common.secret_references import REFERENCE, resolved, resolved_all
from penstock.common.time import Instant
from penstock.connectors.jdbc.sql import Statement
from penstock.connectors.jdbc.urls import Settings, postgres_settings, split_url
from penstock.errors import ConfigurationError, SinkError

_log = logging.getLogger(__name__)

_IDLE_MAX = 4
_LOCK_SECONDS = 60

T = TypeVar("T")


@dataclass(frozen=True)
class Database(ABC):
    """A database to connect to; a picklable description that is used on the driver and in worker processes."""

    url: str
    settings: Settings = field(repr=False, compare=False)

    lock_rows = ""
    """What makes a SELECT lock the rows it finds."""

    share_rows = ""
    """What makes a SELECT keep others from changing the rows it finds, but not from sharing them."""

    @property
    @abstractmethod
    def library(self) -> Any:
        """The DB-API module of the driver."""

    @abstractmethod
    def connect(self) -> Any:
        """A new connection, in which transactions are begun by `begin` only."""

    @abstractmethod
    def begin(self, cursor: Any) -> None:
        """Start a transaction that will write; one that waits for another one does not wait for ever."""

    @abstractmethod
    def text(self, statement: Statement) -> str:
        """A statement as the driver wants it."""

    @abstractmethod
    def check(self, cursor: Any, statement: Statement) -> list[str]:
        """Check a statement without running it, and return the types of its parameters.

        An empty list if values are stored as they are, whatever the type of the column.
        """

    @abstractmethod
    def may_pass(self, error: Exception) -> bool:
        """Return whether a retry may help: after a lost connection, a deadlock, a server restart."""

    def parameters(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Values as the driver takes them."""
        return values

    def drop(self, connection: Any) -> None:
        """Close a connection, possibly a broken one; an open transaction is rolled back."""
        connection.close()


class PostgresDatabase(Database):
    """PostgreSQL by psycopg 3."""

    lock_rows = " FOR UPDATE"
    share_rows = " FOR SHARE"

    @property
    def library(self) -> Any:
        """psycopg."""
        return importlib.import_module("psycopg")

    def connect(self) -> Any:
        """Connect; the server is asked for signs of life, so that a dead one is noticed."""
        given = resolved_all(self.settings, f"database {self.url}")
        return self.library.connect(**{"connect_timeout": "10", "keepalives_idle": "30", **given})

    def begin(self, cursor: Any) -> None:
        """The driver begins by itself with the first statement.

        Who is paused within a transaction is hung up on, so that others get the locks that it holds.
        """
        cursor.execute(
            f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'; "
            f"SET LOCAL idle_in_transaction_session_timeout = '{_LOCK_SECONDS}s'"
        )

    def text(self, statement: Statement) -> str:
        """The style "format"."""
        return statement.with_percent_signs()

    def check(self, cursor: Any, statement: Statement) -> list[str]:
        """Preparing finds tables and columns and compares types; it is undone with the transaction."""
        cursor.execute(f"PREPARE penstock_check AS {statement.with_numbers()}".encode())
        cursor.execute("SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'penstock_check'")
        return list(cursor.fetchone()[0])

    def parameters(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Datetimes for points in time."""
        return tuple(map(_datetime_of, values)) if Instant in map(type, values) else values

    def may_pass(self, error: Exception) -> bool:
        """Deadlocks, shutdowns, lost connections and full disks are operational errors; wrong SQL and data are not."""
        return isinstance(error, (self.library.OperationalError, self.library.InterfaceError))


class SqliteDatabase(Database):
    """A SQLite file, for tests and for trying things on one machine: there is one writer at a time."""

    @property
    def library(self) -> Any:
        """The module of the standard library."""
        return importlib.import_module("sqlite3")

    def connect(self) -> Any:
        """Open the file. A connection may be used by another thread later, never by two at a time."""
        return self.library.connect(
            resolved(self.settings["path"], f"database {self.url}"),
            timeout=_LOCK_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )

    def begin(self, cursor: Any) -> None:
        """Wait for other writers here, so that nothing that was read changes before it is written."""
        cursor.execute("BEGIN IMMEDIATE")

    def text(self, statement: Statement) -> str:
        """The style "qmark"."""
        return statement.with_question_marks()

    def check(self, cursor: Any, statement: Statement) -> list[str]:
        """Explaining compiles the statement."""
        cursor.execute(f"EXPLAIN {statement.with_question_marks()}", (None,) * statement.parameters)
        return []

    def may_pass(self, error: Exception) -> bool:
        """Somebody else has the file."""
        busy = (self.library.SQLITE_BUSY, self.library.SQLITE_LOCKED)
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in busy

    def parameters(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Texts for what SQLite has no type for."""
        return tuple(map(_sqlite_value, values))

    def drop(self, connection: Any) -> None:
        """Undo, then close: closing alone may leave the transaction open, and with it the file locked."""
        connection.rollback()
        connection.close()


def _datetime_of(value: Any) -> Any:
    if not isinstance(value, Instant):
        return value
    if value.nanos % 1000:
        raise OverflowError(f"{value!r} has nanoseconds, and a database microseconds")
    return value.to_datetime()


def _sqlite_value(value: Any) -> Any:
    value = _datetime_of(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, (date, time_of_day)):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


_DRIVERS = {
    "postgresql": ("org.postgresql.Driver", "psycopg"),
    "sqlite": ("org.sqlite.JDBC", "sqlite3"),
}


def database_of(url: str, user: str | None = None, password: str | None = None, driver: str | None = None) -> Database:
    """The database that a JDBC URL names; a driver, by its Java or Python name, must be the one that the URL needs."""
    system, rest = split_url(url)
    if system not in _DRIVERS:
        raise ConfigurationError(
            f"JDBC URL {url!r}: there is no driver for {system!r}; known are {', '.join(sorted(_DRIVERS))}"
        )
    if driver is not None and driver not in _DRIVERS[system]:
        raise ConfigurationError(
            f"JDBC driver {driver!r} does not fit the URL {url!r}, which is for {' or '.join(_DRIVERS[system])}; leave "
            "with_driver_name() out to get the right one"
        )
    if system == "sqlite":
        path = rest.removeprefix("//") if rest.startswith("///") else rest
        if path in ("", ":memory:"):
            raise ConfigurationError(
                f"JDBC URL {url!r}: tasks are separate processes, which cannot share an in-memory database; use a file"
            )
        return SqliteDatabase(f"jdbc:sqlite:{path}", {"path": path})
    if importlib.util.find_spec("psycopg") is None:
        raise ConfigurationError(f"JDBC URL {url!r} needs the package psycopg: pip install 'penstock[postgres]'")
    own = {name: value for name, value in (("user", user), ("password", password)) if value is not None}
    # What is behind the question mark may be a password, and the rest is shown in errors.
    return PostgresDatabase(url.partition("?")[0], {**_settings_of(rest), **own})


def _settings_of(rest: str) -> Settings:
    """The settings in a URL; references in it are not looked into, and stay what they are."""
    references: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        references.append(found[0])
        return f"PENSTOCKREFERENCE{len(references) - 1}END"

    made = postgres_settings(REFERENCE.sub(set_aside, rest))
    return {
        key: re.sub(r"PENSTOCKREFERENCE(\d+)END", lambda found: references[int(found[1])], value)
        for key, value in made.items()
    }


class _Connections:
    """Connections of this process that nobody is using."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[tuple[Any, ...], list[Any]] = {}

    def take(self, database: Database) -> Any:
        with self._lock:
            idle = self._idle.get(_key(database))
            connection = idle.pop() if idle else None
        return connection or database.connect()

    def give_back(self, database: Database, connection: Any) -> None:
        with self._lock:
            idle = self._idle.setdefault(_key(database), [])
            if len(idle) < _IDLE_MAX:
                idle.append(connection)
                return
        connection.close()


def _key(database: Database) -> tuple[Any, ...]:
    # A connection that a fork has copied belongs to the parent.
    return os.getpid(), type(database), tuple(sorted(database.settings.items()))


_connections = _Connections()


@contextlib.contextmanager
def transaction(database: Database) -> Iterator[Any]:
    """A cursor in a transaction that is committed at the end, and undone by whatever is raised."""
    connection = _connections.take(database)
    try:
        # As long as a cursor is open that has not been read to its end, SQLite keeps its file locked.
        with contextlib.closing(connection.cursor()) as cursor:
            database.begin(cursor)
            yield cursor
        connection.commit()
    except BaseException:
        # Whatever is wrong with it: a new one costs milliseconds, and the database undoes what this one had begun.
        with contextlib.suppress(Exception):
            database.drop(connection)
        raise
    _connections.give_back(database, connection)


def in_transaction(database: Database, work: Callable[[Any], T], max_retries: int, who: str) -> T:
    """Run `work(cursor)` in a transaction; retry temporary errors, with Flink's delays."""
    for number in range(max_retries + 1):
        try:
            with transaction(database) as cursor:
                return work(cursor)
        except database.library.Error as error:
            if number == max_retries or not database.may_pass(error):
                raise
            _log.warning("%s: %s is retried: %s", who, database.url, str(error).strip())
        time.sleep(number)
    raise AssertionError("the last try returns or raises")


def complaint(who: str, what: str, database: Database, error: Exception) -> SinkError:
    """Return the error message for an error of the database."""
    said = str(error).strip() or type(error).__name__
    return SinkError(f"{who} cannot {what} {database.url}: {said}")
