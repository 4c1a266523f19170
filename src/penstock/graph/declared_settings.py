"""Every setting that Penstock reads: its key, the kind of its value, its default and what it means.

To add a setting, add an entry here and, if the running job needs it, a field to `JobSettings`. This table drives the
reading and checking of values, the warnings about unknown keys, `penstock settings` and the page docs/settings.md.
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
EXECUTION_MODE = "penstock.execution.mode"
LINGER = "penstock.continuous.linger"
LINGER_MS = 10
"""What it is if neither it nor Flink's name for it is set."""
WATERMARK_INTERVAL = "pipeline.auto-watermark-interval"
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
MIN_BATCH_INTERVAL = "penstock.batch.min-interval"
MAX_PLAN_BYTES = "penstock.plan.max-bytes"
PROMETHEUS_PORT = "penstock.metrics.prometheus.port"
LOG_FORMAT = "penstock.log.format"
TRACES = "penstock.traces.enabled"
STALL_WARNING = "penstock.event-time.stall-warning"
WATERMARK_EVERY_RECORDS = "pipeline.watermark-every-records"
STATE_BACKEND = "state.backend.type"
STATE_DIRECTORY = "state.backend.rocksdb.localdir"
PYTHON_FILES = "python.files"
PYTHON_REQUIREMENTS = "python.requirements"
PYTHON_EXECUTABLE = "python.executable"
SERIES_ROWS = "python.fn-execution.arrow.batch.size"
BUNDLE_ROWS = "python.fn-execution.bundle.size"
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

    `absent` says what happens if it is not set and has no `default`. `former` is an older name from Flink, which works
    too; the current name wins. `field` is the field of `JobSettings` with the value. Without `has_effect` the value is
    only checked, stored and returned.
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
        "Parallelism of operators that set none.",
        absent="number of cores of this machine",
        field="parallelism",
    ),
    Setting(
        MAX_PARALLELISM,
        kinds.KEY_GROUPS,
        "Number of key groups: the highest parallelism the job can ever have.",
        absent="128, more for a high parallelism",
        field="max_parallelism",
    ),
    Setting(
        CHAINING,
        kinds.BOOLEAN,
        "Whether operators without an exchange between them run in one task.",
        True,
        former="pipeline.operator-chaining",
        field="chaining",
    ),
    Setting(
        OBJECT_REUSE,
        kinds.BOOLEAN,
        "Whether objects are passed on and stored in state without copying.",
        False,
        field="object_reuse",
    ),
    Setting(
        WATERMARK_EVERY_RECORDS,
        kinds.POSITIVE,
        "Emit a watermark after this many records of a source split within a batch.",
        50_000,
        field="watermark_every_records",
    ),
    Setting(
        JOB_PARAMETERS,
        kinds.PAIRS,
        "Parameters that functions can read from the runtime context.",
        {},
        absent="none",
        field="job_parameters",
    ),
    Setting(
        AUTO_GENERATED_UIDS,
        kinds.BOOLEAN,
        "Whether operators without a uid get a generated one. If false, each operator needs a uid.",
        True,
        field="auto_generated_uids",
    ),
    Setting(
        GENERIC_TYPES,
        kinds.BOOLEAN,
        "Whether streams may have no declared type. If false, each stream needs one.",
        True,
        field="generic_types",
    ),
    Setting(
        RUNTIME_MODE,
        kinds.one_of("STREAMING", "BATCH", "AUTOMATIC"),
        "Whether results are emitted while input arrives, or once it has ended.",
        "STREAMING",
        field="runtime_mode",
    ),
    Setting(
        EXECUTION_MODE,
        kinds.one_of("micro-batch", "continuous", "auto"),
        "How records flow: in batches, or all the time through tasks that stay; `auto`: continuous where it can run.",
        "micro-batch",
        field="execution_mode",
    ),
    Setting(
        LINGER,
        kinds.DURATION,
        "Continuous mode: how long records wait for others before they are sent on together.",
        absent=f"the buffer timeout, or {LINGER_MS} ms",
        field="linger_ms",
    ),
    Setting(
        BUFFER_TIMEOUT,
        kinds.TIMEOUT,
        f"Flink's name for `{LINGER}`, which counts if both are set. -1 leaves the default.",
        absent=f"{LINGER_MS} ms",
        former="execution.buffer-timeout",
        field="buffer_timeout_ms",
    ),
    Setting(
        WATERMARK_INTERVAL,
        kinds.DURATION,
        "Continuous mode: how often watermarks are emitted; 0 for never. In micro-batches they follow the records.",
        200,
        field="watermark_interval_ms",
    ),
    Setting(
        CHECKPOINT_DIRECTORY,
        kinds.PATH,
        "Where state, positions and unfinished output are stored.",
        absent="a temporary directory, removed with the job",
        former="state.checkpoints.dir",
        field="checkpoint_directory",
    ),
    Setting(
        CHECKPOINT_INTERVAL,
        kinds.POSITIVE_DURATION,
        "Time from the start of one batch to the start of the next; in continuous mode, from barrier to barrier.",
        absent="as soon as the previous batch is done; 1 s in continuous mode",
        field="trigger_interval_ms",
    ),
    Setting(
        CHECKPOINT_MODE,
        kinds.one_of("EXACTLY_ONCE", "AT_LEAST_ONCE"),
        "State is exactly-once with either. Continuous mode: with `AT_LEAST_ONCE`, `execute_and_collect` returns "
        "records as they come; those since the last checkpoint come again after a failure.",
        "EXACTLY_ONCE",
        field="checkpoint_mode",
    ),
    Setting(
        MIN_PAUSE,
        kinds.DURATION,
        "Minimum for the checkpoint interval.",
        0,
        field="min_pause_ms",
    ),
    Setting(
        CHECKPOINT_TIMEOUT,
        kinds.POSITIVE_DURATION,
        "Continuous mode: a checkpoint that takes longer counts as failed.",
        600_000,
        field="checkpoint_timeout_ms",
    ),
    Setting(
        TOLERABLE_FAILURES,
        kinds.NOT_NEGATIVE,
        "Continuous mode: how many checkpoints may fail in a row before the job is restarted.",
        0,
        field="tolerable_checkpoint_failures",
    ),
    Setting(
        RETENTION,
        kinds.one_of("RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
        "DELETE_ON_CANCELLATION empties the checkpoint directory when the job is cancelled; otherwise it stays.",
        "NO_EXTERNALIZED_CHECKPOINTS",
        field="retention",
    ),
    Setting(
        RETAINED,
        kinds.POSITIVE,
        "How many versions to keep in the checkpoint directory.",
        3,
        former="state.checkpoints.num-retained",
        field="retained_versions",
    ),
    Setting(
        SAVEPOINT_DIRECTORY,
        kinds.PATH,
        "Default directory for savepoints.",
        former="state.savepoints.dir",
        field="savepoint_directory",
    ),
    Setting(
        RECOVERY_PATH,
        kinds.PATH,
        "Savepoint, or checkpoint directory of another job, from which a job without its own versions resumes.",
        former="execution.savepoint.path",
        field="recovery_path",
    ),
    Setting(
        IGNORE_UNCLAIMED_STATE,
        kinds.BOOLEAN,
        "Whether to ignore state that belongs to no operator of the job. If false, it is an error.",
        False,
        former="execution.savepoint.ignore-unclaimed-state",
        field="allow_non_restored_state",
    ),
    Setting(
        STATE_BACKEND,
        kinds.BACKEND,
        "Where workers keep state: LMDB or RocksDB on disk, or memory.",
        "lmdb",
        former="state.backend",
        field="state_backend",
    ),
    Setting(
        STATE_DIRECTORY,
        kinds.FIRST_PATH,
        "Directory for the workers' local stores, with any backend. Only the first of a list is used.",
        absent="Spark's scratch directory",
        field="state_directory",
    ),
    Setting(
        RESTART_STRATEGY,
        kinds.RESTARTS,
        "What happens when a job fails; each strategy has its own settings.",
        absent="exponential-delay with a checkpoint interval, otherwise none",
        former="restart-strategy",
    ),
    Setting(FIXED_ATTEMPTS, kinds.POSITIVE, "How often the job is restarted.", 1),
    Setting(FIXED_DELAY, kinds.DURATION, "Delay before each restart.", 1_000),
    Setting(RATE_FAILURES, kinds.POSITIVE, "Failures within the interval after which the job fails permanently.", 1),
    Setting(RATE_INTERVAL, kinds.POSITIVE_DURATION, "Interval in which failures are counted.", 60_000),
    Setting(RATE_DELAY, kinds.DURATION, "Delay before each restart.", 1_000),
    Setting(INITIAL_BACKOFF, kinds.POSITIVE_DURATION, "First delay.", 1_000),
    Setting(MAX_BACKOFF, kinds.POSITIVE_DURATION, "Longest delay.", 60_000),
    Setting(BACKOFF_MULTIPLIER, kinds.NUMBER, "Factor by which each delay is longer than the previous one.", 1.5),
    Setting(BACKOFF_RESET, kinds.POSITIVE_DURATION, "Time without failures after which the delay is reset.", 3_600_000),
    Setting(JITTER, kinds.NUMBER, "Share by which delays vary randomly.", 0.0),
    Setting(
        ATTEMPTS_BEFORE_RESET,
        kinds.POSITIVE,
        "Number of restarts after which the job fails permanently, unless the delay was reset.",
        absent="no limit",
    ),
    Setting(
        CANCELLATION_TIMEOUT,
        kinds.DURATION,
        "How long a job that is stopping may make no progress before it is abandoned; 0 waits forever.",
        180_000,
        field="cancellation_timeout_ms",
    ),
    Setting(
        MAX_RECORDS_PER_BATCH,
        kinds.POSITIVE,
        "Maximum number of records per batch from Penstock's own sources.",
        500_000,
        field="max_records_per_batch",
    ),
    Setting(
        MAX_BYTES_PER_BATCH,
        kinds.MEMORY,
        "Maximum number of bytes per batch, for sources that count bytes (Kafka).",
        256 * 1024 * 1024,
        field="max_bytes_per_batch",
    ),
    Setting(
        TARGET_BATCH_TIME,
        kinds.DURATION,
        "A batch reads what it can process in this time; 0 means as much as allowed.",
        10_000,
        field="target_batch_ms",
    ),
    Setting(
        MIN_BATCH_INTERVAL,
        kinds.DURATION,
        "A batch that took all there was begins this long after the one before, so a quiet job costs little; 0 for as "
        "soon as the previous batch is done. Timers that are due do not wait. On Spark, where no checkpoint interval "
        "is set and Penstock reads all sources.",
        500,
        field="min_batch_interval_ms",
    ),
    Setting(
        MAX_PLAN_BYTES,
        kinds.MEMORY,
        "Maximum size of the data that the functions of a job reference; it is sent to every worker.",
        64 * 1024 * 1024,
        field="max_plan_bytes",
    ),
    Setting(
        PROMETHEUS_PORT,
        kinds.PORTS,
        "Port on this machine where Prometheus reads the job's metrics, at `/metrics`; of a range such as 9249-9260, "
        "the first that is free. Without it there is no such page.",
        absent="none",
        field="prometheus_ports",
    ),
    Setting(
        LOG_FORMAT,
        kinds.LOG_FORMAT,
        "What Penstock logs: `text` goes where the program's logging sends it, `json` goes to standard error as one "
        "JSON object a line.",
        "text",
        field="log_format",
    ),
    Setting(
        TRACES,
        kinds.BOOLEAN,
        "Send a trace of every version to OpenTelemetry; see [Metrics](metrics.md#traces).",
        False,
        field="is_traced",
    ),
    Setting(
        STALL_WARNING,
        kinds.DURATION,
        "If event time stands still for so long while records wait for it, the log names the input that holds it "
        "back; `penstock list` and the dashboard name it too. 0 turns this off; see "
        "[Nothing comes out](nothing_comes_out.md).",
        15_000,
        field="stall_warning_ms",
    ),
    Setting(
        TWO_PHASE,
        kinds.TWO_PHASE_MODE,
        "Which windows aggregate before the shuffle; auto means those where it is always safe.",
        "auto",
        field="two_phase",
    ),
    Setting(
        FAST_START,
        kinds.BOOLEAN,
        "Whether to use Penstock's optimizations of Spark's start. If false, Spark starts on its own.",
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
    Setting(ENGINE, kinds.ENGINE_NAME, "What runs the job: Spark, or this process.", "spark", field="engine"),
    Setting(
        SEED,
        kinds.WHOLE,
        "In process: seed for the choices that are random on a cluster.",
        absent="a new seed for each run",
        field="seed",
    ),
    Setting(
        SPARK_MASTER,
        kinds.PATH,
        "Spark master to run on. All other spark.* keys go to Spark unchanged.",
        absent="Spark's own configuration, otherwise this machine",
        field="spark_master",
    ),
    Setting(
        PYTHON_FILES,
        kinds.LIST,
        "Files and folders that workers can import.",
        (),
        absent="none",
        field="python_files",
    ),
    Setting(
        PYTHON_REQUIREMENTS,
        kinds.PATH,
        "Requirements file whose packages are installed first; `file#folder` installs from a folder of wheels.",
        absent="none",
        field="python_requirements",
    ),
    Setting(PYTHON_EXECUTABLE, kinds.NAME, "Python executable of the workers.", absent="this Python"),
    Setting(
        SERIES_ROWS, kinds.POSITIVE, "Rows that a pandas function of a table gets at once, at most.", absent="no limit"
    ),
    Setting(BUNDLE_ROWS, kinds.POSITIVE, f"As `{SERIES_ROWS}`; the smaller one counts.", absent="no limit"),
    Setting(
        MAX_CONCURRENT,
        kinds.POSITIVE,
        "No effect: a checkpoint starts when the previous one is final.",
        1,
        has_effect=False,
    ),
    Setting(
        UNALIGNED,
        kinds.BOOLEAN,
        "No effect: checkpoints are always aligned, and little is under way.",
        False,
        former="execution.checkpointing.unaligned",
        has_effect=False,
    ),
    Setting(
        FORCE_UNALIGNED,
        kinds.BOOLEAN,
        "No effect: checkpoints are always aligned, and little is under way.",
        False,
        former="execution.checkpointing.force-unaligned",
        has_effect=False,
    ),
    Setting(
        ALIGNMENT_TIMEOUT,
        kinds.DURATION,
        "No effect: checkpoints are always aligned, and little is under way.",
        0,
        former="execution.checkpointing.alignment-timeout",
        has_effect=False,
    ),
    Setting(
        CHANGELOG,
        kinds.BOOLEAN,
        "No effect: checkpoints always contain changes, with a snapshot now and then.",
        has_effect=False,
    ),
)

SETTINGS: dict[str, Setting] = {setting.key: setting for setting in _TABLE}
"""All settings by key, in the order in which they are shown."""

KEPT_CHECKPOINT_SETTINGS = (
    MAX_CONCURRENT,
    UNALIGNED,
    FORCE_UNALIGNED,
    ALIGNMENT_TIMEOUT,
)
"""Checkpoint settings that are stored and returned, without effect."""
