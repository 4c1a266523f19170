"""Flink's configuration keys that have nothing to act on here, and why.

A program that was written for Flink may carry any of them. They are accepted; whoever asks for something that does not
happen is told so, once for each key, and why.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from typing import Any

from penstock.common.no_effect import level_of_program
from penstock.graph import declared_settings as keys
from penstock.graph.declared_settings import SETTINGS
from penstock.graph.settings import JobSettings

ALWAYS_ALIGNED = (
    "checkpoints are always aligned; a barrier cannot overtake rows in Spark's shuffle, but so little is under way "
    "there that it does not wait long"
)
ONE_AT_A_TIME = "a batch, and so a checkpoint, starts when the previous one is final"
_ALWAYS_INCREMENTAL = "checkpoints always contain changes, with a snapshot now and then"
_OWN_FILES = "state files have their own format, always compressed, one per subtask and batch"
_LOCAL_COPY = "every worker keeps its store as a local copy anyway"
_AFTER_SOURCES_END = "the batch in which a source ends is a checkpoint like any other"
_SPARK_RUNS_IT = "Spark runs the job; use the matching spark.* setting"
_NO_JAVA = "Penstock runs no Java operators; for jars that Spark needs set spark.jars or spark.jars.packages"
_OWN_DIRECTORY = "every job uses its own checkpoint directory directly"
_IN_THE_DIRECTORY = "checkpoints are always kept in the checkpoint directory"
_NEVER_CLAIMED = "the state that a job started from is never changed or deleted"
_OWN_ENCODING = "values are encoded by their declared types, and pickled if they have none"
_IN_BLOCKS = "records travel in blocks, within one batch"
_FALSE = ("false",)
_CHECKPOINTING = "execution.checkpointing."

# Key or, with a dot at the end, beginning of keys: values that ask for nothing else than what happens, and the reason.
_WITHOUT_EFFECT: dict[str, tuple[tuple[str, ...], str]] = {
    _CHECKPOINTING + "max-concurrent-checkpoints": (("1",), ONE_AT_A_TIME),
    _CHECKPOINTING + "unaligned": (_FALSE, ALWAYS_ALIGNED),
    _CHECKPOINTING + "unaligned.": (_FALSE, ALWAYS_ALIGNED),
    _CHECKPOINTING + "force-unaligned": (_FALSE, ALWAYS_ALIGNED),
    _CHECKPOINTING + "aligned-checkpoint-timeout": ((), ALWAYS_ALIGNED),
    _CHECKPOINTING + "alignment-timeout": ((), ALWAYS_ALIGNED),
    _CHECKPOINTING + "checkpoints-after-tasks-finish": (("true",), _AFTER_SOURCES_END),
    _CHECKPOINTING + "checkpoints-after-tasks-finish.enabled": (("true",), _AFTER_SOURCES_END),
    _CHECKPOINTING + "cleaner.": ((), "old versions are removed by the driver, after each batch"),
    _CHECKPOINTING + "create-subdir": (_FALSE, _OWN_DIRECTORY),
    _CHECKPOINTING + "data-inline-threshold": ((), _OWN_FILES),
    _CHECKPOINTING + "during-recovery.": (_FALSE, "a resumed job starts with the state of its last batch"),
    _CHECKPOINTING + "file-merging.": (_FALSE, _OWN_FILES),
    _CHECKPOINTING + "incremental": (("true",), _ALWAYS_INCREMENTAL),
    _CHECKPOINTING + "interval-during-backlog": ((), "the interval does not depend on the backlog of a source"),
    _CHECKPOINTING + "local-backup.": ((), _LOCAL_COPY),
    _CHECKPOINTING + "pause-sources-until-first-checkpoint": (_FALSE, "nothing is read between two checkpoints"),
    _CHECKPOINTING + "snapshot-compression": (("true",), _OWN_FILES),
    _CHECKPOINTING + "storage": (("filesystem",), _IN_THE_DIRECTORY),
    _CHECKPOINTING + "write-buffer-size": ((), _OWN_FILES),
    "state.checkpoint-storage": (("filesystem",), _IN_THE_DIRECTORY),
    "state.checkpoints.create-subdir": (_FALSE, _OWN_DIRECTORY),
    "state.storage.fs.": ((), _OWN_FILES),
    "state.backend.incremental": (("true",), _ALWAYS_INCREMENTAL),
    "state.backend.changelog.": ((), _ALWAYS_INCREMENTAL),
    "state.backend.local-recovery": ((), _LOCAL_COPY),
    "state.backend.rocksdb.": ((), "Penstock uses its own settings for RocksDB"),
    "execution.state-recovery.claim-mode": (("no_claim",), _NEVER_CLAIMED),
    "execution.savepoint-restore-mode": (("no_claim",), _NEVER_CLAIMED),
    "execution.state-recovery.from-local": ((), _LOCAL_COPY),
    "execution.buffer-timeout.enabled": (("true",), "records never wait longer than for the buffer timeout"),
    "pipeline.jars": ((), _NO_JAVA),
    "pipeline.classpaths": ((), _NO_JAVA),
    "pipeline.closure-cleaner-level": ((), "Python closures are never cleaned"),
    "pipeline.force-avro": (_FALSE, _OWN_ENCODING),
    "pipeline.force-kryo": (_FALSE, _OWN_ENCODING),
    "metrics.latency.": (("0",), "records travel in blocks and carry no markers"),
    "task.cancellation.": ((), _SPARK_RUNS_IT),
    "python.execution-mode": (("process",), "Python functions always run in worker processes of Spark"),
    "python.fn-execution.": ((), "records travel in blocks; see penstock.batch.* for the size of a batch"),
    "taskmanager.": ((), _SPARK_RUNS_IT),
    "jobmanager.": ((), _SPARK_RUNS_IT),
    "slotmanager.": ((), _SPARK_RUNS_IT),
    "resourcemanager.": ((), _SPARK_RUNS_IT),
    "high-availability.": ((), _SPARK_RUNS_IT),
    "kubernetes.": ((), _SPARK_RUNS_IT),
    "yarn.": ((), _SPARK_RUNS_IT),
}
_CONTINUOUS_ONLY = {
    keys.CHECKPOINT_TIMEOUT: "a checkpoint is the end of a batch; limit batches with penstock.batch.max-records",
    keys.TOLERABLE_FAILURES: "a failed batch must run again; the restart strategy decides how often",
    keys.LINGER: _IN_BLOCKS,
    keys.BUFFER_TIMEOUT: _IN_BLOCKS,
    keys.WATERMARK_INTERVAL: "watermarks follow the records; set pipeline.watermark-every-records instead",
}
"""Settings that act in continuous mode, and why they do not in micro-batches."""

# Here every key is Flink's or ours: one that nobody knows is most likely misspelt.
_FAMILIES = ("execution.", "state.", "pipeline.", "python.", "parallelism.", "restart-strategy")
_WITH_EFFECT = {
    name
    for setting in SETTINGS.values()
    if setting.has_effect and not setting.key.startswith("penstock.")
    for name in (setting.key, setting.former)
    if name is not None
}


def warn_of_unused(told: Mapping[str, Any]) -> None:
    """Warn of each key that asks for what does not happen."""
    for key in sorted(told):
        text = None if key in _WITH_EFFECT else _complaint(key, told[key])
        if text is not None:
            warnings.warn(text, stacklevel=level_of_program())


def warn_of_mode(settings: JobSettings) -> None:
    """Warn of each setting that has no effect in the mode of a job."""
    if settings.execution_mode != "micro-batch":
        return
    for key, reason in _CONTINUOUS_ONLY.items():
        setting = SETTINGS[key]
        assert setting.field is not None, f"{key} is read by jobs"
        if getattr(settings, setting.field) != setting.default:
            text = f"configuration key {key!r} has no effect in micro-batches: {reason}."
            warnings.warn(text, stacklevel=level_of_program())


def keys_of_nobody(told: Mapping[str, Any]) -> list[str]:
    """Keys that only the program itself can read: neither Penstock nor Spark knows them, nor do they warn."""
    return [
        key
        for key in sorted(told)
        if key not in _WITH_EFFECT
        and not key.startswith(("spark.", "penstock."))
        and _complaint(key, told[key]) is None
        and _entry_of(key) is None
    ]


def _complaint(key: str, value: Any) -> str | None:
    entry = _entry_of(key)
    if entry is not None:
        as_is, reason = entry
        is_so_anyway = str(value).strip().lower() in as_is
        return None if is_so_anyway else f"configuration key {key!r} has no effect: {reason}."
    close = difflib.get_close_matches(key, _WITH_EFFECT, n=1, cutoff=0.85)
    if not close and not key.startswith(_FAMILIES):
        return None  # a key of the program's own
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"configuration key {key!r} has no effect: Penstock does not know it{hint}"


def _entry_of(key: str) -> tuple[tuple[str, ...], str] | None:
    beginnings = (entry for name, entry in _WITHOUT_EFFECT.items() if name.endswith(".") and key.startswith(name))
    return _WITHOUT_EFFECT.get(key) or next(beginnings, None)
