"""`TableConfig`: settings of a table environment, by key."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from penstock.common.configuration import Configuration
from penstock.errors import ConfigurationError
from penstock.table.setting_keys import warn_of_unused_key
from penstock.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]

ZONE = "table.local-time-zone"
TTL = "table.exec.state.ttl"
DIALECT = "table.sql-dialect"
CODE_LENGTH = "table.generated-code.max-length"
PYTHON = "python.executable"


class TableConfig:
    """Settings by key; those of jobs (`parallelism.default`, `pipeline.name`, ...) reach the jobs too."""

    def __init__(self, on_change: Callable[[str, str], None] | None = None) -> None:
        """Start with none."""
        self._configuration = Configuration()
        self._on_change = on_change

    @staticmethod
    def get_default() -> TableConfig:
        """A configuration with nothing set."""
        return TableConfig()

    def get(self, key: str, default_value: str) -> str:
        """The value of a key."""
        return self._configuration.get_string(key, default_value)

    def set(self, key: str, value: str) -> TableConfig:
        """Set a key; one of tables that has no effect warns."""
        warn_of_unused_key(key)
        if self._on_change is not None:
            self._on_change(key, str(value))
        self._configuration.set_string(key, str(value))
        return self

    def remove(self, key: str | None = None) -> None:
        """Forget a key, or all."""
        for each in [key] if key is not None else list(self._configuration.key_set()):
            self._configuration.remove_config(each)

    def get_local_timezone(self) -> str:
        """The session's time zone; UTC unless set."""
        zone = self.get(ZONE, "default")
        return "UTC" if zone == "default" else zone

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the session's time zone, as `Europe/Berlin`."""
        self.set(ZONE, timezone_id)

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """Let state that was not touched for so long expire."""
        self.set(TTL, f"{duration // datetime.timedelta(milliseconds=1)} ms")

    def get_idle_state_retention(self) -> datetime.timedelta:
        """How long untouched state is kept; zero means for ever."""
        text = self.get(TTL, "0 ms").split()[0]
        return datetime.timedelta(milliseconds=int(text))

    def get_sql_dialect(self) -> SqlDialect:
        """The grammar of statements."""
        return SqlDialect[self.get(DIALECT, "DEFAULT").upper()]

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Choose the grammar of statements; there is Flink's own."""
        if sql_dialect is not SqlDialect.DEFAULT:
            raise ConfigurationError("set_sql_dialect: there is only SqlDialect.DEFAULT here.")
        self.set(DIALECT, "default")

    def get_max_generated_code_length(self) -> int:
        """Kept for programs that set it: no Java is generated."""
        return int(self.get(CODE_LENGTH, "4000"))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Kept for programs that set it: no Java is generated."""
        self.set(CODE_LENGTH, str(max_generated_code_length))

    def get_python_executable(self) -> str | None:
        """The Python that runs user functions, if one was chosen."""
        return self.get(PYTHON, "") or None

    def set_python_executable(self, python_exec: str) -> None:
        """Choose the Python that runs user functions."""
        self.set(PYTHON, python_exec)

    def get_configuration(self) -> Configuration:
        """All keys that were set."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Take over all keys of another configuration."""
        for key, value in configuration.to_dict().items():
            self.set(key, value)

    def to_map(self) -> dict[str, str]:
        """All keys that were set."""
        return self._configuration.to_dict()
