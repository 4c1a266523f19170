"""The paths of programs, which Flink calls jars, and of submissions."""

from __future__ import annotations

import shlex
import time
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from penstock.common.masking import HIDDEN, masked, masked_arguments, shown
from penstock.errors import ConfigurationError
from penstock.graph.settings import JobSettings
from penstock.job.journal import now_ms
from penstock.server.answers import Json, Refusal
from penstock.server.dispatcher.dispatcher import Dispatcher
from penstock.server.dispatcher.programs import MOST_PROGRAMS, checked_program
from penstock.server.dispatcher.registry import ENDED, Launch, Submission
from penstock.server.guard import role_of
from penstock.server.logs import log_part
from penstock.tokens import Role

_JOB_SECONDS = 60.0
_LOOK_SECONDS = 0.1
_MOST_ARGUMENTS = 1000
_MOST_ARGUMENT_BYTES = 100_000  # Linux takes 128 KB


class LaunchBody(BaseModel):
    """How a program is to be started, in Flink's words."""

    model_config = ConfigDict(extra="ignore")

    entry: str | None = Field(default=None, validation_alias="entryClass", max_length=500)
    arguments: list[str] | None = Field(default=None, validation_alias="programArgsList", max_length=_MOST_ARGUMENTS)
    arguments_text: str | None = Field(default=None, validation_alias="programArgs", max_length=100_000)
    parallelism: int | None = Field(default=None, ge=1, le=32768)
    savepoint: str | None = Field(default=None, validation_alias="savepointPath", max_length=4000)
    allows_loss: bool | None = Field(default=None, validation_alias="allowNonRestoredState")
    settings: dict[str, str] | None = Field(default=None, validation_alias="flinkConfiguration")

    def launch(self) -> Launch:
        """As the registry keeps it; settings that no job could have are refused here."""
        words = self.arguments if self.arguments is not None else _split(self.arguments_text or "")
        for text in [*words, *(self.settings or {}), *(self.settings or {}).values()]:
            _check_text(text)
        try:
            JobSettings.from_configuration(self.settings or {})
        except ConfigurationError as error:
            raise Refusal(400, str(error)) from None
        return Launch(
            list(words),
            dict(self.settings or {}),
            self.entry or None,
            self.savepoint or None,
            bool(self.allows_loss),
            self.parallelism,
        )


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Refusal(400, f"the arguments cannot be split into words: {error}; give programArgsList") from None


def _check_text(text: str) -> None:
    """Refuse what the command line of a process cannot have."""
    if "\0" in text:
        raise Refusal(400, "arguments and settings cannot have NUL in them")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise Refusal(400, "arguments and settings must be text that UTF-8 can write") from None
    if size > _MOST_ARGUMENT_BYTES:
        raise Refusal(400, f"an argument or setting has more than {_MOST_ARGUMENT_BYTES:,} bytes: give it in a file")


def dispatcher_routes(dispatcher: Dispatcher) -> APIRouter:
    """All of them."""
    router = APIRouter(default_response_class=Json)
    _add_programs(router, dispatcher)
    _add_starts(router, dispatcher)
    _add_submissions(router, dispatcher)
    return router


def _add_programs(router: APIRouter, dispatcher: Dispatcher) -> None:
    @router.get("/jars", tags=["programs"])
    def programs() -> Json:
        """The programs that were uploaded."""
        files = [
            {"id": row["id"], "name": row["name"], "uploaded": row["uploaded_ms"], "entry": []}
            for row in dispatcher.registry.programs()
        ]
        return Json({"address": dispatcher.url, "files": files})

    @router.post("/jars/upload", tags=["programs"])
    async def upload(request: Request) -> Json:
        """Keep a program: a form with a file (.py, .zip or .whl) and, if it has any, `requirements`."""
        async with request.form(max_files=1, max_fields=5, max_part_size=256 * 1024) as form:
            files = [value for value in form.values() if isinstance(value, UploadFile)]
            if not files:
                raise Refusal(400, "the form has no file in it")
            content = await files[0].read()
            requirements = form.get("requirements", "")
            name = files[0].filename or ""
        return await run_in_threadpool(_keep, dispatcher, name, content, str(requirements))

    @router.delete("/jars/{program_id}", tags=["programs"])
    def remove(program_id: str) -> Json:
        """Forget a program; one that a job needs is kept."""
        dispatcher.registry.remove_program(program_id)
        return Json({})

    @router.get("/jars/{program_id}/plan", tags=["programs"])
    @router.post("/jars/{program_id}/plan", tags=["programs"])
    def plan(program_id: str) -> Json:
        """Not known before a program runs: a Python program makes its plan while it runs."""
        raise Refusal(501, "a program makes its plan while it runs: start it, and ask /jobs/:jobid/plan")


