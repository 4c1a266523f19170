"""The paths of the cluster: overview, the server itself (Flink's job manager) and the workers of the jobs."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

import penstock
from penstock.job.document import process_facts, thread_stacks
from penstock.server.answers import Json, Refusal
from penstock.server.documents import Documents
from penstock.server.flink import jobs, metrics, workers
from penstock.server.flink.states import JOB_STATES, is_over
from penstock.server.job_routes import Names, environment_of
from penstock.server.job_views import Document, JobSource
from penstock.server.logs import MOST_BYTES, log_part

_REFRESH_MS = 3000


@dataclass(frozen=True)
class ServerFacts:
    """What the server tells about itself; `shut_down` is called by DELETE /cluster, if that is allowed."""

    settings: dict[str, str] = field(default_factory=dict)
    log: Path | None = None
    can_submit: bool = False
    shut_down: Callable[[], None] | None = None


def cluster_routes(source: JobSource, documents: Documents, facts: ServerFacts) -> APIRouter:
    """All of them."""
    router = APIRouter(default_response_class=Json)
    _add_overview(router, documents, facts)
    _add_server(router, facts)
    _add_workers(router, source, documents)
    _add_applications(router, source, documents)
    return router


def _add_overview(router: APIRouter, documents: Documents, facts: ServerFacts) -> None:
    @router.get("/config", tags=["cluster"])
    def config() -> Json:
        """What the pages have to know of the server."""
        zone = datetime.now().astimezone()
        offset = zone.utcoffset()
        return Json(
            {
                "refresh-interval": _REFRESH_MS,
                "timezone-name": zone.tzname(),
                "timezone-offset": 0 if offset is None else int(offset.total_seconds() * 1000),
                "flink-version": jobs.FLINK_VERSION,
                "flink-revision": f"penstock {penstock.__version__}",
                "features": {
                    "web-submit": facts.can_submit,
                    "web-cancel": True,
                    "web-rescale": False,
                    "web-history": False,
                },
            }
        )

    @router.get("/overview", tags=["cluster"])
    def overview() -> Response:
        """Jobs by state, workers and their slots."""
        return documents.answer("/overview", _overview)

    @router.get("/datasets", tags=["cluster"])
    def datasets() -> Json:
        """Penstock keeps no data sets between jobs."""
        return Json({"dataSets": []})

    @router.delete("/cluster", tags=["cluster"])
    def shut_down() -> Json:
        """End the server. Jobs go on, and are found again by the next one."""
        if facts.shut_down is None:
            raise Refusal(409, "this server shows one job and ends with it; cancel the job instead")
        facts.shut_down()
        return Json({})


def _overview(documents: list[Document]) -> dict[str, Any]:
    states = Counter(each["status"] if is_over(each) else "RUNNING" for each in documents)
    found = workers.workers(documents)
    return {
        "taskmanagers": len(found),
        "slots-total": sum(each["slotsNumber"] for each in found),
        "slots-available": sum(each["freeSlots"] for each in found),
        "jobs-running": states["RUNNING"],
        "jobs-finished": states["FINISHED"],
        "jobs-cancelled": states["CANCELED"],
        "jobs-failed": states["FAILED"],
        "applications-running": states["RUNNING"],
        "applications-finished": states["FINISHED"],
        "applications-cancelled": states["CANCELED"],
        "applications-failed": states["FAILED"],
        "flink-version": jobs.FLINK_VERSION,
        "flink-commit": f"penstock {penstock.__version__}",
    }


def _add_server(router: APIRouter, facts: ServerFacts) -> None:
    @router.get("/jobmanager/config", tags=["server"])
    def config() -> Json:
        """The settings of the server."""
        return Json([{"key": key, "value": value} for key, value in facts.settings.items()])

    @router.get("/jobmanager/environment", tags=["server"])
    def environment() -> Json:
        """The Python that the server runs on."""
        return Json(environment_of(process_facts()))

    @router.get("/jobmanager/metrics", tags=["server"])
    def server_metrics(get: Names = None) -> Json:
        """Memory and processor time of the server."""
        return Json(metrics.listed(_own_metrics(), get))

    @router.get("/jobmanager/thread-dump", tags=["server"])
    def threads() -> Json:
        """What the threads of the server are doing."""
        return Json(thread_dump(thread_stacks()))

    @router.get("/jobmanager/logs", tags=["server"])
    def logs() -> Json:
        """The log files of the server."""
        return Json({"logs": [] if facts.log is None else [log_entry(str(facts.log))]})

    @router.get("/jobmanager/log", tags=["server"])
    @router.get("/jobmanager/stdout", tags=["server"])
    @router.get("/jobmanager/logs/{name}", tags=["server"])
    def log(name: str | None = None) -> PlainTextResponse:
        """The end of the log of the server."""
        if facts.log is None or name not in (None, facts.log.name):
            raise Refusal(404, "the server writes to its terminal; start it with --log to have a file")
        return PlainTextResponse(log_part(str(facts.log), None, MOST_BYTES)["text"])


def _own_metrics() -> metrics.Values:
    own, of_children = time.process_time_ns(), os.times()
    with open("/proc/self/statm") as stream:
        resident = int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "Status.JVM.Memory.Heap.Used": resident,
        "Status.JVM.CPU.Time": own,
        "childrenCpuSeconds": of_children.children_user + of_children.children_system,
    }


def thread_dump(stacks: list[dict[str, str]]) -> dict[str, Any]:
    """Stacks of threads in Flink's words."""
    found = [{"threadName": each["name"], "stringifiedThreadInfo": each["stack"]} for each in stacks]
    return {"threadInfos": found}


