"""State backends, as descriptions."""

from __future__ import annotations

import enum
from abc import ABC
from urllib.parse import urlsplit

from penstock.common.no_effect import warn_of_no_effect
from penstock.errors import ConfigurationError

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]


_OWN_SETTINGS = "Penstock uses its own settings for RocksDB"


class StateBackend(ABC):  # noqa: B024 - a marker: the engine picks the store by class
    """Which store keeps state while a job runs."""


class HashMapStateBackend(StateBackend):
    """State as objects in memory."""


class PredefinedOptions(enum.Enum):
    """Flink's presets for RocksDB."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """State in an embedded store on the worker's disk."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = True if enable_incremental_checkpointing is None else enable_incremental_checkpointing
        if not self._incremental:
            warn_of_no_effect("EmbeddedRocksDBStateBackend(False)", "checkpoints are always incremental")
        self._paths: list[str] = []
        self._predefined_options = PredefinedOptions.DEFAULT
        self._options_factory_class_name: str | None = None
        self._transfer_threads = 4

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the local directories of the store; none means the engine's choice."""
        if not all(isinstance(path, str) and path for path in paths):
            raise ConfigurationError(f"storage paths are non-empty strings, got {paths!r}")
        self._paths = [_local(path) for path in paths]

    def get_db_storage_paths(self) -> list[str] | None:
        """Return the local directories, None if none were set."""
        return list(self._paths) or None

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return what was set; change files are always incremental here."""
        return self._incremental

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """No effect, with a warning if it is not the default."""
        if not isinstance(options, PredefinedOptions):
            raise ConfigurationError(f"expected a PredefinedOptions, got {options!r}")
        self._predefined_options = options
        if options is not PredefinedOptions.DEFAULT:
            warn_of_no_effect("set_predefined_options", _OWN_SETTINGS)

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the preset."""
        return self._predefined_options

    def set_options(self, options_factory_class_name: str) -> None:
        """No effect, with a warning: there are no Java factories."""
        self._options_factory_class_name = options_factory_class_name
        warn_of_no_effect("set_options", _OWN_SETTINGS)

    def get_options(self) -> str | None:
        """Return what was set."""
        return self._options_factory_class_name

    def get_number_of_transfer_threads(self) -> int:
        """Return how many files are copied at a time."""
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """No effect, with a warning: each subtask writes one file per batch."""
        count = number_of_transfering_threads
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ConfigurationError(f"the number of transfer threads must be at least 1, got {count!r}")
        self._transfer_threads = count
        warn_of_no_effect("set_number_of_transfer_threads", "each subtask writes one file per batch")


class CustomStateBackend(StateBackend):
    """A store chosen by the name the engine knows it under, such as "lmdb"."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"a state backend is chosen by its name, got {name!r}")
        self.name = name


def _local(path: str) -> str:
    """The path of a file: URI; the store is always on the worker's own disk."""
    local = urlsplit(path).path if path.startswith("file:") else path
    return local.rstrip("/") or local
