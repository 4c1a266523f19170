"""The settings a job is started with, read and checked from configuration keys before anything runs.

Owns names, defaults and checks of the keys; what a setting does is decided where it is used.
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.common.configuration import Configuration
from penstock.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.common.time import Duration
from penstock.errors import ConfigurationError
from penstock.state.groups import MAX_PARALLELISM_LIMIT

JOB_NAME = "pipeline.name"
PARALLELISM = "parallelism.default"
MAX_PARALLELISM = "pipeline.max-parallelism"
CHAINING = "pipeline.operator-chaining.enabled"
OBJECT_REUSE = "pipeline.object-reuse"
CHECKPOINT_DIRECTORY = "execution.checkpointing.dir"
CHECKPOINT_INTERVAL = "execution.checkpointing.interval"
SAVEPOINT_DIRECTORY = "execution.checkpointing.savepoint-dir"
RECOVERY_PATH = "execution.state-recovery.path"
IGNORE_UNCLAIMED_STATE = "execution.state-recovery.ignore-unclaimed-state"
MIN_PAUSE = "execution.checkpointing.min-pause"
RETENTION = "execution.checkpointing.externalized-checkpoint-retention"
RETAINED = "execution.checkpointing.num-retained"
CHECKPOINT_MODE = "execution.checkpointing.mode"
CHECKPOINT_TIMEOUT = "execution.checkpointing.timeout"
MAX_CONCURRENT = "execution.checkpointing.max-concurrent-checkpoints"
TOLERABLE_FAILURES = "execution.checkpointing.tolerable-failed-checkpoints"
UNALIGNED = "execution.checkpointing.unaligned.enabled"
FORCE_UNALIGNED = "execution.checkpointing.unaligned.forced"
ALIGNMENT_TIMEOUT = "execution.checkpointing.aligned-checkpoint-timeout"
RUNTIME_MODE = "execution.runtime-mode"
RESTART_STRATEGY = "restart-strategy.type"
CANCELLATION_TIMEOUT = "task.cancellation.timeout"
MAX_RECORDS_PER_BATCH = "penstock.batch.max-records"
MAX_BYTES_PER_BATCH = "penstock.batch.max-bytes"
TARGET_BATCH_TIME = "penstock.batch.target-time"
MAX_PLAN_BYTES = "penstock.plan.max-bytes"
WATERMARK_EVERY_RECORDS = "pipeline.watermark-every-records"
STATE_BACKEND = "state.backend.type"
STATE_DIRECTORY = "state.backend.rocksdb.localdir"
PYTHON_FILES = "python.files"
PYTHON_EXECUTABLE = "python.executable"
JOB_PARAMETERS = "pipeline.global-job-parameters"
AUTO_GENERATED_UIDS = "pipeline.auto-generate-uids"
GENERIC_TYPES = "pipeline.generic-types"
SPARK_MASTER = "spark.master"
ENGINE = "penstock.engine"
SEED = "penstock.in-process.seed"
TWO_PHASE = "penstock.window.two-phase"

DEFAULT_JOB_NAME = "Penstock Streaming Job"
DEFAULT_MAX_RECORDS_PER_BATCH = 500_000
DEFAULT_MAX_BYTES_PER_BATCH = 256 * 1024 * 1024
DEFAULT_TARGET_BATCH_MS = 10_000
DEFAULT_MAX_PLAN_BYTES = 64 * 1024 * 1024
DEFAULT_WATERMARK_EVERY_RECORDS = 5_000
DEFAULT_RETAINED = 3
DEFAULT_CANCELLATION_TIMEOUT_MS = 180_000
CHECKPOINT_MODES = ("EXACTLY_ONCE", "AT_LEAST_ONCE")
RETENTIONS = ("RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS")
RUNTIME_MODES = ("STREAMING", "BATCH", "AUTOMATIC")
TWO_PHASE_MODES = ("auto", "on", "off")

# Older Flink names that programs still carry; the current name wins when both are set.
FORMER_NAMES = {
    CHECKPOINT_DIRECTORY: "state.checkpoints.dir",
    SAVEPOINT_DIRECTORY: "state.savepoints.dir",
    RECOVERY_PATH: "execution.savepoint.path",
    IGNORE_UNCLAIMED_STATE: "execution.savepoint.ignore-unclaimed-state",
    STATE_BACKEND: "state.backend",
    RESTART_STRATEGY: "restart-strategy",
    CHAINING: "pipeline.operator-chaining",
    RETAINED: "state.checkpoints.num-retained",
    UNALIGNED: "execution.checkpointing.unaligned",
    FORCE_UNALIGNED: "execution.checkpointing.force-unaligned",
    ALIGNMENT_TIMEOUT: "execution.checkpointing.alignment-timeout",
}
_STATE_BACKENDS = {"hashmap": "heap", "rocksdb": "rocksdb", "lmdb": "lmdb", "heap": "heap", "memory": "heap"}
_MEMORY_SIZE = re.compile(r"\s*(\d+)\s*(|b|bytes|[kmgt]i?b?|kibibytes|mebibytes|gibibytes|tebibytes)\s*", re.IGNORECASE)
_LOCAL_MASTER = re.compile(r"local\[\s*(\d+)\s*(?:,.*)?\]")

T = TypeVar("T")


@dataclass(frozen=True)
class JobSettings:
    """Everything about a job that is not in its graph.

    `parallelism` is used by operators that set none. With `object_reuse`, objects are handed on and kept in state
    without a copy. `trigger_interval_ms` None means a batch as soon as the last
    one is done. `checkpoint_directory` None means a temporary one that dies with the job; a given one is emptied when
    the job is cancelled if `retention` is DELETE_ON_CANCELLATION; `retained_versions` are kept in it. `recovery_path`
    is the savepoint, or the checkpoint directory of another job, that a job without versions of its own goes on from;
    what is in it without an owner is an error unless `allow_non_restored_state`. A job that was asked to stop and makes
    no progress for `cancellation_timeout_ms` is given up; 0 for never. Its functions may be `max_plan_bytes` in all:
    every worker gets them. A batch takes `max_records_per_batch` at most, and less where that would be more than
    `max_bytes_per_batch` or last longer than `target_batch_ms`; 0 for no target. `runtime_mode` is STREAMING, BATCH or
    AUTOMATIC; `state_backend` is "lmdb", "rocksdb" or "heap",
    `state_directory` where its local files go if not to Spark's scratch directory. `engine` is "spark", or "in-process"
    for tests, where `seed` makes the choices that a cluster leaves to chance. `two_phase` says which windows aggregate
    in front of the exchange too: "on", "off", or "auto" for those where nothing can be told but the speed. Without
    `auto_generated_uids` every operator needs a uid, without `generic_types` every stream a declared type.
    """

    job_name: str = DEFAULT_JOB_NAME
    parallelism: int = 1
    max_parallelism: int | None = None
    chaining: bool = True
    object_reuse: bool = False
    checkpoint_directory: str | None = None
    retention: str = "NO_EXTERNALIZED_CHECKPOINTS"
    retained_versions: int = DEFAULT_RETAINED
    savepoint_directory: str | None = None
    recovery_path: str | None = None
    allow_non_restored_state: bool = False
    trigger_interval_ms: int | None = None
    min_pause_ms: int = 0
    runtime_mode: str = "STREAMING"
    restart_strategy: RestartStrategyConfiguration = field(default_factory=RestartStrategies.no_restart)
    cancellation_timeout_ms: int = DEFAULT_CANCELLATION_TIMEOUT_MS
    max_records_per_batch: int = DEFAULT_MAX_RECORDS_PER_BATCH
    max_bytes_per_batch: int = DEFAULT_MAX_BYTES_PER_BATCH
    target_batch_ms: int = DEFAULT_TARGET_BATCH_MS
    max_plan_bytes: int = DEFAULT_MAX_PLAN_BYTES
    state_backend: str = "lmdb"
    state_directory: str | None = None
    spark_master: str | None = None
    spark_config: dict[str, str] = field(default_factory=dict)
    python_files: tuple[str, ...] = ()
    job_parameters: dict[str, str] = field(default_factory=dict)
    watermark_every_records: int = DEFAULT_WATERMARK_EVERY_RECORDS
    engine: str = "spark"
    seed: int | None = None
    two_phase: str = "auto"
    auto_generated_uids: bool = True
    generic_types: bool = True

    @property
    def batch_interval_ms(self) -> int | None:
        """From the start of a batch to the next; None for as soon as the last one is done.

        As in Flink, what may not be closer together than the pause is not tried more often either.
        """
        return self.trigger_interval_ms and max(self.trigger_interval_ms, self.min_pause_ms)

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
        interval = values.read(CHECKPOINT_INTERVAL, positive_duration_ms)
        return cls(
            job_name=job_name or values.read(JOB_NAME, str) or DEFAULT_JOB_NAME,
            parallelism=values.read(PARALLELISM, positive) or default_parallelism(values.read(SPARK_MASTER, str)),
            max_parallelism=values.read(MAX_PARALLELISM, max_parallelism),
            chaining=values.read_or(CHAINING, boolean, default=True),
            object_reuse=values.read_or(OBJECT_REUSE, boolean, default=False),
            checkpoint_directory=checkpoint_directory or values.read(CHECKPOINT_DIRECTORY, non_empty),
            retention=values.read_or(RETENTION, retention, default="NO_EXTERNALIZED_CHECKPOINTS"),
            retained_versions=values.read_or(RETAINED, positive, default=DEFAULT_RETAINED),
            savepoint_directory=values.read(SAVEPOINT_DIRECTORY, non_empty),
            recovery_path=values.read(RECOVERY_PATH, non_empty),
            allow_non_restored_state=values.read_or(IGNORE_UNCLAIMED_STATE, boolean, default=False),
            trigger_interval_ms=interval,
            min_pause_ms=values.read_or(MIN_PAUSE, duration_ms, default=0),
            runtime_mode=values.read_or(RUNTIME_MODE, runtime_mode, default="STREAMING"),
            restart_strategy=restart_strategy or _restart_strategy(values, is_checkpointed=interval is not None),
            cancellation_timeout_ms=values.read_or(
                CANCELLATION_TIMEOUT, duration_ms, default=DEFAULT_CANCELLATION_TIMEOUT_MS
            ),
            max_records_per_batch=values.read_or(
                MAX_RECORDS_PER_BATCH, positive, default=DEFAULT_MAX_RECORDS_PER_BATCH
            ),
            max_bytes_per_batch=values.read_or(MAX_BYTES_PER_BATCH, memory_size, default=DEFAULT_MAX_BYTES_PER_BATCH),
            target_batch_ms=values.read_or(TARGET_BATCH_TIME, duration_ms, default=DEFAULT_TARGET_BATCH_MS),
            max_plan_bytes=values.read_or(MAX_PLAN_BYTES, memory_size, default=DEFAULT_MAX_PLAN_BYTES),
            state_backend=values.read_or(STATE_BACKEND, state_backend, default="lmdb"),
            state_directory=values.read(STATE_DIRECTORY, first_of_list),
            spark_master=values.read(SPARK_MASTER, non_empty),
            spark_config=_spark_config(values),
            python_files=values.read_or(PYTHON_FILES, comma_separated, default=()),
            job_parameters=values.read_or(JOB_PARAMETERS, key_value_pairs, default={}),
            watermark_every_records=values.read_or(
                WATERMARK_EVERY_RECORDS, positive, default=DEFAULT_WATERMARK_EVERY_RECORDS
            ),
            engine=values.read_or(ENGINE, engine, default="spark"),
            seed=values.read(SEED, _whole),
            two_phase=values.read_or(TWO_PHASE, two_phase_mode, default="auto"),
            auto_generated_uids=values.read_or(AUTO_GENERATED_UIDS, boolean, default=True),
            generic_types=values.read_or(GENERIC_TYPES, boolean, default=True),
        )


def kept_checkpoint_settings(configuration: Configuration | Mapping[str, Any]) -> dict[str, Any]:
    """Those settings of checkpoints that were told and are only kept and given back, by key."""
    values = _Values(configuration)
    told = {key: values.read(key, convert) for key, convert in _KEPT.items()}
    return {key: value for key, value in told.items() if value is not None}


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
        known = {MAX_RECORDS_PER_BATCH, MAX_BYTES_PER_BATCH, TARGET_BATCH_TIME, MAX_PLAN_BYTES, ENGINE, SEED, TWO_PHASE}
        for key in self.by_key:
            if key.startswith("penstock.") and key not in known:
                close = difflib.get_close_matches(key, known, n=1, cutoff=0.8)
                hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}."
                raise ConfigurationError(f"configuration key {key!r} is not known; {hint}")

    def read(self, key: str, convert: Callable[[Any], T]) -> T | None:
        former = FORMER_NAMES.get(key)
        used = former if former in self.by_key and key not in self.by_key else key
        if used is None or self.by_key.get(used) is None:
            return None
        value = self.by_key[used]
        try:
            return convert(value)
        except (ValueError, TypeError) as error:
            raise ConfigurationError(f"configuration key {used!r} is {value!r}, but {error}.") from error

    def read_or(self, key: str, convert: Callable[[Any], T], *, default: T) -> T:
        value = self.read(key, convert)
        return default if value is None else value


def positive(value: Any) -> int:
    """Convert to a whole number of 1 or more."""
    number = _whole(value)
    if number < 1:
        raise ValueError("it must be 1 or more")
    return number


def max_parallelism(value: Any) -> int:
    """Convert to a number of key groups."""
    number = _whole(value)
    if not 1 <= number <= MAX_PARALLELISM_LIMIT:
        raise ValueError(f"it must be from 1 to {MAX_PARALLELISM_LIMIT}")
    return number


def boolean(value: Any) -> bool:
    """Convert true/false in any case."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError("it must be true or false")
    return text == "true"


