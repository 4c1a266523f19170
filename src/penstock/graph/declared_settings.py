"""Every setting that Penstock reads: its key, the kind of its value, its default and what it means.

A new setting is one entry here and, if the running job needs it, one field of `JobSettings`. From this table come the
reading and checking of values, the warnings of unknown keys, `penstock settings` and the page docs/settings.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.graph import setting_values as kinds
from penstock.graph.setting_values import Kind

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
BUFFER_TIMEOUT = "execution.buffer-timeout.interval"
CHANGELOG = "state.changelog.enabled"
RESTART_STRATEGY = "restart-strategy.type"
FIXED_ATTEMPTS = "restart-strategy.fixed-delay.attempts"
FIXED_DELAY = "restart-strategy.fixed-delay.delay"
RATE_FAILURES = "restart-strategy.failure-rate.max-failures-per-interval"
RATE_INTERVAL = "restart-strategy.failure-rate.failure-rate-interval"
RATE_DELAY = "restart-strategy.failure-rate.delay"
INITIAL_BACKOFF = "restart-strategy.exponential-delay.initial-backoff"
MAX_BACKOFF = "restart-strategy.exponential-delay.max-backoff"
BACKOFF_MULTIPLIER = "restart-strategy.exponential-delay.backoff-multiplier"
BACKOFF_RESET = "restart-strategy.exponential-delay.reset-backoff-threshold"
JITTER = "restart-strategy.exponential-delay.jitter-factor"
ATTEMPTS_BEFORE_RESET = "restart-strategy.exponential-delay.attempts-before-reset-backoff"
CANCELLATION_TIMEOUT = "task.cancellation.timeout"
MAX_RECORDS_PER_BATCH = "penstock.batch.max-records"
MAX_BYTES_PER_BATCH = "penstock.batch.max-bytes"
TARGET_BATCH_TIME = "penstock.batch.target-time"
MAX_PLAN_BYTES = "penstock.plan.max-bytes"
WATERMARK_EVERY_RECORDS = "pipeline.watermark-every-records"
STATE_BACKEND = "state.backend.type"
STATE_DIRECTORY = "state.backend.rocksdb.localdir"
PYTHON_FILES = "python.files"
PYTHON_REQUIREMENTS = "python.requirements"
PYTHON_EXECUTABLE = "python.executable"
JOB_PARAMETERS = "pipeline.global-job-parameters"
AUTO_GENERATED_UIDS = "pipeline.auto-generate-uids"
GENERIC_TYPES = "pipeline.generic-types"
SPARK_MASTER = "spark.master"
ENGINE = "penstock.engine"
SEED = "penstock.in-process.seed"
TWO_PHASE = "penstock.window.two-phase"
FAST_START = "penstock.spark.fast-start"
UI = "penstock.ui.enabled"
UI_PORT = "penstock.ui.port"


@dataclass(frozen=True)
class Setting:
    """One setting.

    `absent` says what happens if it is not set and has no `default`. `former` is an older name that Flink had for it,
    which is read too; the present one wins. `field` is the field of `JobSettings` that has the value. Without
    `has_effect` the value is checked, kept and given back, and that is all.
    """

    key: str
    kind: Kind
    doc: str
    default: Any = None
    absent: str = ""
    former: str | None = None
    field: str | None = None
    has_effect: bool = True

    @property
    def is_flinks(self) -> bool:
        """Whether Flink has a setting of this key."""
        return not self.key.startswith(("penstock.", "spark.")) and self.key != WATERMARK_EVERY_RECORDS

    def shown_default(self) -> str:
        """Return the default as text, or what happens without a value."""
        return self.absent or ("none" if self.default is None else self.kind.show(self.default))


_TABLE = (
    Setting(JOB_NAME, kinds.TEXT, "Name of the job.", "Penstock Streaming Job", field="job_name"),
    Setting(
        PARALLELISM,
        kinds.POSITIVE,
        "Subtasks of operators that set none.",
        absent="cores of this machine",
        field="parallelism",
    ),
    Setting(
        MAX_PARALLELISM,
        kinds.KEY_GROUPS,
        "Number of key groups: the highest parallelism that the job can ever have.",
        absent="128, more for a high parallelism",
        field="max_parallelism",
    ),
    Setting(
        CHAINING,
        kinds.BOOLEAN,
        "Whether operators run together where no exchange is between them.",
        True,
        former="pipeline.operator-chaining",
        field="chaining",
    ),
    Setting(
        OBJECT_REUSE,
        kinds.BOOLEAN,
        "Whether objects are handed on and kept in state without a copy.",
        False,
        field="object_reuse",
    ),
    Setting(
        WATERMARK_EVERY_RECORDS,
        kinds.POSITIVE,
        "Pace of watermarks inside a batch.",
        5_000,
        field="watermark_every_records",
    ),
    Setting(
        JOB_PARAMETERS,
        kinds.PAIRS,
        "Parameters that functions can ask the runtime context for.",
        {},
        absent="none",
        field="job_parameters",
    ),
    Setting(
        AUTO_GENERATED_UIDS,
        kinds.BOOLEAN,
        "Whether operators without a uid get one. If not, each needs a uid.",
        True,
        field="auto_generated_uids",
    ),
    Setting(
        GENERIC_TYPES,
        kinds.BOOLEAN,
        "Whether streams may do without a declared type. If not, each needs one.",
        True,
        field="generic_types",
    ),
    Setting(
        RUNTIME_MODE,
        kinds.one_of("STREAMING", "BATCH", "AUTOMATIC"),
        "Whether results come as the input does, or once it has ended.",
        "STREAMING",
        field="runtime_mode",
    ),
    Setting(
        CHECKPOINT_DIRECTORY,
        kinds.PATH,
        "Where state, positions and unfinished output are kept.",
        absent="a temporary directory that dies with the job",
        former="state.checkpoints.dir",
        field="checkpoint_directory",
    ),
    Setting(
        CHECKPOINT_INTERVAL,
        kinds.POSITIVE_DURATION,
        "Time from the start of a batch to the next.",
        absent="as soon as the last batch is done",
        field="trigger_interval_ms",
    ),
    Setting(
        MIN_PAUSE,
        kinds.DURATION,
        "The interval is never shorter than this.",
        0,
        field="min_pause_ms",
    ),
    Setting(
        RETENTION,
        kinds.one_of("RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
        "DELETE_ON_CANCELLATION: the checkpoint directory is emptied when the job is cancelled. Else it stays.",
        "NO_EXTERNALIZED_CHECKPOINTS",
        field="retention",
    ),
    Setting(
        RETAINED,
        kinds.POSITIVE,
        "Versions that are kept in the checkpoint directory.",
        3,
        former="state.checkpoints.num-retained",
        field="retained_versions",
    ),
    Setting(
        SAVEPOINT_DIRECTORY,
        kinds.PATH,
        "Where savepoints go if no place is given for them.",
        former="state.savepoints.dir",
        field="savepoint_directory",
    ),
    Setting(
        RECOVERY_PATH,
        kinds.PATH,
        "Savepoint, or checkpoint directory of another job, that a job without versions of its own goes on from.",
        former="execution.savepoint.path",
        field="recovery_path",
    ),
    Setting(
        IGNORE_UNCLAIMED_STATE,
        kinds.BOOLEAN,
        "Whether state that no operator of the job owns is left behind. If not, it is an error.",
        False,
        former="execution.savepoint.ignore-unclaimed-state",
        field="allow_non_restored_state",
    ),
    Setting(
        STATE_BACKEND,
        kinds.BACKEND,
        "Where the workers keep state: LMDB or RocksDB on disk, or memory.",
        "lmdb",
        former="state.backend",
        field="state_backend",
    ),
    Setting(
        STATE_DIRECTORY,
        kinds.FIRST_PATH,
        "Where the stores of the workers go, whichever they are. The first of a list counts.",
        absent="Spark's scratch directory",
        field="state_directory",
    ),
    Setting(
        RESTART_STRATEGY,
        kinds.RESTARTS,
        "What happens when a job fails; each strategy has settings of its own.",
        absent="exponential-delay with a checkpoint interval, else none",
        former="restart-strategy",
    ),
    Setting(FIXED_ATTEMPTS, kinds.POSITIVE, "How often the job is started again.", 1),
    Setting(FIXED_DELAY, kinds.DURATION, "Pause before each start.", 1_000),
    Setting(RATE_FAILURES, kinds.POSITIVE, "Failures within the interval after which the job fails for good.", 1),
    Setting(RATE_INTERVAL, kinds.POSITIVE_DURATION, "The interval in which failures are counted.", 60_000),
    Setting(RATE_DELAY, kinds.DURATION, "Pause before each start.", 1_000),
    Setting(INITIAL_BACKOFF, kinds.POSITIVE_DURATION, "The first pause.", 1_000),
    Setting(MAX_BACKOFF, kinds.POSITIVE_DURATION, "The longest pause.", 60_000),
    Setting(BACKOFF_MULTIPLIER, kinds.NUMBER, "How much longer each pause is than the last.", 1.5),
    Setting(BACKOFF_RESET, kinds.POSITIVE_DURATION, "Time without failures after which pauses begin anew.", 3_600_000),
    Setting(JITTER, kinds.NUMBER, "Share by which pauses vary at random.", 0.0),
    Setting(
        ATTEMPTS_BEFORE_RESET,
        kinds.POSITIVE,
        "Starts after which the job fails for good, unless pauses have begun anew.",
        absent="no limit",
    ),
    Setting(
        CANCELLATION_TIMEOUT,
        kinds.DURATION,
        "How long a job that was asked to end may go without progress before it is given up; 0 for ever.",
        180_000,
        field="cancellation_timeout_ms",
    ),
    Setting(
        MAX_RECORDS_PER_BATCH,
        kinds.POSITIVE,
        "The most that Penstock's own sources give to a batch.",
        500_000,
        field="max_records_per_batch",
    ),
    Setting(
        MAX_BYTES_PER_BATCH,
        kinds.MEMORY,
        "The same in bytes, for sources that count them (Kafka).",
        256 * 1024 * 1024,
        field="max_bytes_per_batch",
    ),
    Setting(
        TARGET_BATCH_TIME,
        kinds.DURATION,
        "A batch takes what it can work on in this time; 0 for as much as it may.",
        10_000,
        field="target_batch_ms",
    ),
    Setting(
        MAX_PLAN_BYTES,
        kinds.MEMORY,
        "The most that the functions of a job may refer to; every worker gets them.",
        64 * 1024 * 1024,
        field="max_plan_bytes",
    ),
    Setting(
        TWO_PHASE,
        kinds.TWO_PHASE_MODE,
        "Which windows aggregate before they send: auto for those where nothing can be told but the speed.",
        "auto",
        field="two_phase",
    ),
    Setting(
        FAST_START,
        kinds.BOOLEAN,
        "Whether Spark is started by the ways that make it quick. If not, it starts as it does by itself.",
        True,
        field="fast_start",
    ),
    Setting(
        UI,
        kinds.BOOLEAN,
        "Whether this process serves pages that show the job; the link is printed, or shown in the notebook.",
        False,
        field="has_ui",
    ),
    Setting(UI_PORT, kinds.PORT, "Port of these pages; 0 takes a free one.", 0, field="ui_port"),
    Setting(ENGINE, kinds.ENGINE_NAME, "What runs the job: Spark, or this process for tests.", "spark", field="engine"),
    Setting(
        SEED,
        kinds.WHOLE,
        "Makes the choices that a cluster leaves to chance, in process.",
        absent="a new one for each run",
        field="seed",
    ),
    Setting(
        SPARK_MASTER,
        kinds.PATH,
        "The Spark to run on. All other spark.* keys go to Spark as they are.",
        absent="what Spark is told elsewhere, else local[*]",
        field="spark_master",
    ),
    Setting(
        PYTHON_FILES,
        kinds.LIST,
        "Files and folders that the workers can import.",
        (),
        absent="none",
        field="python_files",
    ),
    Setting(
        PYTHON_REQUIREMENTS,
        kinds.PATH,
        "A requirements file whose packages are installed first; `file#folder` takes them from a folder of wheels.",
        absent="none",
        field="python_requirements",
    ),
    Setting(PYTHON_EXECUTABLE, kinds.NAME, "The Python of the workers.", absent="this Python"),
    Setting(
        CHECKPOINT_MODE,
        kinds.one_of("EXACTLY_ONCE", "AT_LEAST_ONCE"),
        "Kept and given back. State is exactly-once either way.",
        "EXACTLY_ONCE",
    ),
    Setting(
        CHECKPOINT_TIMEOUT,
        kinds.POSITIVE_DURATION,
        "Kept and given back. A batch has no limit in time.",
        600_000,
        has_effect=False,
    ),
    Setting(
        MAX_CONCURRENT,
        kinds.POSITIVE,
        "Kept and given back. A checkpoint starts when the last one is final.",
        1,
        has_effect=False,
    ),
    Setting(
        TOLERABLE_FAILURES,
        kinds.NOT_NEGATIVE,
        "Kept and given back. The restart strategy says how often a batch is run again.",
        0,
        has_effect=False,
    ),
    Setting(
        UNALIGNED,
        kinds.BOOLEAN,
        "Kept and given back. There is nothing to align.",
        False,
        former="execution.checkpointing.unaligned",
        has_effect=False,
    ),
    Setting(
        FORCE_UNALIGNED,
        kinds.BOOLEAN,
        "Kept and given back. There is nothing to align.",
        False,
        former="execution.checkpointing.force-unaligned",
        has_effect=False,
    ),
    Setting(
        ALIGNMENT_TIMEOUT,
        kinds.DURATION,
        "Kept and given back. There is nothing to align.",
        0,
        former="execution.checkpointing.alignment-timeout",
        has_effect=False,
    ),
    Setting(
        BUFFER_TIMEOUT,
        kinds.DURATION,
        "Kept and given back. Records travel in blocks, within one batch.",
        100,
        former="execution.buffer-timeout",
        has_effect=False,
    ),
    Setting(
        CHANGELOG,
        kinds.BOOLEAN,
        "Kept and given back. Checkpoints are always changes with a snapshot now and then.",
        has_effect=False,
    ),
)

SETTINGS: dict[str, Setting] = {setting.key: setting for setting in _TABLE}
"""All settings by key, in the order in which they are shown."""

KEPT_CHECKPOINT_SETTINGS = (
    CHECKPOINT_MODE,
    CHECKPOINT_TIMEOUT,
    MAX_CONCURRENT,
    TOLERABLE_FAILURES,
    UNALIGNED,
    FORCE_UNALIGNED,
    ALIGNMENT_TIMEOUT,
)
"""Settings of checkpoints that are kept and given back."""
