"""Task managers: the executors of Spark that jobs run on. A driver that does the work itself counts as one."""

from __future__ import annotations

from typing import Any

from penstock.errors import JobNotFoundError
from penstock.server.flink.states import is_over
from penstock.server.job_views import Document

_MEMORY_FIELDS = (
    "frameworkHeap", "taskHeap", "frameworkOffHeap", "taskOffHeap", "networkMemory", "managedMemory", "jvmMetaspace",
    "jvmOverhead", "totalFlinkMemory", "totalProcessMemory",
)  # fmt: skip
_METRIC_FIELDS = (
    "heapUsed", "heapCommitted", "heapMax", "nonHeapUsed", "nonHeapCommitted", "nonHeapMax", "directCount",
    "directUsed", "directMax", "mappedCount", "mappedUsed", "mappedMax", "memorySegmentsAvailable",
    "memorySegmentsTotal", "nettyShuffleMemorySegmentsAvailable", "nettyShuffleMemorySegmentsUsed",
    "nettyShuffleMemorySegmentsTotal", "nettyShuffleMemoryAvailable", "nettyShuffleMemoryUsed",
    "nettyShuffleMemoryTotal",
)  # fmt: skip


def workers(documents: list[Document]) -> list[dict[str, Any]]:
    """/taskmanagers, of all jobs that run."""
    return [each for document in documents if not is_over(document) for each in workers_of(document)]


def workers_of(document: Document) -> list[dict[str, Any]]:
    """Those of one job. Ids begin with that of the job: two jobs have executors of the same names."""
    executors = [each for each in document["cluster"]["workers"] if each["id"] != "driver"]
    found = executors or document["cluster"]["workers"] or [_driver(document)]
    return [_worker(document, each) for each in found]


def _driver(document: Document) -> dict[str, Any]:
    return {"id": "driver", "host": document["process"]["host"], "cores": 1, "active_tasks": 0, "memory_bytes": 0}


def _worker(document: Document, worker: dict[str, Any]) -> dict[str, Any]:
    cores, busy = max(1, worker["cores"]), worker["active_tasks"]
    memory = worker["memory_bytes"]
    resource = {"cpuCores": float(cores), "taskHeapMemory": memory >> 20, "taskOffHeapMemory": 0, "managedMemory": 0}
    resource = {**resource, "networkMemory": 0, "extendedResources": {}}
    return {
        "id": f"{document['id'][:8]}-{worker['id']}",
        "path": f"{worker['host']} (job {document['name']})",
        "dataPort": 0,
        "jmxPort": -1,
        "timeSinceLastHeartbeat": document["now_ms"],
        "slotsNumber": cores,
        "freeSlots": max(0, cores - busy),
        "assignedTasks": busy,
        "totalResource": resource,
        "freeResource": resource,
        "hardware": {"cpuCores": cores, "physicalMemory": memory, "freeMemory": memory, "managedMemory": 0},
        "memoryConfiguration": {**dict.fromkeys(_MEMORY_FIELDS, 0), "taskHeap": memory, "totalProcessMemory": memory},
        "blocked": False,
    }


def found_worker(documents: list[Document], worker_id: str) -> tuple[Document, dict[str, Any], dict[str, Any]]:
    """The job, the entry and what Spark says of a worker; raises JobNotFoundError."""
    for document in documents:
        for entry in workers_of(document):
            if entry["id"] == worker_id:
                name = worker_id.partition("-")[2]
                told = [each for each in document["cluster"]["workers"] if each["id"] == name]
                return document, entry, told[0] if told else _driver(document)
    raise JobNotFoundError(f"no running job has a worker {worker_id!r}; /taskmanagers lists them")


def details(documents: list[Document], worker_id: str) -> dict[str, Any]:
    """/taskmanagers/:taskmanagerid."""
    document, entry, told = found_worker(documents, worker_id)
    metrics: dict[str, Any] = dict.fromkeys(_METRIC_FIELDS, 0)
    metrics |= {"heapUsed": told.get("memory_used_bytes", 0), "heapMax": told["memory_bytes"]}
    metrics |= {"heapCommitted": told["memory_bytes"]}
    metrics["garbageCollectors"] = [{"name": "all", "count": 0, "time": told.get("gc_ms", 0)}]
    slot = {"jobId": document["id"], "resource": entry["totalResource"], "assignedTasks": entry["assignedTasks"]}
    return {**entry, "allocatedSlots": [slot], "metrics": metrics}


def metrics(told: dict[str, Any]) -> dict[str, float]:
    """Figures of a worker, with the names that Flink's page asks for beside Spark's own."""
    numbers = {name: value for name, value in told.items() if isinstance(value, (int, float))}
    heap = {
        "Status.JVM.Memory.Heap.Used": told.get("memory_used_bytes", 0),
        "Status.JVM.Memory.Heap.Max": told["memory_bytes"],
    }
    return {**numbers, **heap}
