"""`EnvironmentSettings`: how a table environment begins."""

from __future__ import annotations

from penstock.common.configuration import Configuration

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """Streaming or batch, the names of the first catalog and database, and a configuration."""

    class Builder:
        """Makes settings."""

        def __init__(self) -> None:
            """Start with streaming mode and Flink's names."""
            self._settings = EnvironmentSettings()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Take over all keys."""
            self._settings._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Jobs end: all sources must be bounded."""
            self._settings._is_streaming = False
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Jobs run on."""
            self._settings._is_streaming = True
            return self

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            """Name the first catalog."""
            self._settings._catalog = built_in_catalog_name
            return self

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            """Name its database."""
            self._settings._database = built_in_database_name
            return self

        def build(self) -> EnvironmentSettings:
            """The settings."""
            return self._settings

    def __init__(self) -> None:
        """Streaming mode, Flink's names; programs call `in_streaming_mode` or `new_instance`."""
        self._is_streaming = True
        self._catalog = "default_catalog"
        self._database = "default_database"
        self._configuration = Configuration()

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """A builder."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Settings for jobs that run on."""
        return EnvironmentSettings()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Settings for jobs that end."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def get_built_in_catalog_name(self) -> str:
        """The name of the first catalog."""
        return self._catalog

    def get_built_in_database_name(self) -> str:
        """The name of its database."""
        return self._database

    def is_streaming_mode(self) -> bool:
        """Whether jobs run on."""
        return self._is_streaming

    def get_configuration(self) -> Configuration:
        """The configuration."""
        return self._configuration
