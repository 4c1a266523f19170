"""Figures of jobs for Prometheus: made of the documents that jobs tell of themselves, when they are asked for.

Nothing is counted here, so it costs a job nothing but the document. `JobCollector` is for a registry of
prometheus-client, `exposition` gives the text of a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from penstock.errors import ConfigurationError

Document = Mapping[str, Any]
"""A job's document; see `penstock.job.document`."""

# Figures of operators that Penstock counts itself: name here, factor, help. What is not here is the user's.
_COUNTERS: dict[str, tuple[str, float, str]] = {
    "records_in": ("penstock_records_in", 1, "Records that came in; of a source, records that it read."),
    "records_out": ("penstock_records_out", 1, "Records that were sent on."),
    "side_records_out": ("penstock_side_records_out", 1, "Records that were sent to side outputs."),
    "column_records": ("penstock_column_records", 1, "Records that an operator with both forms worked on as columns."),
    "row_records": ("penstock_row_records", 1, "Records that an operator with both forms worked on one by one."),
    "numLateRecordsDropped": ("penstock_late_records_dropped", 1, "Records that came too late and went nowhere."),
    "bytes_in": ("penstock_bytes_in", 1, "Bytes that a source read."),
    "bad_records": ("penstock_bad_records", 1, "Records that could not be decoded and were left out."),
    "failed_records": ("penstock_failed_records", 1, "Records that a sink could not deliver."),
    "busy_ms": ("penstock_busy_seconds", 0.001, "Time in which the subtask worked."),
    "idle_ms": ("penstock_idle_seconds", 0.001, "Continuous mode: time in which the task waited for input."),
    "backpressured_ms": (
        "penstock_backpressured_seconds",
        0.001,
        "Time in which a source had more than was taken, or a task of continuous mode waited for those behind it.",
    ),
}
_GAUGES: dict[str, tuple[str, float, str]] = {
    "pending_records": ("penstock_source_pending_records", 1, "Records that wait in all partitions of the source."),
    "alignment_ms": (
        "penstock_checkpoint_alignment_seconds",
        0.001,
        "Continuous mode: how long the first barrier of the last checkpoint waited for the others.",
    ),
    "batch_limit": ("penstock_source_batch_limit", 1, "Records that the next batch may take."),
    "watermarkAlignmentDrift": (
        "penstock_source_watermark_alignment_drift_seconds",
        0.001,
        "How far the fastest split of the source is ahead of the slowest of its watermark group.",
    ),
    "paused_splits": ("penstock_source_paused_splits", 1, "Splits that wait for slower ones of their watermark group."),
}
_LAG = "lag."
_OF_DRIVER = ("backpressured_ms", "batch_limit", "watermarkAlignmentDrift", "paused_splits")
"""Figures of sources that the driver counts, for the operator as a whole."""
# Not `job`, which is Prometheus's own name for what it reads.
_OPERATOR_LABELS = ["job_name", "job_id", "operator_name", "uid", "subtask_index"]
_JOB_LABELS = ["job_name", "job_id"]
_WHOLE_OPERATOR = ""  # the subtask of figures that belong to an operator as a whole


class JobCollector:
    """Collects the figures of the jobs whose documents `documents` gives each time."""

    def __init__(self, documents: Callable[[], Iterable[Document]]) -> None:
        """Ask for nothing yet."""
        self._documents = documents

    def collect(self) -> Iterator[Any]:
        """Return the metric families of prometheus-client."""
        families = _Families()
        for document in self._documents():
            _add_job(families, document)
            _add_operators(families, document)
        return iter(families.made.values())

    def describe(self) -> list[Any]:
        """Return nothing: what there is depends on the jobs."""
        return []


def exposition(documents: Iterable[Document]) -> tuple[bytes, str]:
    """Return the page that Prometheus reads, and the type of its content."""
    client = library()
    registry = client.CollectorRegistry()
    registry.register(JobCollector(lambda: documents))
    return client.generate_latest(registry), client.CONTENT_TYPE_LATEST


def library() -> Any:
    """The library prometheus-client; it is an extra."""
    try:
        import prometheus_client.core
    except ImportError:
        raise ConfigurationError(
            "metrics for Prometheus need prometheus-client: pip install 'penstock[server]'"
        ) from None
    return prometheus_client


class _Families:
    """Metric families by name, each made when its first sample comes."""

    def __init__(self) -> None:
        self._core = library().core
        self.made: dict[str, Any] = {}

    def counter(self, name: str, text: str, labels: dict[str, str], value: float) -> None:
        self._family(self._core.CounterMetricFamily, name, text, labels).add_metric([*labels.values()], value)

    def gauge(self, name: str, text: str, labels: dict[str, str], value: float) -> None:
        self._family(self._core.GaugeMetricFamily, name, text, labels).add_metric([*labels.values()], value)

    def histogram(self, name: str, text: str, labels: dict[str, str], buckets: list[Any], total: float) -> None:
        family = self._family(self._core.HistogramMetricFamily, name, text, labels)
        family.add_metric([*labels.values()], buckets, total)

    def _family(self, kind: Any, name: str, text: str, labels: dict[str, str]) -> Any:
        if name not in self.made:
            self.made[name] = kind(name, text, labels=list(labels))
        return self.made[name]