def log_entry(path: str) -> dict[str, Any]:
    """An entry in a list of logs."""
    found = os.stat(path)
    return {"name": os.path.basename(path), "size": found.st_size, "mtime": int(found.st_mtime * 1000)}


def _add_workers(router: APIRouter, source: JobSource, documents: Documents) -> None:
    @router.get("/taskmanagers", tags=["workers"])
    def all_workers() -> Response:
        """The executors of all running jobs."""
        return documents.answer("/taskmanagers", lambda found: {"taskmanagers": workers.workers(found)})

    @router.get("/taskmanagers/metrics", tags=["workers"])
    def metrics_of_all(get: Names = None, agg: str | None = None) -> Json:
        """Metrics combined over workers."""
        told = [each for document in documents.all() for each in document["cluster"]["workers"]]
        return Json(metrics.combined([workers.metrics(each) for each in told], get, agg))

    @router.get("/taskmanagers/{worker_id}", tags=["workers"])
    def details(worker_id: str) -> Json:
        """One worker."""
        return Json(workers.details(documents.all(), worker_id))

    @router.get("/taskmanagers/{worker_id}/metrics", tags=["workers"])
    def worker_metrics(worker_id: str, get: Names = None) -> Json:
        """Metrics of one worker."""
        _, _, told = workers.found_worker(documents.all(), worker_id)
        return Json(metrics.listed(workers.metrics(told), get))

    @router.get("/taskmanagers/{worker_id}/thread-dump", tags=["workers"])
    def threads(worker_id: str) -> Json:
        """Threads of the driver of the job that a worker works for; Spark's own pages have those of executors."""
        document, _, _ = workers.found_worker(documents.all(), worker_id)
        return Json(thread_dump(source.view(document["id"]).threads()))

    @router.get("/taskmanagers/{worker_id}/logs", tags=["workers"])
    def logs(worker_id: str) -> Json:
        """Logs of the driver of the job; those of executors are where Spark keeps them."""
        document, _, _ = workers.found_worker(documents.all(), worker_id)
        path = document["process"].get("log")
        return Json({"logs": [log_entry(path)] if path and os.path.isfile(path) else []})

    @router.get("/taskmanagers/{worker_id}/log", tags=["workers"])
    @router.get("/taskmanagers/{worker_id}/stdout", tags=["workers"])
    @router.get("/taskmanagers/{worker_id}/logs/{name}", tags=["workers"])
    def log(worker_id: str, name: str | None = None) -> PlainTextResponse:
        """The end of the log of the driver of the job."""
        document, _, _ = workers.found_worker(documents.all(), worker_id)
        path = document["process"].get("log")
        if path is None or name not in (None, os.path.basename(path)):
            raise Refusal(404, f"worker {worker_id} has no such log")
        return PlainTextResponse(log_part(path, None, MOST_BYTES)["text"])


def _add_applications(router: APIRouter, source: JobSource, documents: Documents) -> None:
    def grouped(documents: list[Document]) -> dict[str, list[Document]]:
        found: dict[str, list[Document]] = {}
        for document in documents:
            found.setdefault(jobs.application_id(document), []).append(document)
        return found

    def known(application_id: str) -> list[Document]:
        found = grouped(documents.all()).get(application_id)
        if found is None:
            raise Refusal(404, f"no application has the id {application_id!r}")
        return found

    @router.get("/applications/overview", tags=["applications"])
    def overview() -> Response:
        """All programs, each with how many of its jobs are in which state."""
        return documents.answer(
            "/applications/overview",
            lambda found: {"applications": [_application(key, each) for key, each in grouped(found).items()]},
        )

    @router.get("/applications/{application_id}", tags=["applications"])
    def details(application_id: str) -> Json:
        """One program with its jobs."""
        found = known(application_id)
        entry = _application(application_id, found)
        return Json({**entry, "timestamps": found[0]["status_ms"], "jobs": [jobs.job_overview(each) for each in found]})

    @router.get("/applications/{application_id}/exceptions", tags=["applications"])
    def exceptions(application_id: str) -> Json:
        """Failures of the jobs of a program."""
        entries = [
            {**entry, "jobId": each["id"]}
            for each in known(application_id)
            for entry in jobs.exceptions(each, 20)["exceptionHistory"]["entries"]
        ]
        return Json({"exceptionHistory": {"entries": entries, "truncated": False}})

    @router.get("/applications/{application_id}/jobmanager/config", tags=["applications"])
    def config(application_id: str) -> Json:
        """The settings of a program's first job."""
        settings = known(application_id)[0]["settings"]
        return Json([{"key": key, "value": value} for key, value in settings.items()])

    @router.post("/applications/{application_id}/cancel", status_code=202, tags=["applications"])
    def cancel(application_id: str) -> Json:
        """Cancel all jobs of a program."""
        for document in known(application_id):
            if not is_over(document):
                source.view(document["id"]).cancel()
        return Json({}, 202)


def _application(application_id: str, found: list[Document]) -> dict[str, Any]:
    states = Counter(each["status"] for each in found)
    over = all(is_over(each) for each in found)
    started = min(each["started_ms"] for each in found)
    ended = max(each["ended_ms"] for each in found) if over else -1
    return {
        "id": application_id,
        "name": found[0]["name"],
        "status": found[0]["status"],
        "start-time": started,
        "end-time": ended,
        "duration": (ended if over else max(each["now_ms"] for each in found)) - started,
        "jobs": {**{state: states[state] for state in JOB_STATES}, "TOTAL": len(found)},
    }
