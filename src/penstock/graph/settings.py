"""The settings a job is started with, read from configuration keys and checked before anything runs.

Which settings there are, and what they mean, is in `penstock.graph.declared_settings`.
"""

from __future__ import annotations

import difflib
import os
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.common.configuration import Configuration
from penstock.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.common.secret_references import has_reference, resolved
from penstock.errors import ConfigurationError
from penstock.graph import declared_settings as keys
from penstock.graph.declared_settings import KEPT_CHECKPOINT_SETTINGS, SETTINGS

_LOCAL_MASTER = re.compile(r"local\[\s*(\d+)\s*(?:,.*)?\]")


def _default(key: str) -> Any:
    return SETTINGS[key].default


@dataclass(frozen=True)
class JobSettings:
    """Everything about a job that is not in its graph: the settings that have a field, and what goes to Spark."""

    job_name: str = _default(keys.JOB_NAME)
    parallelism: int = 1
    max_parallelism: int | None = _default(keys.MAX_PARALLELISM)
    chaining: bool = _default(keys.CHAINING)
    object_reuse: bool = _default(keys.OBJECT_REUSE)
    checkpoint_directory: str | None = _default(keys.CHECKPOINT_DIRECTORY)
    retention: str = _default(keys.RETENTION)
    retained_versions: int = _default(keys.RETAINED)
    savepoint_directory: str | None = _default(keys.SAVEPOINT_DIRECTORY)
    recovery_path: str | None = _default(keys.RECOVERY_PATH)
    allow_non_restored_state: bool = _default(keys.IGNORE_UNCLAIMED_STATE)
    trigger_interval_ms: int | None = _default(keys.CHECKPOINT_INTERVAL)
    min_pause_ms: int = _default(keys.MIN_PAUSE)
    checkpoint_mode: str = _default(keys.CHECKPOINT_MODE)
    checkpoint_timeout_ms: int = _default(keys.CHECKPOINT_TIMEOUT)
    tolerable_checkpoint_failures: int = _default(keys.TOLERABLE_FAILURES)
    runtime_mode: str = _default(keys.RUNTIME_MODE)
    execution_mode: str = _default(keys.EXECUTION_MODE)
    linger_ms: int | None = _default(keys.LINGER)
    buffer_timeout_ms: int | None = _default(keys.BUFFER_TIMEOUT)
    watermark_interval_ms: int = _default(keys.WATERMARK_INTERVAL)
    restart_strategy: RestartStrategyConfiguration = field(default_factory=RestartStrategies.no_restart)
    cancellation_timeout_ms: int = _default(keys.CANCELLATION_TIMEOUT)
    max_records_per_batch: int = _default(keys.MAX_RECORDS_PER_BATCH)
    max_bytes_per_batch: int = _default(keys.MAX_BYTES_PER_BATCH)
    target_batch_ms: int = _default(keys.TARGET_BATCH_TIME)
    min_batch_interval_ms: int = _default(keys.MIN_BATCH_INTERVAL)
    max_plan_bytes: int = _default(keys.MAX_PLAN_BYTES)
    prometheus_ports: range | None = _default(keys.PROMETHEUS_PORT)
    log_format: str = _default(keys.LOG_FORMAT)
    is_traced: bool = _default(keys.TRACES)
    stall_warning_ms: int = _default(keys.STALL_WARNING)
    state_backend: str = _default(keys.STATE_BACKEND)
    state_directory: str | None = _default(keys.STATE_DIRECTORY)
    spark_master: str | None = _default(keys.SPARK_MASTER)
    spark_config: dict[str, str] = field(default_factory=dict)
    python_files: tuple[str, ...] = _default(keys.PYTHON_FILES)
    python_requirements: str | None = _default(keys.PYTHON_REQUIREMENTS)
    job_parameters: dict[str, str] = field(default_factory=dict)
    watermark_every_records: int = _default(keys.WATERMARK_EVERY_RECORDS)
    engine: str = _default(keys.ENGINE)
    seed: int | None = _default(keys.SEED)
    two_phase: str = _default(keys.TWO_PHASE)
    auto_generated_uids: bool = _default(keys.AUTO_GENERATED_UIDS)
    generic_types: bool = _default(keys.GENERIC_TYPES)
    fast_start: bool = _default(keys.FAST_START)
    has_ui: bool = _default(keys.UI)
    ui_port: int = _default(keys.UI_PORT)

    @property
    def batch_interval_ms(self) -> int | None:
        """From the start of a batch to the next; None for as soon as the last one is done.

        As in Flink, what may not be closer together than the pause is not tried more often either.
        """
        return self.trigger_interval_ms and max(self.trigger_interval_ms, self.min_pause_ms)

    @property
    def send_every_ms(self) -> int:
        """Continuous mode: how long records wait in a source for others."""
        told = (self.linger_ms, self.buffer_timeout_ms)
        return next((each for each in told if each is not None and each >= 0), keys.LINGER_MS)

    @property
    def collects_at_once(self) -> bool:
        """Continuous mode: whether the program gets records before they are final."""
        return self.checkpoint_mode == "AT_LEAST_ONCE"

    @property
    def deletes_when_cancelled(self) -> bool:
        """Whether the checkpoint directory goes with a job that is cancelled."""
        return self.retention == "DELETE_ON_CANCELLATION"

    @classmethod
    def from_configuration(
        cls,
        configuration: Configuration | Mapping[str, Any],
        *,
        job_name: str | None = None,
        checkpoint_directory: str | None = None,
        restart_strategy: RestartStrategyConfiguration | None = None,
    ) -> JobSettings:
        """Read the keys that Penstock knows; the arguments win over them. A bad value names its key."""
        values = _Values(configuration)
        values.check_own_keys()
        told = {setting.field: values.read(key) for key, setting in SETTINGS.items() if setting.field is not None}
        told["job_name"] = job_name or told["job_name"] or _default(keys.JOB_NAME)
        told["parallelism"] = told["parallelism"] or default_parallelism(values.read(keys.SPARK_MASTER))
        told["checkpoint_directory"] = checkpoint_directory or told["checkpoint_directory"]
        told["job_parameters"] = dict(told["job_parameters"])  # the default is everybody's
        is_checkpointed = told["trigger_interval_ms"] is not None
        told["restart_strategy"] = restart_strategy or _restart_strategy(values, is_checkpointed=is_checkpointed)
        return cls(**told, spark_config=_spark_config(values))


