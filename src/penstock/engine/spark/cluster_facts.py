"""What Spark says of the cluster that a job runs on: driver and executors, and where Spark's own pages are."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

_FRESH_SECONDS = 5.0
"""Asking Java costs some milliseconds, and pages ask often."""


class ClusterFacts:
    """Asks Spark, and remembers the answer for a few seconds; from any thread."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._found: dict[str, Any] = {
            "engine": "spark",
            "version": session.version,
            "master": session.sparkContext.master,
            "application_id": session.sparkContext.applicationId,
            "web_url": None,
            "workers": [],
        }
        self._asked = 0.0

    def now(self) -> dict[str, Any]:
        """What is known; what was known last if Java is gone."""
        with self._lock:
            if time.monotonic() - self._asked > _FRESH_SECONDS:
                self._asked = time.monotonic()
                # py4j raises many kinds of errors when its process has died; the job tells of that itself.
                with suppress(Exception):
                    self._found |= {"web_url": self._session.sparkContext.uiWebUrl, "workers": _workers(self._session)}
            return dict(self._found)


def _workers(session: SparkSession) -> list[dict[str, Any]]:
    java: Any = session.sparkContext._jsc
    found = java.sc().statusStore().executorList(True)
    return [_worker(found.apply(index)) for index in range(found.size())]


def _worker(summary: Any) -> dict[str, Any]:
    return {
        "id": str(summary.id()),
        "host": str(summary.hostPort()),
        "cores": int(summary.totalCores()),
        "active_tasks": int(summary.activeTasks()),
        "failed_tasks": int(summary.failedTasks()),
        "completed_tasks": int(summary.completedTasks()),
        "memory_bytes": int(summary.maxMemory()),
        "memory_used_bytes": int(summary.memoryUsed()),
        "gc_ms": int(summary.totalGCTime()),
        "shuffle_read_bytes": int(summary.totalShuffleRead()),
        "shuffle_write_bytes": int(summary.totalShuffleWrite()),
        "started_ms": int(summary.addTime().getTime()),
    }
