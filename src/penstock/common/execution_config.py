"""`ExecutionConfig`, settings of a whole job."""

from __future__ import annotations

from typing import Any

from penstock.common.no_effect import warn_of_no_effect
from penstock.errors import ConfigurationError

__all__ = ["ExecutionConfig"]

_MAX_PARALLELISM_LIMIT = 32768
_SPARK_CANCELS = "Spark ends the tasks of a cancelled job; see the settings spark.task.reaper.*"
_NO_LATENCY = "records travel in blocks and carry no markers; see progress() and the metrics of the job for its lag"
_TYPES_CHOOSE = "values are encoded by their declared types, and pickled if they have none"


class ExecutionConfig:
    """Settings of a whole job. Those that only concern Flink's JVM are kept and have no effect."""

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self) -> None:
        self._parallelism = self.PARALLELISM_DEFAULT
        self._max_parallelism = -1
        self._auto_watermark_interval = 200
        self._latency_tracking_interval = 0
        self._task_cancellation_interval = 30_000
        self._task_cancellation_timeout = 180_000
        self._closure_cleaner = True
        self._force_kryo = False
        self._generic_types = True
        self._auto_generated_uids = True
        self._force_avro = False
        self._object_reuse = False
        self._snapshot_compression = False
        self._global_job_parameters: dict[str, str] = {}

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted without effect: Python closures need no cleaning."""
        self._closure_cleaner = True
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted with a warning."""
        self._closure_cleaner = False
        warn_of_no_effect("disable_closure_cleaner", "Python closures are never cleaned")
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """Return what was set."""
        return self._closure_cleaner

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set how often watermarks are emitted, in milliseconds; in continuous mode only. 0 means never."""
        self._auto_watermark_interval = _not_negative("auto watermark interval", interval)
        return self

    def get_auto_watermark_interval(self) -> int:
        """Return how often watermarks are emitted, in milliseconds."""
        return self._auto_watermark_interval

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """No effect, with a warning if it is not 0: latency is not measured."""
        self._latency_tracking_interval = _not_negative("latency tracking interval", interval)
        if interval:
            warn_of_no_effect("set_latency_tracking_interval", _NO_LATENCY)
        return self

    def get_latency_tracking_interval(self) -> int:
        """Return how often latency is measured, in milliseconds."""
        return self._latency_tracking_interval

    def get_parallelism(self) -> int:
        """Return the default parallelism of operators, -1 if it was not set."""
        return self._parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the default parallelism of operators."""
        if parallelism != self.PARALLELISM_DEFAULT and not _is_whole(parallelism, at_least=1):
            raise ConfigurationError(f"parallelism must be a whole number of at least 1, got {parallelism!r}")
        self._parallelism = parallelism
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, -1 if it was not set."""
        return self._max_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, the highest parallelism the job can ever have."""
        if not _is_whole(max_parallelism, at_least=1) or max_parallelism > _MAX_PARALLELISM_LIMIT:
            raise ConfigurationError(
                f"max parallelism must be a whole number from 1 to {_MAX_PARALLELISM_LIMIT}, got {max_parallelism!r}"
            )
        self._max_parallelism = max_parallelism
        return self

    def get_task_cancellation_interval(self) -> int:
        """Return the milliseconds between two tries to cancel a task."""
        return self._task_cancellation_interval

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """No effect, with a warning: Spark ends tasks."""
        self._task_cancellation_interval = _not_negative("task cancellation interval", interval)
        warn_of_no_effect("set_task_cancellation_interval", _SPARK_CANCELS)
        return self

    def get_task_cancellation_timeout(self) -> int:
        """Return after how many milliseconds a task that does not end is killed."""
        return self._task_cancellation_timeout

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Abandon a job that is stopping after this many milliseconds without progress; 0 means never."""
        self._task_cancellation_timeout = _not_negative("task cancellation timeout", timeout)
        return self

    def enable_force_kryo(self) -> ExecutionConfig:
        """No effect, with a warning: there is no Kryo."""
        self._force_kryo = True
        warn_of_no_effect("enable_force_kryo", _TYPES_CHOOSE)
        return self

    def disable_force_kryo(self) -> ExecutionConfig:
        """Accepted without effect."""
        self._force_kryo = False
        return self

    def is_force_kryo_enabled(self) -> bool:
        """Return what was set."""
        return self._force_kryo

    def enable_generic_types(self) -> ExecutionConfig:
        """Allow values without a declared type; they are pickled (the default)."""
        self._generic_types = True
        return self

    def disable_generic_types(self) -> ExecutionConfig:
        """Refuse values without a declared type."""
        self._generic_types = False
        return self

    def has_generic_types_disabled(self) -> bool:
        """Return whether values without a declared type are refused."""
        return not self._generic_types

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Generate uids for operators without one, from the shape of the job (the default)."""
        self._auto_generated_uids = True
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuse operators without a uid."""
        self._auto_generated_uids = False
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Return whether operators without a uid are given one."""
        return self._auto_generated_uids

    def enable_force_avro(self) -> ExecutionConfig:
        """No effect, with a warning: types choose their own encoding."""
        self._force_avro = True
        warn_of_no_effect("enable_force_avro", _TYPES_CHOOSE)
        return self

    def disable_force_avro(self) -> ExecutionConfig:
        """Accepted without effect."""
        self._force_avro = False
        return self

    def is_force_avro_enabled(self) -> bool:
        """Return what was set."""
        return self._force_avro

    def enable_object_reuse(self) -> ExecutionConfig:
        """Pass objects without copying: to operators in the same process, into state and out of it.

        Saves the copies of dicts, lists, rows and other objects that can be changed. In return the program must not
        change an object that it has emitted or put into state, nor one that it got from state unless it puts it back.
        """
        return self.set_object_reuse(True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Give every function its own copies of objects (the default)."""
        return self.set_object_reuse(False)

    def set_object_reuse(self, object_reuse: bool) -> ExecutionConfig:
        """Enable or disable it."""
        self._object_reuse = object_reuse
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Return what was set."""
        return self._object_reuse

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters every function can read."""
        return dict(self._global_job_parameters)

    def set_global_job_parameters(self, global_job_parameters_dict: dict[str, Any]) -> ExecutionConfig:
        """Set the parameters every function can read."""
        if not isinstance(global_job_parameters_dict, dict):
            raise ConfigurationError(
                f"global job parameters must be a dict of strings, got {type(global_job_parameters_dict).__name__}"
            )
        self._global_job_parameters = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        return self

    def is_use_snapshot_compression(self) -> bool:
        """Return what was set."""
        return self._snapshot_compression

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Accepted without effect: snapshots are always compressed."""
        self._snapshot_compression = use_snapshot_compression
        return self

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if isinstance(other, ExecutionConfig) else NotImplemented

    def __hash__(self) -> int:
        parameters = tuple(sorted(self._global_job_parameters.items()))
        return hash((self._parallelism, self._max_parallelism, self._auto_watermark_interval, parameters))


def _is_whole(value: Any, at_least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def _not_negative(what: str, value: int) -> int:
    if not _is_whole(value, at_least=0):
        raise ConfigurationError(f"the {what} must be 0 or more milliseconds, got {value!r}")
    return value
