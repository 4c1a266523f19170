"""Where checkpoints are kept, as a description."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.errors import ConfigurationError

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]


class CheckpointStorage(ABC):
    """Where checkpoints are kept."""

    @abstractmethod
    def get_checkpoint_path(self) -> str | None:
        """Return the directory or URI, None for one chosen by the engine."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints in a temporary directory; with a path, like `FileSystemCheckpointStorage`."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        self._checkpoint_path = None if checkpoint_path is None else _checked_path(checkpoint_path)
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_checkpoint_path(self) -> str | None:
        """Return the directory or URI, None if none was given."""
        return self._checkpoint_path

    def get_max_state_size(self) -> int:
        """Return what was set; state size is not limited by it here."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Return the default directory for savepoints, None if none was given."""
        return None


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a directory that the driver and all workers can reach."""

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
    ) -> None:
        self._checkpoint_path = _checked_path(checkpoint_path)
        self._file_state_size_threshold = 20 * 1024 if file_state_size_threshold is None else file_state_size_threshold
        if not 0 <= self._file_state_size_threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise ConfigurationError(
                f"file_state_size_threshold must be from 0 to {self.MAX_FILE_STATE_THRESHOLD} bytes, "
                f"got {file_state_size_threshold!r}"
            )
        self._write_buffer_size = 4096 if write_buffer_size is None else write_buffer_size

    def get_checkpoint_path(self) -> str:
        """Return the directory or URI."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return the default directory for savepoints, None if none was given."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Return what was set; small state has no files of its own here."""
        return self._file_state_size_threshold

    def get_write_buffer_size(self) -> int:
        """Return what was set, at least the threshold."""
        return max(self._write_buffer_size, self._file_state_size_threshold)


class CustomCheckpointStorage(CheckpointStorage):
    """Checkpoints in any file system that pyarrow reaches, by URI."""

    def __init__(self, uri: str) -> None:
        self._uri = _checked_path(uri)

    def get_checkpoint_path(self) -> str:
        """Return the URI."""
        return self._uri


def _checked_path(path: str) -> str:
    if not isinstance(path, str) or not path.strip():
        raise ConfigurationError(f"a checkpoint directory is a path or URI, got {path!r}")
    # As in Flink: one directory, one text. The root stays what it is.
    shortened = path.rstrip("/")
    return shortened if shortened and not shortened.endswith(":") else path
