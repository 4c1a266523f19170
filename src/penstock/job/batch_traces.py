"""OpenTelemetry traces of versions: a span for each, with work, seal and publication as its parts. Off unless asked
for.

The spans go to the tracer provider that the program has set, or to the one that OpenTelemetry's own variables describe.
"""

from __future__ import annotations

from penstock.errors import ConfigurationError
from penstock.job.journal import VersionRecord

_NANOS = 1_000_000


class BatchTraces:
    """Makes the spans of a job's versions."""

    def __init__(self, job_id: str, job_name: str) -> None:
        """Find the tracer; without OpenTelemetry this is a `ConfigurationError`."""
        try:
            from opentelemetry import trace
        except ImportError:
            raise ConfigurationError(
                "penstock.traces.enabled needs OpenTelemetry: pip install 'penstock[traces]'"
            ) from None
        self._trace = trace
        self._tracer = trace.get_tracer("penstock")
        self._job = {"job.id": job_id, "job.name": job_name}

    def on_version(self, record: VersionRecord) -> None:
        """Tell of a version, with the times that it had."""
        times = record.times
        began = times.began_ms * _NANOS
        ends = [began]
        for part in (times.work_ms, times.seal_ms, times.publish_ms):
            ends.append(ends[-1] + part * _NANOS)
        facts: dict[str, str | int] = {
            **self._job,
            "version": record.version,
            "records": record.records,
            "state_bytes": record.state_bytes,
            "written_bytes": record.written_bytes,
        }
        attributes = {_named(name): value for name, value in facts.items()}
        batch = self._tracer.start_span(_named("version"), start_time=began, attributes=attributes)
        within = self._trace.set_span_in_context(batch)
        for name, start, end in zip(("work", "seal", "publish"), ends, ends[1:], strict=False):
            self._tracer.start_span(_named(name), context=within, start_time=start).end(end_time=end)
        batch.end(end_time=ends[-1])


def _named(name: str) -> str:
    """A name of ours, as OpenTelemetry tells those of different systems apart."""
    return f"penstock.{name}"