def _add_job(families: _Families, document: Document) -> None:
    labels = dict(zip(_JOB_LABELS, (document["name"], document["id"]), strict=True))
    progress, checkpoints = document["progress"], document["checkpoints"]
    is_running = document["status"] == "RUNNING"
    failures = progress["restarts"] + (document["status"] == "FAILED")
    uptime = 0 if document["ended_ms"] is not None else (document["now_ms"] - document["started_ms"]) / 1000
    gauge, counter = families.gauge, families.counter
    gauge("penstock_job_running", "1 if the job runs, 0 if it restarts, stops or has ended.", labels, is_running)
    gauge("penstock_job_uptime_seconds", "Time since the job was started in its process.", labels, uptime)
    counter(
        "penstock_job_restarts", "How often the job was started again after a failure.", labels, progress["restarts"]
    )
    counter("penstock_job_failures", "How often the job failed, whether it was started again or not.", labels, failures)
    rate = progress["records_per_second"]
    gauge("penstock_job_records_per_second", "Records that the sources read, in the last batch.", labels, rate)
    if progress["watermark"] is not None and document["ended_ms"] is None:
        lag = (document["now_ms"] - progress["watermark"]) / 1000
        gauge("penstock_job_watermark_lag_seconds", "How far event time of the sources is behind now.", labels, lag)
    waited_for = [each for each in progress.get("event_time_holders") or () if not each["is_quiet"]]
    stalled = max((each["stalled_ms"] for each in waited_for), default=0) / 1000
    text = "How long event time has stood still while records wait for it; 0 if it moves."
    gauge("penstock_job_event_time_stalled_seconds", text, labels, stalled)
    if progress["pace"] is not None:
        share = progress["pace"]["backpressured"]
        gauge("penstock_job_backpressured_ratio", "Share of the time in which sources had to wait.", labels, share)
    _add_checkpoints(families, labels, checkpoints)
    if "latency" in document:
        latency = document["latency"]
        buckets = [(bound, count) for bound, count in latency["buckets"]]
        text = "Time from the reading of records until their results are published."
        families.histogram("penstock_job_latency_seconds", text, labels, buckets, latency["sum"])


def _add_checkpoints(families: _Families, labels: dict[str, str], told: Mapping[str, Any]) -> None:
    families.counter("penstock_checkpoints", "Versions that were made final.", labels, told["completed"])
    failed = sum(each["path"] is None for each in told["savepoints"])
    families.gauge("penstock_savepoints_failed", "Of the last savepoints, those that failed.", labels, failed)
    if not told["history"]:
        return
    last, gauge = told["history"][0], families.gauge
    gauge("penstock_checkpoint_last_version", "The newest version.", labels, last["version"])
    sealed = last["sealed_ms"] / 1000
    gauge("penstock_checkpoint_last_timestamp_seconds", "When the newest version was made final.", labels, sealed)
    gauge("penstock_checkpoint_last_state_bytes", "State of the newest version, on disk.", labels, last["state_bytes"])
    gauge("penstock_checkpoint_last_written_bytes", "What was written for it.", labels, last["written_bytes"])
    for phase in ("work", "seal", "publish"):
        text = "How long the newest version took: work of the tasks, seal, publication."
        seconds = last[f"{phase}_ms"] / 1000
        gauge("penstock_checkpoint_last_duration_seconds", text, {**labels, "phase": phase}, seconds)


def _add_operators(families: _Families, document: Document) -> None:
    now_ms, has_ended = document["now_ms"], document["ended_ms"] is not None
    for vertex in document["plan"]:
        names = {each["uid"]: _bare(each["name"]) for each in vertex["operators"]}
        head = vertex["operators"][0]["uid"]
        for subtask in document["subtasks"].get(vertex["id"], []):
            at = _labels(document, names[head], head, str(subtask["subtask"]))
            families.gauge("penstock_state_bytes", "State of the subtask, on disk.", at, subtask["state_bytes"])
            if subtask["watermark"] is not None and not has_ended:
                _add_watermark(families, at, subtask["watermark"], now_ms)
            for uid, figures in subtask["figures"].items():
                _add_figures(families, _labels(document, names.get(uid, uid), uid, at["subtask_index"]), figures)
    for name, figures in document["metrics"].items():
        uid = figures.get("uid")
        waiting = {key: figures[key] for key in _OF_DRIVER if key in figures}
        if uid is not None:
            _add_figures(families, _labels(document, name, uid, _WHOLE_OPERATOR), waiting)


def _add_watermark(families: _Families, labels: dict[str, str], watermark_ms: int, now_ms: int) -> None:
    families.gauge("penstock_watermark_timestamp_seconds", "Event time of the subtask.", labels, watermark_ms / 1000)
    lag = (now_ms - watermark_ms) / 1000
    families.gauge("penstock_watermark_lag_seconds", "How far event time is behind now.", labels, lag)


def _add_figures(families: _Families, labels: dict[str, str], figures: Mapping[str, float]) -> None:
    for name, value in figures.items():
        if name in _COUNTERS:
            told, factor, text = _COUNTERS[name]
            families.counter(told, text, labels, value * factor)
        elif name in _GAUGES:
            told, factor, text = _GAUGES[name]
            families.gauge(told, text, labels, value * factor)
        elif name.startswith(_LAG):
            text = "Records of the partition behind the last batch."
            families.gauge("penstock_source_lag_records", text, {**labels, "partition": name[len(_LAG) :]}, value)
        else:
            # A counter of a user may go down, so all of them are gauges, as in Flink's reporter.
            families.gauge(f"penstock_user_{_safe(name)}", f"{name}, of a user function.", labels, value)


def _labels(document: Document, operator: str, uid: str, subtask: str) -> dict[str, str]:
    values = (document["name"], document["id"], operator, uid, subtask)
    return dict(zip(_OPERATOR_LABELS, values, strict=True))


def _bare(name: str) -> str:
    return name.removeprefix("Source: ").removeprefix("Sink: ")


def _safe(name: str) -> str:
    """A name as Prometheus takes it: letters, digits and underscores."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)