def non_empty(value: Any) -> str:
    """Convert to text that is not blank."""
    text = str(value).strip()
    if not text:
        raise ValueError("it must not be empty")
    return text


def duration_ms(value: Any) -> int:
    """Convert Flink's duration texts ("10 s", "1min", "500 ms"; a bare number is milliseconds)."""
    duration = value if isinstance(value, Duration) else Duration.parse(str(value))
    return duration.to_millis()


def positive_duration_ms(value: Any) -> int:
    """Convert a duration of at least a millisecond."""
    duration = duration_ms(value)
    if duration < 1:
        raise ValueError("it must be longer than 0 ms")
    return duration


def memory_size(value: Any) -> int:
    """Convert Flink's sizes ("512 kb", "64mb", "1 gb"; a bare number is bytes); units are powers of 1024."""
    match = _MEMORY_SIZE.fullmatch(str(value))
    size = (
        int(match.group(1)) * 1024 ** " kmgt".find(match.group(2)[:1].lower().replace("b", "") or " ") if match else 0
    )
    if size < 1:
        raise ValueError('it must be a size of at least a byte, such as "512 kb" or "64 mb"')
    return size


def runtime_mode(value: Any) -> str:
    """Convert to one of RUNTIME_MODES."""
    mode = str(value).strip().upper()
    if mode not in RUNTIME_MODES:
        raise ValueError(f"it must be one of {', '.join(RUNTIME_MODES)}")
    return mode


