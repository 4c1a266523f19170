"""The paths below /jobs: what is known of jobs, and what can be done to them."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from penstock.server.answers import Json, Refusal
from penstock.server.documents import Documents
from penstock.server.flink import checkpoints, jobs, metrics, vertices
from penstock.server.flink.java_throwable import failure_cause
from penstock.server.job_views import JobSource
from penstock.server.logs import LogPart, log_part
from penstock.server.triggers import Triggers

Names = Annotated[
    str | None, Query(description="Names of metrics, with commas between them; without, names are listed.")
]
Modes = Annotated[str | None, Query(description="min, max, sum, avg, skew, with commas between them; without, all.")]
_EXCEPTIONS = 20
_SUMMARY = (
    "id", "name", "status", "type", "started_ms", "ended_ms", "now_ms", "progress", "process", "checkpoint",
    "savepoint_directory",
)  # fmt: skip


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class SavepointBody(_Body):
    """What a savepoint is asked for with."""

    target_directory: str | None = Field(default=None, validation_alias="target-directory")
    cancel_job: bool = Field(default=False, validation_alias="cancel-job")
    trigger_id: str | None = Field(default=None, validation_alias="triggerId", pattern="^[0-9a-f]{32}$")


class StopBody(_Body):
    """What a stop is asked for with."""

    target_directory: str | None = Field(default=None, validation_alias="targetDirectory")
    drain: bool = False
    trigger_id: str | None = Field(default=None, validation_alias="triggerId", pattern="^[0-9a-f]{32}$")


def job_routes(source: JobSource, documents: Documents, triggers: Triggers) -> APIRouter:
    """All of them, for the jobs of a source."""
    router = APIRouter(default_response_class=Json)
    _add_lists(router, documents)
    _add_facts(router, documents)
    _add_driver(router, documents)
    _add_checkpoints(router, documents)
    _add_vertices(router, documents)
    _add_requests(router, source, documents, triggers)
    return router


def _add_lists(router: APIRouter, documents: Documents) -> None:
    @router.get("/jobs", tags=["jobs"])
    def job_ids() -> Response:
        """Ids and states of all jobs."""
        return documents.answer("/jobs", lambda found: {"jobs": [jobs.job_id_with_status(each) for each in found]})

    @router.get("/jobs/overview", tags=["jobs"])
    def overview() -> Response:
        """All jobs, running and ended."""
        return documents.answer("/jobs/overview", lambda found: {"jobs": [jobs.job_overview(each) for each in found]})

    @router.get("/jobs/metrics", tags=["metrics"])
    def metrics_of_all(get: Names = None, agg: Modes = None, jobs: str | None = None) -> Json:
        """Metrics combined over jobs; `jobs` names some of them."""
        wanted = None if jobs is None else set(jobs.split(","))
        found = [each for each in documents.all() if wanted is None or each["id"] in wanted]
        return Json(metrics.combined([metrics.job_metrics(each) for each in found], get, agg))


def _add_facts(router: APIRouter, documents: Documents) -> None:
    @router.get("/jobs/{job_id}", tags=["jobs"])
    def details(job_id: str) -> Json:
        """One job with its vertices and plan."""
        return Json(jobs.job_details(documents.of(job_id)))

    @router.get("/jobs/{job_id}/status", tags=["jobs"])
    def status(job_id: str) -> Json:
        """The state of a job."""
        return Json({"status": documents.of(job_id)["status"]})

    @router.get("/jobs/{job_id}/plan", tags=["jobs"])
    def plan(job_id: str) -> Json:
        """The plan of a job."""
        return Json(jobs.plan(documents.of(job_id)))

    @router.get("/jobs/{job_id}/config", tags=["jobs"])
    def config(job_id: str) -> Json:
        """The settings of a job."""
        return Json(jobs.config(documents.of(job_id)))

    @router.get("/jobs/{job_id}/exceptions", tags=["jobs"])
    def exceptions(job_id: str, maxExceptions: int = _EXCEPTIONS) -> Json:
        """Failures of a job, the latest first."""
        return Json(jobs.exceptions(documents.of(job_id), max(0, maxExceptions)))

    @router.get("/jobs/{job_id}/accumulators", tags=["jobs"])
    def accumulators(job_id: str) -> Json:
        """Metrics of a job as accumulators."""
        return Json(jobs.accumulators(documents.of(job_id)))

    @router.get("/jobs/{job_id}/execution-result", tags=["jobs"])
    def execution_result(job_id: str) -> Json:
        """How a job ended, once it has."""
        return Json(jobs.execution_result(documents.of(job_id)))


def _add_driver(router: APIRouter, documents: Documents) -> None:
    @router.get("/jobs/{job_id}/metrics", tags=["metrics"])
    def job_metrics(job_id: str, get: Names = None) -> Json:
        """Metrics of a job as a whole."""
        return Json(metrics.listed(metrics.job_metrics(documents.of(job_id)), get))

    @router.get("/jobs/{job_id}/resource-requirements", tags=["jobs"])
    def resources(job_id: str) -> Json:
        """How many subtasks each vertex has."""
        plan = documents.of(job_id)["plan"]
        bounds = {each["id"]: {"lowerBound": 1, "upperBound": each["parallelism"]} for each in plan}
        return Json({vertex: {"parallelism": bound} for vertex, bound in bounds.items()})

    @router.get("/jobs/{job_id}/jobmanager/config", tags=["jobs"])
    def driver_config(job_id: str) -> Json:
        """The settings of the driver of a job."""
        settings = documents.of(job_id)["settings"]
        return Json([{"key": key, "value": value} for key, value in settings.items()])

    @router.get("/jobs/{job_id}/jobmanager/environment", tags=["jobs"])
    def environment(job_id: str) -> Json:
        """The Python that drives a job."""
        return Json(environment_of(documents.of(job_id)["process"]))

    @router.get("/jobs/{job_id}/jobmanager/log-url", tags=["jobs"])
    def log_url(job_id: str) -> Json:
        """Where the log of the driver is."""
        return Json({"url": f"/v1/penstock/jobs/{documents.of(job_id)['id']}/log"})

    @router.get("/penstock/jobs", tags=["penstock"])
    def summaries() -> Json:
        """All jobs with their progress; `/penstock/jobs/:jobid` has the rest of it."""
        return Json({"jobs": [{name: each.get(name) for name in _SUMMARY} for each in documents.all()]})

    @router.get("/penstock/jobs/{job_id}", tags=["penstock"])
    def document(job_id: str) -> Json:
        """Everything that is known of a job, as Penstock has it."""
        return Json(documents.of(job_id))

    @router.get("/penstock/jobs/{job_id}/log", tags=["penstock"])
    def log(job_id: str, offset: int | None = None, limit: int = 256 * 1024) -> Json:
        """A part of the log of the driver: its end, or what stands at an offset."""
        return Json(_log_of(documents.of(job_id), offset, limit))


def _log_of(document: dict[str, Any], offset: int | None, limit: int) -> LogPart:
    path = document["process"].get("log")
    if path is None:
        raise Refusal(404, f"the output of job {document['name']!r} goes to a terminal, not to a file")
    return log_part(path, offset, limit)


def environment_of(process: dict[str, Any]) -> dict[str, Any]:
    """The Python of a process, where Flink tells the Java of one."""
    jvm = {"version": f"Python {process['python']}", "arch": process["platform"], "options": [process["executable"]]}
    return {"jvm": jvm, "classpath": []}


def _add_checkpoints(router: APIRouter, documents: Documents) -> None:
    @router.get("/jobs/{job_id}/checkpoints", tags=["checkpoints"])
    def statistics(job_id: str) -> Json:
        """Checkpoints and savepoints of a job, the latest first."""
        return Json(checkpoints.statistics(documents.of(job_id)))

    @router.get("/jobs/{job_id}/checkpoints/config", tags=["checkpoints"])
    def config(job_id: str) -> Json:
        """How a job makes checkpoints."""
        return Json(checkpoints.config(documents.of(job_id)))

    @router.get("/jobs/{job_id}/checkpoints/details/{checkpoint_id}", tags=["checkpoints"])
    def details(job_id: str, checkpoint_id: int) -> Json:
        """One checkpoint, by vertices."""
        return Json(checkpoints.details(documents.of(job_id), checkpoint_id))

    @router.get("/jobs/{job_id}/checkpoints/details/{checkpoint_id}/subtasks/{vertex_id}", tags=["checkpoints"])
    def subtasks(job_id: str, checkpoint_id: int, vertex_id: str) -> Json:
        """One checkpoint of a vertex, by subtasks."""
        return Json(checkpoints.subtasks(documents.of(job_id), checkpoint_id, vertex_id))


def _add_vertices(router: APIRouter, documents: Documents) -> None:
    path = "/jobs/{job_id}/vertices/{vertex_id}"
    pages = {
        "": vertices.details,
        "/subtasktimes": vertices.times,
        "/watermarks": vertices.watermarks,
        "/backpressure": vertices.backpressure,
        "/taskmanagers": vertices.task_managers,
        "/accumulators": vertices.accumulators,
        "/subtasks/accumulators": vertices.subtask_accumulators,
    }
    for end, told in pages.items():
        _add_page(router, path + end, documents, told)

    @router.get(path + "/metrics", tags=["metrics"])
    def vertex_metrics(job_id: str, vertex_id: str, get: Names = None) -> Json:
        """Metrics of the subtasks of a vertex, each with the number of the subtask in front."""
        return Json(metrics.listed(metrics.vertex_metrics(documents.of(job_id), vertex_id), get))

    @router.get(path + "/jm-operator-metrics", tags=["metrics"])
    def coordinator_metrics(job_id: str, vertex_id: str, get: Names = None) -> Json:
        """Metrics of coordinators, of which there are none."""
        vertices.vertex_of(documents.of(job_id), vertex_id)
        return Json([])

    @router.get(path + "/subtasks/metrics", tags=["metrics"])
    def subtask_metrics(job_id: str, vertex_id: str, get: Names = None, agg: Modes = None) -> Json:
        """Metrics of a vertex combined over its subtasks."""
        found = metrics.subtask_metrics(documents.of(job_id), vertex_id)
        return Json(metrics.combined(found.values(), get, agg))

    @router.get(path + "/subtasks/{number}", tags=["vertices"])
    @router.get(path + "/subtasks/{number}/attempts/{attempt}", tags=["vertices"])
    def subtask(job_id: str, vertex_id: str, number: int, attempt: int = 0) -> Json:
        """One subtask of a vertex."""
        document = documents.of(job_id)
        found = [each for each in vertices.details(document, vertex_id)["subtasks"] if each["subtask"] == number]
        if not found:
            raise Refusal(404, f"vertex {vertex_id} has no subtask {number}")
        return Json(found[0])

    @router.get(path + "/subtasks/{number}/metrics", tags=["metrics"])
    def one_subtask_metrics(job_id: str, vertex_id: str, number: int, get: Names = None) -> Json:
        """Metrics of one subtask."""
        found = metrics.subtask_metrics(documents.of(job_id), vertex_id).get(number, {})
        return Json(metrics.listed(found, get))

    @router.get(path + "/flamegraph", tags=["vertices"])
    def flame_graph(job_id: str, vertex_id: str) -> Json:
        """Flink samples stacks for this; Penstock does not, and says so as Flink does where it is switched off."""
        document = documents.of(job_id)
        vertices.vertex_of(document, vertex_id)
        return Json({"endTimestamp": 0, "data": None})


def _add_page(router: APIRouter, path: str, documents: Documents, told: Any) -> None:
    def page(job_id: str, vertex_id: str) -> Json:
        return Json(told(documents.of(job_id), vertex_id))

    page.__doc__ = told.__doc__
    router.add_api_route(path, page, methods=["GET"], tags=["vertices"], name=told.__name__)


def _add_requests(router: APIRouter, source: JobSource, documents: Documents, triggers: Triggers) -> None:
    def cancelled(job_id: str) -> None:
        view = source.view(job_id)

        def cancel() -> str:
            view.cancel()
            return job_id

        triggers.start(job_id, cancel)
        documents.forget(job_id)

    @router.patch("/jobs/{job_id}", status_code=202, tags=["requests"])
    def terminate(job_id: str, mode: str = "cancel") -> Json:
        """Cancel a job; it ends at once and its checkpoint stays."""
        if mode.lower() != "cancel":
            raise Refusal(
                400, f"mode {mode!r} is not known, only cancel; use /jobs/{job_id}/stop to stop with a savepoint"
            )
        refuse_if_over(documents, job_id)
        cancelled(job_id)
        return Json({}, 202)

    @router.get("/jobs/{job_id}/yarn-cancel", status_code=202, tags=["requests"])
    def cancel_by_get(job_id: str) -> Json:
        """Cancel a job, for clients that can send nothing but GET."""
        refuse_if_over(documents, job_id)
        cancelled(job_id)
        return Json({}, 202)

    @router.post("/jobs/{job_id}/savepoints", status_code=202, tags=["requests"])
    def savepoint(job_id: str, body: SavepointBody | None = None) -> Json:
        """Write a savepoint; ask for the outcome by the id that is returned."""
        wanted = body or SavepointBody()
        document = refuse_if_over(documents, job_id)
        directory = place_of(document, wanted.target_directory)
        view = source.view(job_id)
        work = partial(view.stop, drain=False) if wanted.cancel_job else view.savepoint
        return Json({"request-id": triggers.start(job_id, partial(work, directory), wanted.trigger_id)}, 202)

    @router.post("/jobs/{job_id}/stop", status_code=202, tags=["requests"])
    def stop(job_id: str, body: StopBody | None = None) -> Json:
        """Write a savepoint and end the job; ask for the outcome by the id that is returned."""
        wanted = body or StopBody()
        document = refuse_if_over(documents, job_id)
        directory = place_of(document, wanted.target_directory)
        view = source.view(job_id)
        work = partial(view.stop, directory, drain=wanted.drain)
        return Json({"request-id": triggers.start(job_id, work, wanted.trigger_id)}, 202)

    @router.get("/jobs/{job_id}/savepoints/{trigger_id}", tags=["requests"])
    def outcome(job_id: str, trigger_id: str) -> Json:
        """What became of a savepoint or a stop."""
        documents.forget(job_id)
        return Json(operation(triggers.outcome(job_id, trigger_id)))

    @router.patch("/jobs/{job_id}/clientHeartbeat", status_code=202, tags=["requests"])
    def heartbeat(job_id: str) -> Json:
        """Jobs do not end with the client that started them; the sign of life is taken and means nothing."""
        documents.of(job_id)
        return Json({}, 202)


def refuse_if_over(documents: Documents, job_id: str) -> dict[str, Any]:
    """The document of a job that runs."""
    documents.forget(job_id)
    document = documents.of(job_id)
    if document["ended_ms"] is not None:
        raise Refusal(409, f"job {document['name']!r} ({job_id}) has ended ({document['status'].lower()})")
    return document


def place_of(document: dict[str, Any], directory: str | None) -> str | None:
    """Where a savepoint goes; known before anything is begun, as Flink wants it."""
    if directory is None and document.get("savepoint_directory") is None:
        raise Refusal(
            400,
            f"job {document['name']!r} has no directory for savepoints: give target-directory, or start the job with "
            "execution.checkpointing.savepoint-dir",
        )
    return directory


def operation(outcome: Future[str]) -> dict[str, Any]:
    """The state of work that takes long, and its outcome."""
    if not outcome.done():
        return {"status": {"id": "IN_PROGRESS"}}
    error = outcome.exception()
    told = {"location": outcome.result()} if error is None else {"failure-cause": failure_cause(str(error))}
    return {"status": {"id": "COMPLETED"}, "operation": told}
