"""Database sources; PyFlink has none."""

from __future__ import annotations

from typing import Any

from penstock.common.time import Duration
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.jdbc import source as jdbc_source
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.source import Growth
from penstock.errors import ConfigurationError

__all__ = ["JdbcSource"]


class JdbcSource(jdbc_source.JdbcSource):
    """Reads a PostgreSQL or SQLite database; each record is a `Row` with the names of the columns."""

    @staticmethod
    def query(sql: str, jdbc_connection_options: Any, type_info: TypeInformation | None = None) -> JdbcSource:
        """Read the result of a query once, in one piece.

        A batch that runs again repeats the query: exactly-once as long as the result does not change while the job
        runs.
        """
        return _source("JdbcSource.query", sql, jdbc_connection_options, type_info, None)

    @staticmethod
    def by_column(
        sql: str,
        column: str,
        jdbc_connection_options: Any,
        type_info: TypeInformation | None = None,
        *,
        partitions: int = 1,
        rows_per_batch: int = 10_000,
    ) -> JdbcSource:
        """Read the rows present when the job starts, by ranges of a column of numbers, dates or timestamps.

        Rows added later, with higher values, are not read: exactly-once.
        """
        growth = Growth(column, None, rows_per_batch, None, partitions)
        return _source("JdbcSource.by_column", sql, jdbc_connection_options, type_info, growth)

    @staticmethod
    def growing(
        sql: str,
        column: str,
        jdbc_connection_options: Any,
        type_info: TypeInformation | None = None,
        *,
        poll_interval: Duration | None = None,
        start_after: Any = None,
        rows_per_batch: int = 10_000,
        held_back: int | Duration = 0,
    ) -> JdbcSource:
        """Read new rows as they appear, by a column whose values grow: exactly-once.

        A row that appears with a lower value than one already read is missed. `held_back` stays behind the newest value
        (by a number, or a Duration for timestamps); make it longer than a transaction takes.
        """
        method = "JdbcSource.growing"
        interval = Duration.of_seconds(1) if poll_interval is None else poll_interval
        if not isinstance(interval, Duration) or interval.to_millis() <= 0:
            raise ConfigurationError(f"{method}: poll_interval must be a Duration above 0, got {poll_interval!r}")
        back = held_back.to_millis() * 1000 if isinstance(held_back, Duration) else held_back
        growth = Growth(column, start_after, rows_per_batch, interval.to_millis(), 1, back)
        return _source(method, sql, jdbc_connection_options, type_info, growth)


def _source(method: str, sql: Any, options: Any, type_info: Any, growth: Growth | None) -> JdbcSource:
    # Here, because that module gives this one's names their path.
    from penstock.datastream.connectors.jdbc import JdbcConnectionOptions

    if not isinstance(sql, str) or not sql.strip():
        raise ConfigurationError(f"{method}: expected a query or the name of a table, got {sql!r}")
    if not isinstance(options, JdbcConnectionOptions):
        raise ConfigurationError(f"{method}: jdbc_connection_options must be a JdbcConnectionOptions, got {options!r}")
    if type_info is not None and not isinstance(type_info, TypeInformation):
        raise ConfigurationError(f"{method}: type_info must be a TypeInformation, got {type_info!r}")
    if growth is not None:
        _check(method, growth)
    database = database_of(
        options.get_db_url(), options.get_user_name(), options.get_password(), options.get_driver_name()
    )
    text = sql.strip().rstrip(";")
    query = text if any(sign.isspace() for sign in text) else f"SELECT * FROM {text}"
    return JdbcSource(query, database, type_info, growth)


def _check(method: str, growth: Growth) -> None:
    if not isinstance(growth.column, str) or not growth.column:
        raise ConfigurationError(f"{method}: column must be the name of a column, got {growth.column!r}")
    for name, least in (("rows_per_batch", 1), ("partitions", 1), ("held_back", 0)):
        value = getattr(growth, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ConfigurationError(f"{method}: {name} must be a whole number of {least} or more, got {value!r}")