def retention(value: Any) -> str:
    """Convert to one of RETENTIONS."""
    mode = str(value).strip().upper()
    if mode not in RETENTIONS:
        raise ValueError(f"it must be one of {', '.join(RETENTIONS)}")
    return mode


def checkpoint_mode(value: Any) -> str:
    """Convert to one of CHECKPOINT_MODES."""
    mode = str(value).strip().upper()
    if mode not in CHECKPOINT_MODES:
        raise ValueError(f"it must be one of {', '.join(CHECKPOINT_MODES)}")
    return mode


def not_negative(value: Any) -> int:
    """Convert to a whole number of 0 or more."""
    number = _whole(value)
    if number < 0:
        raise ValueError("it must be 0 or more")
    return number


def engine(value: Any) -> str:
    """Convert to the name of an engine: Spark, or this process for tests."""
    name = str(value).strip().lower()
    if name not in ("spark", "in-process"):
        raise ValueError("it must be spark or in-process")
    return name


def two_phase_mode(value: Any) -> str:
    """Convert to one of TWO_PHASE_MODES."""
    text = str(value).strip().lower()
    mode = {"true": "on", "false": "off"}.get(text, text)  # what YAML makes of a bare on or off
    if mode not in TWO_PHASE_MODES:
        raise ValueError(f"it must be one of {', '.join(TWO_PHASE_MODES)}")
    return mode