def kept_checkpoint_settings(configuration: Configuration | Mapping[str, Any]) -> dict[str, Any]:
    """Those settings of checkpoints that were told and are only kept and given back, by key."""
    values = _Values(configuration)
    return {key: values.read(key) for key in KEPT_CHECKPOINT_SETTINGS if values.is_told(key)}


class _Values:
    """Configuration values by key, with the key named in every complaint."""

    def __init__(self, configuration: Configuration | Mapping[str, Any]) -> None:
        self.by_key: dict[str, Any] = {}
        if isinstance(configuration, Configuration):
            configuration.add_all_to_dict(self.by_key)
        else:
            self.by_key.update(configuration)

    def check_own_keys(self) -> None:
        """Refuse keys of our own that nobody reads: most likely they are misspelt, and would do nothing, silently."""
        known = {key for key in SETTINGS if key.startswith("penstock.")}
        for key in self.by_key:
            if key.startswith("penstock.") and key not in known:
                close = difflib.get_close_matches(key, known, n=1, cutoff=0.8)
                hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}."
                raise ConfigurationError(f"configuration key {key!r} is not known; {hint}")

    def is_told(self, key: str) -> bool:
        """Whether a declared setting has a value, under its present or its former name."""
        return self._told(key) is not None

    def read(self, key: str) -> Any:
        """Return the value of a declared setting; its default if it was not told."""
        used, setting = self._told(key), SETTINGS[key]
        if used is None:
            return setting.default
        value = self.by_key[used]
        if key != keys.JOB_PARAMETERS and has_reference(value):  # parameters are looked up by who reads them
            value = resolved(value, f"configuration key {used!r}")
        try:
            return setting.kind.convert(value)
        except (ValueError, TypeError) as error:
            raise ConfigurationError(f"configuration key {used!r} is {value!r}, but {error}.") from error

    def _told(self, key: str) -> str | None:
        former = SETTINGS[key].former
        used = former if former in self.by_key and key not in self.by_key else key
        return None if used is None or self.by_key.get(used) is None else used


def default_parallelism(spark_master: str | None) -> int:
    """Cores of this machine, but no more than a `local[n]` master has threads."""
    cores = os.cpu_count() or 1
    local = _LOCAL_MASTER.fullmatch(spark_master or "")
    return min(cores, max(1, int(local.group(1)))) if local else cores


def _spark_config(values: _Values) -> dict[str, str]:
    config = {key: _spark_text(value) for key, value in values.by_key.items() if key.startswith("spark.")}
    executable = values.read(keys.PYTHON_EXECUTABLE)
    if executable is not None:
        config.setdefault("spark.pyspark.python", executable)
    return config


def _spark_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _restart_strategy(values: _Values, *, is_checkpointed: bool) -> RestartStrategyConfiguration:
    # Flink's rule when nothing is said: restart with growing pauses if there are checkpoints, else not at all.
    kind = values.read(keys.RESTART_STRATEGY)
    if kind is None:
        kind = "exponential-delay" if is_checkpointed else "none"
    try:
        return _RESTART_STRATEGIES[kind](values)
    except ConfigurationError as error:
        raise ConfigurationError(f"restart strategy {kind!r} of key {keys.RESTART_STRATEGY!r}: {error}") from error


def _no_restart(values: _Values) -> RestartStrategyConfiguration:
    return RestartStrategies.no_restart()


def _fixed_delay(values: _Values) -> RestartStrategyConfiguration:
    return RestartStrategies.fixed_delay_restart(values.read(keys.FIXED_ATTEMPTS), values.read(keys.FIXED_DELAY))


def _failure_rate(values: _Values) -> RestartStrategyConfiguration:
    return RestartStrategies.failure_rate_restart(
        values.read(keys.RATE_FAILURES), values.read(keys.RATE_INTERVAL), values.read(keys.RATE_DELAY)
    )


def _exponential_delay(values: _Values) -> RestartStrategyConfiguration:
    jitter = values.read(keys.JITTER)
    return RestartStrategies.exponential_delay_restart(
        values.read(keys.INITIAL_BACKOFF),
        values.read(keys.MAX_BACKOFF),
        values.read(keys.BACKOFF_MULTIPLIER),
        values.read(keys.BACKOFF_RESET),
        jitter,
        attempts_before_reset=values.read(keys.ATTEMPTS_BEFORE_RESET),
        random=_roll if jitter else None,
    )


def _roll() -> float:
    # A function of this module is pickled by name; `random.random` would take the generator's whole state along.
    return random.random()


_RESTART_STRATEGIES: dict[str, Callable[[_Values], RestartStrategyConfiguration]] = {
    "none": _no_restart,
    "off": _no_restart,
    "disable": _no_restart,
    "fixed-delay": _fixed_delay,
    "failure-rate": _failure_rate,
    "exponential-delay": _exponential_delay,
}
