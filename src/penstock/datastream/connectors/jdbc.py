"""Database sinks, under PyFlink's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.composite_types import RowTypeInfo
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.jdbc import sink as jdbc_sink
from penstock.connectors.jdbc.databases import database_of
from penstock.connectors.jdbc.sink import Execution
from penstock.connectors.jdbc.sql import upsert
from penstock.connectors.sink import DeliveryGuarantee
from penstock.datastream.connectors.jdbc_source import JdbcSource
from penstock.errors import ConfigurationError
from penstock.pyflink_names import names_from_elsewhere

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink", "JdbcSource"]


class JdbcSink(jdbc_sink.JdbcSink):
    """Writes records to a database; for `sink_to` and `add_sink`."""

    state_identity = "JdbcSink"

    @staticmethod
    def sink(
        sql: str,
        type_info: TypeInformation,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Run a statement for every record, at least once: after a failure some records may be written again.

        The fields of the record are the question marks of the statement. With upserts (see `upsert`) a record that is
        written twice does no harm.
        """
        options = jdbc_connection_options, jdbc_execution_options
        return _sink("JdbcSink.sink", sql, type_info, *options, DeliveryGuarantee.AT_LEAST_ONCE)

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: TypeInformation,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Run any statement for every record exactly once.

        The records of a batch wait in the checkpoint until the batch is final. They are then written in one transaction
        with a row of the table `penstock_commits`, which is created if it is missing.
        """
        options = jdbc_connection_options, jdbc_execution_options
        return _sink("JdbcSink.exactly_once_sink", sql, type_info, *options, DeliveryGuarantee.EXACTLY_ONCE)

    @staticmethod
    def upsert(
        table: str,
        key_columns: Sequence[str],
        type_info: TypeInformation,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        delivery_guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
    ) -> JdbcSink:
        """Insert or update one row per key; the fields of the ROW type are the columns."""
        if not isinstance(table, str) or not all(table.split(".")):
            raise ConfigurationError(f"JdbcSink.upsert: expected the name of a table, got {table!r}")
        if not isinstance(type_info, RowTypeInfo):
            raise ConfigurationError(
                f"JdbcSink.upsert: the columns are the named fields of a row type, as in "
                f"Types.ROW_NAMED([...], [...]), got {type_info!r}"
            )
        if isinstance(key_columns, str):
            raise ConfigurationError(f"JdbcSink.upsert: key_columns is a list of names, got the text {key_columns!r}")
        if delivery_guarantee is DeliveryGuarantee.NONE:
            raise ConfigurationError("JdbcSink.upsert: the guarantee is AT_LEAST_ONCE or EXACTLY_ONCE")
        sql = upsert(table, type_info.get_field_names(), key_columns)
        options = jdbc_connection_options, jdbc_execution_options
        return _sink("JdbcSink.upsert", sql, type_info, *options, delivery_guarantee)


def _sink(
    method: str,
    sql: str,
    type_info: TypeInformation,
    connection: JdbcConnectionOptions,
    execution: JdbcExecutionOptions | None,
    guarantee: DeliveryGuarantee,
) -> JdbcSink:
    for name, value, expected in (
        ("sql", sql, str),
        ("type_info", type_info, TypeInformation),
        ("jdbc_connection_options", connection, JdbcConnectionOptions),
        ("jdbc_execution_options", execution or JdbcExecutionOptions.defaults(), JdbcExecutionOptions),
    ):
        if not isinstance(value, expected):
            raise ConfigurationError(f"{method}: {name} must be a {expected.__name__}, got {value!r}")
    database = database_of(
        connection.get_db_url(), connection.get_user_name(), connection.get_password(), connection.get_driver_name()
    )
    how = execution or JdbcExecutionOptions.defaults()
    settings = Execution(how.get_batch_size(), how.get_batch_interval_ms(), how.get_max_retries())
    return JdbcSink(sql, type_info, database, settings, guarantee)


class JdbcConnectionOptions:
    """The database and credentials."""

    def __init__(
        self, url: str, driver_name: str | None = None, user_name: str | None = None, password: str | None = None
    ) -> None:
        self._url = url
        self._driver_name = driver_name
        self._user_name = user_name
        self._password = password

    def get_db_url(self) -> str:
        """The URL."""
        return self._url

    def get_driver_name(self) -> str | None:
        """The driver, if one was named."""
        return self._driver_name

    def get_user_name(self) -> str | None:
        """The user, if one was named."""
        return self._user_name

    def get_password(self) -> str | None:
        """The password, if one was given."""
        return self._password

    class JdbcConnectionOptionsBuilder:
        """Builds `JdbcConnectionOptions`; only the URL is needed."""

        def __init__(self) -> None:
            self._values: dict[str, str] = {}

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL: `jdbc:postgresql://host:port/database`, or `jdbc:sqlite:/path/to/file`."""
            return self._with("with_url", "url", url)

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Name the driver; optional, and only compared with the URL."""
            return self._with("with_driver_name", "driver_name", driver_name)

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user."""
            return self._with("with_user_name", "user_name", user_name)

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password."""
            return self._with("with_password", "password", password)

        def build(self) -> JdbcConnectionOptions:
            """Return the options."""
            if "url" not in self._values:
                raise ConfigurationError("JdbcConnectionOptions needs with_url(...)")
            options = JdbcConnectionOptions(**self._values)
            values = self._values
            database_of(
                values["url"], values.get("user_name"), values.get("password"), values.get("driver_name")
            )  # refuses what cannot work
            return options

        def _with(self, method: str, name: str, value: Any) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            if not isinstance(value, str):
                shown = "" if name == "password" else f", got {value!r}"
                raise ConfigurationError(f"JdbcConnectionOptions.{method}: expected a text{shown}")
            self._values[name] = value
            return self


class JdbcExecutionOptions:
    """Batch size, interval and retries."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    def get_batch_interval_ms(self) -> int:
        """Return the flush interval; 0 means at the end of the job's batch."""
        return self._execution.batch_interval_ms

    def get_batch_size(self) -> int:
        """Return how many rows are sent at once."""
        return self._execution.batch_size

    def get_max_retries(self) -> int:
        """Return the number of retries after temporary errors."""
        return self._execution.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return the defaults: 5,000 rows at once, no flush interval, 3 retries."""
        return JdbcExecutionOptions(Execution())

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Start with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Builds `JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._values: dict[str, int] = {}

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Send this many rows at once."""
            return self._with("with_batch_size", "batch_size", size, 1)

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Flush at least this often while rows arrive, in milliseconds; 0 means no limit."""
            return self._with("with_batch_interval_ms", "batch_interval_ms", interval_ms, 0)

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Retry this many times after temporary errors."""
            return self._with("with_max_retries", "max_retries", max_retries, 0)

        def build(self) -> JdbcExecutionOptions:
            """Make the options."""
            return JdbcExecutionOptions(Execution(**self._values))

        def _with(self, method: str, name: str, value: Any, least: int) -> JdbcExecutionOptions.Builder:
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigurationError(
                    f"JdbcExecutionOptions.{method}: expected a whole number of {least} or more, got {value!r}"
                )
            self._values[name] = value
            return self


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
