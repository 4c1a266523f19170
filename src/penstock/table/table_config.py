"""`TableConfig`: settings of a table environment, by key."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from penstock.common.configuration import Configuration

__all__ = ["TableConfig"]

ZONE = "table.local-time-zone"
TTL = "table.exec.state.ttl"


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
        """Set a key."""
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
