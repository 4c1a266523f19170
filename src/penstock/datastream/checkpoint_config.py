"""`CheckpointConfig`, when and where checkpoints are taken."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from penstock.common.time import Duration
from penstock.errors import ConfigurationError
from penstock.graph import declared_settings as keys
from penstock.graph.settings import JobSettings
from penstock.graph.unused_keys import ALWAYS_ALIGNED, ONE_AT_A_TIME
from penstock.pyflink_names import names_from_elsewhere
from penstock.vocabulary.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from penstock.vocabulary.checkpointing_mode import CheckpointingMode
from penstock.vocabulary.externalized_checkpoint_retention import ExternalizedCheckpointRetention

__all__ = ["CheckpointConfig"]

_DISABLED = -1


class CheckpointConfig:
    """When and where checkpoints are taken; all times are milliseconds.

    Some of Flink's settings have no effect, or only in continuous mode. They are stored and returned, and a warning
    says why they have no effect.
    """

    def __init__(self) -> None:
        self._mode = CheckpointingMode.EXACTLY_ONCE
        self._interval = _DISABLED
        self._timeout = 600_000
        self._min_pause = 0
        self._max_concurrent = 1
        self._tolerable_failures = 0
        self._retention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        self._unaligned = False
        self._force_unaligned = False
        self._alignment_timeout = Duration.of_millis(0)
        self._storage: CheckpointStorage | None = None

    def take_over(self, told: AbstractSet[str], read: JobSettings, kept: Mapping[str, Any]) -> None:
        """Copy settings given as configuration keys, with or without effect."""
        if read.trigger_interval_ms is not None:
            self.set_checkpoint_interval(read.trigger_interval_ms)
        if keys.MIN_PAUSE in told:
            self.set_min_pause_between_checkpoints(read.min_pause_ms)
        if keys.RETENTION in told:
            self.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention[read.retention])
        if keys.CHECKPOINT_TIMEOUT in told:
            self.set_checkpoint_timeout(read.checkpoint_timeout_ms)
        if keys.TOLERABLE_FAILURES in told:
            self.set_tolerable_checkpoint_failure_number(read.tolerable_checkpoint_failures)
        if keys.CHECKPOINT_MODE in told:
            self.set_checkpointing_mode(CheckpointingMode[read.checkpoint_mode])
        self._keep(kept)

    def _keep(self, told: Mapping[str, Any]) -> None:
        self._max_concurrent = told.get(keys.MAX_CONCURRENT, self._max_concurrent)
        self._unaligned = told.get(keys.UNALIGNED, self._unaligned)
        self._force_unaligned = told.get(keys.FORCE_UNALIGNED, self._force_unaligned)
        if keys.ALIGNMENT_TIMEOUT in told:
            self._alignment_timeout = Duration.of_millis(told[keys.ALIGNMENT_TIMEOUT])

    def is_checkpointing_enabled(self) -> bool:
        """Return whether an interval was set."""
        return self._interval > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return what was set."""
        return self._mode

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Choose whether `execute_and_collect` may return records again after a failure; in continuous mode only.

        With `AT_LEAST_ONCE` it returns records as they come. State is always exactly-once.
        """
        self._mode = _of_type(CheckpointingMode, checkpointing_mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the time between two checkpoints, -1 if none was set."""
        return self._interval

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set the time between two checkpoints."""
        self._interval = _at_least(1, "checkpoint interval", checkpoint_interval)
        return self

    def get_checkpoint_timeout(self) -> int:
        """Return how long a checkpoint may take."""
        return self._timeout

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Set how long a checkpoint may take before it counts as failed; in continuous mode only."""
        self._timeout = _at_least(1, "checkpoint timeout", checkpoint_timeout)
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the shortest pause between two checkpoints."""
        return self._min_pause

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Set the minimum time between the starts of two batches; used if it is longer than the interval."""
        self._min_pause = _at_least(0, "pause between checkpoints", min_pause_between_checkpoints)
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """Return what was set; there is always one checkpoint at a time."""
        return self._max_concurrent

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """No effect, with a warning if above 1: there is always one checkpoint at a time."""
        self._max_concurrent = _at_least(1, "number of concurrent checkpoints", max_concurrent_checkpoints)
        if self._max_concurrent > 1:
            _warn("set_max_concurrent_checkpoints", ONE_AT_A_TIME)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return whether the first failed checkpoint fails the job."""
        return self._tolerable_failures == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Choose whether the first failed checkpoint fails the job; in continuous mode only."""
        self._tolerable_failures = 0 if fail_on_checkpointing_errors else 2**31 - 1
        return self

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many checkpoints may fail in a row."""
        return self._tolerable_failures

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Set how many checkpoints may fail in a row before the job is restarted; in continuous mode only."""
        self._tolerable_failures = _at_least(
            0, "number of tolerable checkpoint failures", tolerable_checkpoint_failure_number
        )
        return self

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Choose whether to keep the checkpoint directory of a cancelled job; it is kept by default."""
        self._retention = _of_type(ExternalizedCheckpointRetention, retention_mode)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return whether checkpoints are kept after the job."""
        return self._retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return whether the checkpoints of a cancelled job are kept."""
        return self._retention

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return what was set."""
        return self._unaligned

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """No effect, with a warning if enabled."""
        self._unaligned = enabled
        if enabled:
            _warn("enable_unaligned_checkpoints", ALWAYS_ALIGNED)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Accepted: checkpoints are never unaligned."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """No effect, with a warning."""
        self._alignment_timeout = _of_type(Duration, alignment_timeout)
        _warn("set_aligned_checkpoint_timeout", ALWAYS_ALIGNED)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return what was set."""
        return self._alignment_timeout

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """No effect, with a warning (older name)."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Return what was set (older name)."""
        return self._alignment_timeout

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """No effect, with a warning if enabled."""
        self._force_unaligned = force_unaligned_checkpoints
        if force_unaligned_checkpoints:
            _warn("set_force_unaligned_checkpoints", ALWAYS_ALIGNED)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return what was set."""
        return self._force_unaligned

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Choose where checkpoints are kept."""
        self._storage = _of_type(CheckpointStorage, storage)
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Keep checkpoints in this directory or URI."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return where checkpoints are kept, None if nothing was chosen."""
        return self._storage

    def checkpoint_directory(self) -> str | None:
        """Return the directory or URI of checkpoints, None if nothing was chosen."""
        return None if self._storage is None else self._storage.get_checkpoint_path()


def _warn(method: str, reason: str) -> None:
    warnings.warn(f"{method} has no effect: {reason}.", stacklevel=3)


def _at_least(lowest: int, what: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < lowest:
        raise ConfigurationError(f"the {what} must be a whole number of at least {lowest}, got {value!r}")
    return value


def _of_type(expected: type, value: Any) -> Any:
    if not isinstance(value, expected):
        raise ConfigurationError(f"expected a {expected.__name__}, got {type(value).__name__} {value!r}")
    return value


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