def state_backend(value: Any) -> str:
    """Convert Flink's and Penstock's backend names to "lmdb", "rocksdb" or "heap"."""
    backend = _STATE_BACKENDS.get(str(value).strip().lower())
    if backend is None:
        raise ValueError(f"it must be one of {', '.join(_STATE_BACKENDS)}")
    # The package is optional, and its lack would otherwise show in the first task.
    if backend == "rocksdb" and importlib.util.find_spec("rocksdict") is None:
        raise ValueError("that needs the package rocksdict: pip install 'penstock[rocksdb]'")
    return backend


def comma_separated(value: Any) -> tuple[str, ...]:
    """Split a text (or take a list) of items; Flink writes lists with commas or semicolons."""
    items = value if isinstance(value, (list, tuple)) else re.split("[,;]", str(value))
    return tuple(text for text in (str(item).strip() for item in items) if text)


def first_of_list(value: Any) -> str:
    """Take the first of a list of items, which must have one."""
    return non_empty(next(iter(comma_separated(value)), ""))


def key_value_pairs(value: Any) -> dict[str, str]:
    """Convert Flink's "key:value,key:value" texts, or take a mapping."""
    if isinstance(value, Mapping):
        return {str(key): str(item) for key, item in value.items()}
    pairs = [item.partition(":") for item in comma_separated(value)]
    if not all(separator for _, separator, _ in pairs):
        raise ValueError('it must look like "key:value,key:value"')
    return {key.strip(): item.strip() for key, _, item in pairs}