def _keep(dispatcher: Dispatcher, name: str, content: bytes, requirements: str) -> Json:
    program = checked_program(name, content, requirements)
    known = {row["id"] for row in dispatcher.registry.programs()}
    if program.id not in known and len(known) >= MOST_PROGRAMS:
        raise Refusal(409, f"there are {len(known)} programs already: remove some first")
    dispatcher.registry.add_program(program.id, program.name, content, program.requirements, now_ms())
    # Flink's clients take the part behind the last slash for the id.
    return Json({"filename": f"programs/{program.id}", "status": "success"})


def _add_starts(router: APIRouter, dispatcher: Dispatcher) -> None:
    def submitted(program_id: str, body: LaunchBody | None, query: dict[str, Any]) -> Submission:
        given = {name: value for name, value in query.items() if value is not None}
        wanted = (body or LaunchBody()).model_copy(update=given)
        program = dispatcher.registry.program(program_id)
        return dispatcher.registry.add_submission(program_id, program["name"], wanted.launch())

    @router.post("/jars/{program_id}/run", tags=["programs"])
    def run(program_id: str, body: LaunchBody | None = None, programArg: str | None = None) -> Json:
        """Start a program and wait for its job; the id is that of the job, or of the submission if it takes long."""
        query = {} if programArg is None else {"arguments": programArg.split(",")}
        submission = await_job(dispatcher, submitted(program_id, body, query))
        return Json({"jobid": submission.job_id or submission.id, "applicationId": submission.id})

    @router.post("/jars/{program_id}/run-application", tags=["programs"])
    def run_application(program_id: str, body: LaunchBody | None = None) -> Json:
        """Start a program; does not wait for its job."""
        return Json({"applicationid": submitted(program_id, body, {}).id})


def await_job(dispatcher: Dispatcher, submission: Submission, seconds: float = _JOB_SECONDS) -> Submission:
    """The submission when its program has started a job; raises Refusal if it ends without one."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        found = dispatcher.registry.submission(submission.id)
        if found is None or found.job_id is not None:
            return found or submission
        if found.state == ENDED and found.outcome == "FAILED":
            raise Refusal(400, f"the program started no job: {found.error}")
        if found.state == ENDED:
            return found
        time.sleep(_LOOK_SECONDS)
    return submission


def _add_submissions(router: APIRouter, dispatcher: Dispatcher) -> None:
    def known(submission_id: str) -> Submission:
        found = dispatcher.registry.submission(submission_id)
        if found is None:
            raise Refusal(404, f"no submission has the id {submission_id!r}")
        return found

    @router.get("/penstock/submissions", tags=["penstock"])
    def submissions(request: Request) -> Json:
        """All submissions, the latest first."""
        role = role_of(request)
        return Json({"submissions": [told(each, role) for each in dispatcher.registry.submissions()]})

    @router.get("/penstock/submissions/{submission_id}", tags=["penstock"])
    def submission(submission_id: str, request: Request) -> Json:
        """One submission: its state, its driver, its deaths."""
        return Json(told(known(submission_id), role_of(request)))

    @router.get("/penstock/submissions/{submission_id}/log", tags=["penstock"])
    def log(submission_id: str, offset: int | None = None, limit: int = 256 * 1024) -> Json:
        """A part of the log of a driver: its end, or what stands at an offset."""
        path = dispatcher.supervisor.log_of(known(submission_id).id)
        return Json(log_part(str(path), offset, limit))

    @router.get("/penstock/leader", tags=["penstock"])
    def leader() -> Json:
        """Which dispatcher leads, and whether it is this one."""
        lease = dispatcher.registry.lease()
        if lease is None or lease.is_free:
            return Json({"holder": None, "url": None, "epoch": None, "is-this-one": False})
        is_this_one = lease.holder == dispatcher.holder
        return Json({"holder": lease.holder, "url": lease.url, "epoch": lease.epoch, "is-this-one": is_this_one})


def told(submission: Submission, role: Role) -> dict[str, Any]:
    """A submission as JSON; secrets are hidden, and its arguments from who may only look: they may be anything."""
    content, launch = asdict(submission), submission.launch
    content["launch"]["settings"] = {key: shown(key, value) for key, value in launch.settings.items()}
    is_reader = role < Role.OPERATE
    content["launch"]["arguments"] = (
        [HIDDEN for _ in launch.arguments] if is_reader else masked_arguments(launch.arguments)
    )
    content["error"] = None if submission.error is None else masked(submission.error)
    return content
