"""`JobExecutionResult`: the result of a finished job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.job_id import JobID

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """Identity, run time and accumulators (final metric values) of a finished job."""

    def __init__(self, job_id: JobID, net_runtime_ms: int = 0, accumulators: Mapping[str, Any] | None = None) -> None:
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """Return the job's identity."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """Return how long the job ran, in milliseconds."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the value of an accumulator, None if there is none of that name."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return all accumulators by name."""
        return dict(self._accumulators)

    def __repr__(self) -> str:
        return f"JobExecutionResult({self._job_id}, {self._net_runtime_ms} ms)"
