"""A database for the registry: SQLite in a file, or PostgreSQL by a URL, with the same statements."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from penstock.errors import ConfigurationError
from penstock.scratch import make_own

_GONE = "the registry in PostgreSQL cannot be reached"
Row = dict[str, Any]
_BUSY_SECONDS = 10.0
_SWITCH_AGAIN_SECONDS = 0.01
_POSTGRES = ("postgresql://", "postgres://")
_LOCK = 0x70656E73746F636B  # any number that nobody else locks


class Transaction(Protocol):
    """What can be done within one transaction; parameters are written `?`."""

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """Run a query."""

    def run(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed."""

    def now_ms(self) -> int:
        """The time by the clock that all who share the database have in common."""

    def be_alone(self) -> None:
        """Wait for other transactions that ask for the same, until the end of this one."""


class Database(Protocol):
    """A place for tables."""

    bytes_type: str
    """What the type of a column of bytes is called."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A context manager that gives a `Transaction`: all of it happens, or nothing."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """A context manager that gives a `Transaction` that only reads, and waits for none that writes."""

    def close(self) -> None:
        """Let go of connections."""


def open_database(url: str) -> Database:
    """The database of a URL; a plain path is a file of SQLite's."""
    if url.startswith(_POSTGRES):
        return PostgresDatabase(url)
    if "://" in url and not url.startswith("sqlite://"):
        raise ConfigurationError(f"registry {url!r} is not known: give a path, sqlite:///PATH or postgresql://...")
    path = url.removeprefix("sqlite://")
    return SqliteDatabase(Path(path))


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, *values: Any) -> list[Row]:
        return [dict(row) for row in self._connection.execute(statement, values)]

    def run(self, statement: str, *values: Any) -> int:
        return self._connection.execute(statement, values).rowcount

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def be_alone(self) -> None:
        """One that writes is alone anyway."""


class SqliteDatabase:
    """A file on this machine; the dispatchers that share it must run here too."""

    bytes_type = "BLOB"

    def __init__(self, path: Path) -> None:
        make_own(str(path.absolute().parent))
        self._lock, self._read_lock = threading.Lock(), threading.Lock()
        self._path = path
        try:
            self._connection = _connected(path)
            path.chmod(0o600)
            # Readers do not wait for a writer; what is committed survives the death of the process, and of the machine.
            _write_ahead(self._connection)
            self._connection.execute("PRAGMA synchronous=FULL")
            self._reader = _connected(path)
            self._reader.execute("PRAGMA query_only=ON")
            self._opened = path.stat()
        except sqlite3.Error as error:
            raise self._told(error) from None

    def transaction(self) -> AbstractContextManager[Transaction]:
        """All that is done in it happens, or nothing."""
        # At once a writer: one that turns into one later may find that another was quicker.
        return self._transaction(self._lock, self._connection, "BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[Transaction]:
        """All that is read in it is of one moment."""
        return self._transaction(self._read_lock, self._reader, "BEGIN")

    @contextmanager
    def _transaction(self, lock: threading.Lock, connection: sqlite3.Connection, begin: str) -> Iterator[Transaction]:
        with lock:
            self._check_file()
            try:
                connection.execute(begin)
                yield _SqliteTransaction(connection)
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                _roll_back(connection)
                raise self._told(error) from None
            except BaseException:
                _roll_back(connection)
                raise

    def _check_file(self) -> None:
        """SQLite would go on with a file that was removed, and all that is written there is lost."""
        try:
            is_same = os.path.samestat(self._path.stat(), self._opened)
        except FileNotFoundError:
            is_same = False
        if not is_same:
            raise ConfigurationError(
                f"registry {self._path} was removed or replaced while the server ran: put it back if you have it, and "
                "start the server again"
            )

    def _told(self, error: sqlite3.Error) -> ConfigurationError:
        text = str(error)
        is_broken = "not a database" in text or "malformed" in text
        advice = "; restore it or name another with --registry" if is_broken else ""
        advice = "; free some" if "is full" in text else advice
        return ConfigurationError(f"registry {self._path} cannot be used: {text}{advice}")

    def close(self) -> None:
        """Let go of the connections."""
        with self._lock, self._read_lock:
            self._reader.close()
            self._connection.close()


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a log of what is written. SQLite waits for nobody here: others may be doing the same at the moment."""
    gives_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= gives_up:
                raise
        time.sleep(_SWITCH_AGAIN_SECONDS)


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # where there is no space SQLite has done it already
        connection.execute("ROLLBACK")


class _PostgresTransaction:
    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def rows(self, statement: str, *values: Any) -> list[Row]:
        self._cursor.execute(statement.replace("?", "%s"), values)
        return [dict(row) for row in self._cursor.fetchall()]

    def run(self, statement: str, *values: Any) -> int:
        self._cursor.execute(statement.replace("?", "%s"), values)
        return int(self._cursor.rowcount)

    def now_ms(self) -> int:
        [row] = self.rows("SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now_ms")
        return int(row["now_ms"])

    def be_alone(self) -> None:
        self.rows("SELECT pg_advisory_xact_lock(?)", _LOCK)


class PostgresDatabase:
    """A server that several machines reach."""

    bytes_type = "BYTEA"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
            from psycopg.rows import dict_row
        except ModuleNotFoundError:
            raise ConfigurationError("a registry in PostgreSQL needs `pip install 'penstock[postgres]'`") from None
        self._lock = threading.Lock()
        self._connection: Any = None
        self._error: Any = psycopg.Error

        def connect() -> Any:
            try:
                return psycopg.connect(url, autocommit=False, row_factory=dict_row, connect_timeout=5)
            except psycopg.Error as error:
                raise ConfigurationError(f"{_GONE}: {error}") from None

        self._connect = connect
        self._connection = connect()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All that is done in it happens, or nothing."""
        with self._lock:
            if self._connection.closed:
                self._connection = self._connect()
            with ExitStack() as stack:
                try:
                    stack.enter_context(self._connection.transaction())
                except self._error:  # PostgreSQL was restarted since it was asked last; nothing is done yet
                    self._connection.close()
                    self._connection = self._connect()
                    stack.enter_context(self._connection.transaction())
                try:
                    yield _PostgresTransaction(stack.enter_context(self._connection.cursor()))
                except self._error as error:
                    if not self._connection.broken:
                        raise
                    self._connection.close()
                    raise ConfigurationError(f"{_GONE}: {error}") from None

    def reading(self) -> AbstractContextManager[Transaction]:
        """One like any other: where several machines write, few readers wait."""
        return self.transaction()

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._connection.close()
