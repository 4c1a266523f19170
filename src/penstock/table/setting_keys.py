"""The keys `table.*` that Penstock reads, those of Flink that have no effect here, and warnings of all others."""

from __future__ import annotations

import difflib
import warnings

__all__ = ["KEYS", "warn_of_unused_key"]

KEYS = {
    "table.dml-sync": "whether the SQL shell waits for the end of an INSERT",
    "table.exec.async-lookup.buffer-capacity": "how many asynchronous lookups a subtask has under way",
    "table.exec.async-lookup.output-mode": "ORDERED, or ALLOW_UNORDERED: results of lookups as they come",
    "table.exec.async-lookup.timeout": "how long an asynchronous lookup may take",
    "table.exec.async-scalar.buffer-capacity": "the older name of max-concurrent-operations",
    "table.exec.async-scalar.max-attempts": "how often a call of an asynchronous function is tried",
    "table.exec.async-scalar.max-concurrent-operations": "how many calls of asynchronous functions are under way",
    "table.exec.async-scalar.retry-delay": "how long to wait before a call is tried again",
    "table.exec.async-scalar.retry-strategy": "FIXED_DELAY, or NO_RETRY: calls that fail are not tried again",
    "table.exec.async-scalar.timeout": "how long a call of an asynchronous function may take",
    "table.exec.mini-batch.enabled": "whether changes of a key within a mini-batch become one",
    "table.exec.mini-batch.size": "how many rows a mini-batch has at most",
    "table.exec.sink.nested-constraint-enforcer": "whether constraints count inside of rows and collections too",
    "table.exec.sink.not-null-enforcer": "ERROR or DROP: what becomes of a NULL for a NOT NULL column",
    "table.exec.sink.require-on-conflict": "whether INSERT must say what happens to rows of one primary key",
    "table.exec.sink.type-length-enforcer": "IGNORE, TRIM_PAD or ERROR: texts that are too long or too short",
    "table.exec.sink.upsert-materialize": "AUTO, NONE or FORCE: whether changes are put in order before a sink",
    "table.exec.source.cdc-events-duplicate": "whether a source of changes may repeat some",
    "table.exec.source.idle-timeout": "after how long without rows a source no longer holds up event time",
    "table.exec.state.ttl": "after how long state that nobody touches goes",
    "table.local-time-zone": "the time zone of the session",
    "table.optimizer.agg-phase-strategy": "AUTO, TWO_PHASE or ONE_PHASE: whether windows aggregate before the exchange",
    "table.optimizer.non-deterministic-update.strategy": "IGNORE or TRY_RESOLVE: changes after lookups",
    "table.optimizer.reuse-optimize-block-with-digest-enabled": "whether what INSERTs share is planned once",
    "table.optimizer.reuse-source-enabled": "whether a table that several queries of a job read is read once",
    "table.optimizer.reuse-sub-plan-enabled": "whether what several queries of a job compute is computed once",
}
"""What is read, and what it says."""

_BY_PLAN = "the planner decides by the query alone"
_BY_BATCH = "a mini-batch ends with its batch, or when it is full"
_SPARK_RUNS_IT = "Spark runs the job; set its parallelism, or what Spark has for it as spark.*"
_PYTHON = "expressions are Python, and no code is generated in Java"
_WITHOUT_EFFECT = {
    "table.exec.mini-batch.allow-latency": _BY_BATCH,
    "table.exec.resource.": _SPARK_RUNS_IT,
    "table.exec.spill-": _SPARK_RUNS_IT,
    "table.exec.shuffle-mode": _SPARK_RUNS_IT,
    "table.generated-code.": _PYTHON,
    "table.optimizer.": _BY_PLAN,
    "table.plan.": "plans are not kept; an unchanged query finds its state again by itself",
}
_HARMLESS = ("table.generated-code.max-length", "table.sql-dialect")
"""Asked for by methods of PyFlink's TableConfig, which say what they do."""


def warn_of_unused_key(key: str) -> None:
    """Warn of a key of tables that has no effect, with the reason, or with the key that was meant."""
    if not key.startswith("table.") or key in KEYS or key in _HARMLESS:
        return
    beginnings = (reason for name, reason in _WITHOUT_EFFECT.items() if key.startswith(name))
    reason = next(beginnings, None)
    close = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.85)
    if close:
        reason = f"Penstock does not know it; did you mean {close[0]!r}?"
    text = f"configuration key {key!r} has no effect: {reason or 'Penstock does not know it.'}"
    warnings.warn(text if text.endswith(("?", ".")) else f"{text}.", stacklevel=3)
