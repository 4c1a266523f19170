"""What a job is watched by from outside, as its settings ask for: Prometheus, JSON log lines, traces, event time."""

from __future__ import annotations

from penstock.job.batch_traces import BatchTraces
from penstock.job.document import job_document
from penstock.job.engine_contract import Job
from penstock.job.event_time_watch import watch_event_time
from penstock.job.json_log import log_as_json
from penstock.job.metrics_endpoint import serve_metrics


def observe(job: Job) -> None:
    """Set up what is asked for, before the job starts; what cannot be is refused."""
    settings = job.settings
    if settings.log_format == "json":
        log_as_json(job.job_id, settings.job_name)
    if settings.is_traced:
        job.statistics.traces = BatchTraces(job.job_id, settings.job_name)
    watch_event_time(job)
    serve_metrics(settings.prometheus_ports, lambda: job_document(job), job.ended, settings.job_name)