def default_parallelism(spark_master: str | None) -> int:
    """Cores of this machine, but no more than a `local[n]` master has threads."""
    cores = os.cpu_count() or 1
    local = _LOCAL_MASTER.fullmatch(spark_master or "")
    return min(cores, max(1, int(local.group(1)))) if local else cores


def _whole(value: Any) -> int:
    try:
        if isinstance(value, (bool, float)):
            raise ValueError
        return int(value)
    except (ValueError, TypeError):
        raise ValueError("it must be a whole number") from None


def _spark_config(values: _Values) -> dict[str, str]:
    config = {key: _spark_text(value) for key, value in values.by_key.items() if key.startswith("spark.")}
    executable = values.read(PYTHON_EXECUTABLE, non_empty)
    if executable is not None:
        config.setdefault("spark.pyspark.python", executable)
    return config


def _spark_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _restart_strategy(values: _Values, *, is_checkpointed: bool) -> RestartStrategyConfiguration:
    # Flink's rule when nothing is said: restart with growing pauses if there are checkpoints, else not at all.
    kind = values.read(RESTART_STRATEGY, _restart_kind)
    if kind is None:
        kind = "exponential-delay" if is_checkpointed else "none"
    try:
        return _RESTART_STRATEGIES[kind](values)
    except ConfigurationError as error:
        raise ConfigurationError(f"restart strategy {kind!r} of key {RESTART_STRATEGY!r}: {error}") from error


def _restart_kind(value: Any) -> str:
    kind = str(value).strip().lower()
    if kind not in _RESTART_STRATEGIES:
        raise ValueError(f"it must be one of {', '.join(_RESTART_STRATEGIES)}")
    return kind


def _no_restart(values: _Values) -> RestartStrategyConfiguration:
    return RestartStrategies.no_restart()


def _fixed_delay(values: _Values) -> RestartStrategyConfiguration:
    prefix = "restart-strategy.fixed-delay."
    attempts = values.read_or(prefix + "attempts", positive, default=1)
    return RestartStrategies.fixed_delay_restart(attempts, values.read_or(prefix + "delay", duration_ms, default=1_000))


def _failure_rate(values: _Values) -> RestartStrategyConfiguration:
    prefix = "restart-strategy.failure-rate."
    return RestartStrategies.failure_rate_restart(
        values.read_or(prefix + "max-failures-per-interval", positive, default=1),
        values.read_or(prefix + "failure-rate-interval", positive_duration_ms, default=60_000),
        values.read_or(prefix + "delay", duration_ms, default=1_000),
    )


def _exponential_delay(values: _Values) -> RestartStrategyConfiguration:
    prefix = "restart-strategy.exponential-delay."
    jitter = values.read_or(prefix + "jitter-factor", float, default=0.0)
    return RestartStrategies.exponential_delay_restart(
        values.read_or(prefix + "initial-backoff", positive_duration_ms, default=1_000),
        values.read_or(prefix + "max-backoff", positive_duration_ms, default=60_000),
        values.read_or(prefix + "backoff-multiplier", float, default=1.5),
        values.read_or(prefix + "reset-backoff-threshold", positive_duration_ms, default=3_600_000),
        jitter,
        attempts_before_reset=values.read(prefix + "attempts-before-reset-backoff", positive),
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

_KEPT: dict[str, Callable[[Any], Any]] = {
    CHECKPOINT_MODE: checkpoint_mode,
    CHECKPOINT_TIMEOUT: positive_duration_ms,
    MAX_CONCURRENT: positive,
    TOLERABLE_FAILURES: not_negative,
    UNALIGNED: boolean,
    FORCE_UNALIGNED: boolean,
    ALIGNMENT_TIMEOUT: duration_ms,
}
