"""Looks after drivers: starts what is due, notices what has ended or died, and starts it again.

Every dispatcher looks after the drivers on its own machine; only the one that leads starts any. What is found out is
written with the state that was seen, so of two who find out the same only one writes. A driver that was started does
nothing before the registry has it, in the epoch of the leader who started it: one that was paused in between and is no
leader any more turns it away. Times are measured by watching, since clocks differ and are set back.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.graph import declared_settings as keys
from penstock.job.document import LOG_FILE, SUBMISSION
from penstock.job.ended_jobs import EndedJobs
from penstock.job.journal import now_ms
from penstock.job.program import CHECKPOINTS
from penstock.job.running_jobs import running_jobs
from penstock.scratch import make_private
from penstock.server.checked_documents import flaw
from penstock.server.dispatcher.environments import clear_drafts, python_for
from penstock.server.dispatcher.leadership import Watched
from penstock.server.dispatcher.processes import (
    DRIVER_MODULE,
    HOST,
    NOT_STARTED,
    DriverProcess,
    driver_processes,
    start_driver,
)
from penstock.server.dispatcher.programs import Program, entry_of, requirements_of, unpacked
from penstock.server.dispatcher.registry import ENDED, PREPARING, RUNNING, WAITING, Lead, Registry, Submission
from penstock.server.dispatcher.restarts import next_delay_ms

LOST_SECONDS = 15.0
"""A machine whose dispatcher has not been heard of for so long is taken for lost, with the drivers on it."""

_SUBMISSIONS_KEPT = 200
_TAIL_BYTES = 4000
_PASSES_BETWEEN_STRAYS = 5
_PYTHONS_OF_SPARK = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")

_log = logging.getLogger(__name__)


class Supervisor:
    """One pass after the other, in one thread; environments are made in threads of their own."""

    def __init__(self, registry: Registry, folder: Path, history: int) -> None:
        """Keep programs, environments, logs and checkpoints below a folder."""
        self._registry = registry
        self._folder = folder
        self._history = history
        self._ended = EndedJobs.of_this_user()
        self._preparing: set[str] = set()
        self._hosts = Watched()
        self._waiting = Watched()
        self._passes = 0
        for name in ("programs", "environments", "drivers"):
            make_private(str(folder / name))
        clear_drafts(folder / "environments")

    def look(self, lead: Lead | None) -> None:
        """One pass; who leads starts what is due."""
        self._registry.set_fact(f"seen:{HOST}", str(now_ms()))
        gone = [each for each in self._here(RUNNING) if not _process(each).is_alive()]
        self._take_in_ended()
        for each in gone:
            self._on_gone(each)
        self._note_jobs()
        if self._passes % _PASSES_BETWEEN_STRAYS == 0:
            self._end_strays()
        self._passes += 1
        if lead is not None:
            self._recover(lead)
            self._start_due(lead)
            for old in self._registry.forget_submissions(lead, _SUBMISSIONS_KEPT):
                shutil.rmtree(self.driver_folder(old.id), ignore_errors=True)

    def driver_folder(self, submission_id: str) -> Path:
        """Where the logs, the exit codes and the checkpoints of a driver are."""
        return self._folder / "drivers" / submission_id

    def _here(self, *states: str) -> list[Submission]:
        return [each for each in self._registry.submissions(*states) if each.host == HOST]

    # ---- what has happened ----

    def _take_in_ended(self) -> None:
        """Take what ended jobs have left into the history.

        What is taken is remembered by name: a job may end with an earlier name than one before, by a clock set back.
        """
        fact, names = f"ended:{HOST}:{self._ended.path}", self._ended.names()
        text = self._registry.fact(fact)
        taken = _taken(text, names)
        for name in names:
            if name in taken:
                continue
            document = self._ended.read(name)
            if flaw(document) is None:
                self._registry.add_history(document, self._history)
                self._note_end(document)
            elif document is not None:
                _log.warning("%s is left out of the history: %s", self._ended.path / name, flaw(document))
            taken.add(name)
        told = json.dumps(sorted(taken.intersection(names)))
        if told != text:
            self._registry.set_fact(fact, told)

    def _note_end(self, document: dict[str, Any]) -> None:
        submission = self._registry.submission(str(document["process"].get("submission")))
        if submission is not None:
            self._registry.change(submission, job_id=document["id"], last_status=document["status"])

    def _note_jobs(self) -> None:
        """Remember which job a driver runs, and its restart strategy: a driver that has died tells nothing."""
        unknown = {each.id: each for each in self._here(RUNNING) if each.restart is None}
        if not unknown:
            return
        for job, status in running_jobs():
            submission = unknown.get(str(status.get("submission")))
            if submission is not None:
                with suppress(PenstockError, TimeoutError):
                    document = job.document()
                    changes = {"job_id": document["id"], "restart": document["restart"], "name": document["name"]}
                    self._registry.change(submission, **changes)

    def _end_strays(self) -> None:
        """End drivers that the registry has given up: this machine was paused, and another goes on with their jobs."""
        for file, process in driver_processes(self._folder / "drivers"):
            found = self._registry.submission(file.parent.name)
            if found is None:  # another registry may know it
                continue
            if found.state in (WAITING, ENDED) or self._exit_file(found) != file:
                _log.warning("driver process %d is ended: its job was given to another one, or is over", process.pid)
                process.kill()

    def _on_gone(self, seen: Submission) -> None:
        submission = self._registry.submission(seen.id)
        if submission is None or submission.state != RUNNING or submission.attempt != seen.attempt:
            return
        code = self._exit_code(submission)
        if code is None:
            self._on_death(submission, f"the driver process {submission.pid} on {submission.host} died")
        elif code == NOT_STARTED:
            self._registry.change(submission, state=WAITING, delay_ms=0, pid=None)
        elif code == 0:
            self._end(submission, "FINISHED")
        elif submission.last_status in ("CANCELED", "FAILED"):
            self._end(submission, submission.last_status)
        else:
            self._end(submission, "FAILED", f"the program ended with code {code}:\n{self._tail(submission)}")

    def _on_death(self, submission: Submission, text: str, lead: Lead | None = None) -> None:
        """A driver that died is started again as often, and after as long, as its job wants to be."""
        moment = max([now_ms(), *submission.deaths_ms])  # a clock may have been set back
        delay = next_delay_ms(submission, moment)
        deaths: dict[str, Any] = {"deaths_ms": [*submission.deaths_ms, moment], "deaths": [*submission.deaths, text]}
        if delay is None:
            _log.warning("%s; its restart strategy starts it no more", text)
            self._end(submission, "FAILED", text, lead, **deaths)
            return
        changes = {"state": WAITING, "due_ms": moment + delay, "delay_ms": delay, "pid": None, **deaths}
        if self._registry.change(submission, lead, **changes) is not None:
            _log.warning("%s; it is started again in %.1f s", text, delay / 1000)

    def _end(
        self, submission: Submission, outcome: str, error: str | None = None, lead: Lead | None = None, **changes: Any
    ) -> None:
        # Before it is noted: who is killed in between leaves it to the next one, who would not look at what is over.
        if outcome != "FAILED":
            shutil.rmtree(self.driver_folder(submission.id) / "checkpoints", ignore_errors=True)
        self._registry.change(submission, lead, state=ENDED, outcome=outcome, error=error, pid=None, **changes)

    def _exit_code(self, submission: Submission) -> int | None:
        try:
            return int(self._exit_file(submission).read_text())
        except (OSError, ValueError):
            return None

    def _exit_file(self, submission: Submission) -> Path:
        return self.driver_folder(submission.id) / f"exit-{submission.attempt}"

    def _tail(self, submission: Submission) -> str:
        try:
            return self.log_of(submission.id).read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
        except OSError:
            return ""

    def log_of(self, submission_id: str) -> Path:
        """The log of a driver; one file for all of its starts."""
        return self.driver_folder(submission_id) / "driver.log"

    # ---- what is to be done ----

    def _recover(self, lead: Lead) -> None:
        """Go on with what a leader before left half done, and with what ran on a machine that is lost.

        What is being prepared has no driver that does anything: it is told to only when the registry has it.
        """
        for each in self._registry.submissions(PREPARING):
            is_abandoned = each.host == HOST and each.id not in self._preparing
            if is_abandoned or self._is_lost(each.host):
                self._registry.change(each, lead, state=WAITING, delay_ms=0)
        for each in self._registry.submissions(RUNNING):
            if self._is_lost(each.host):
                text = f"machine {each.host} with the driver process {each.pid} was lost"
                self._on_death(each, text, lead)

    def _is_lost(self, host: str | None) -> bool:
        if host == HOST:
            return False
        sign = self._registry.fact(f"seen:{host}")
        return self._hosts.seconds_since_change(host, sign) > LOST_SECONDS

    def _start_due(self, lead: Lead) -> None:
        waiting = self._registry.submissions(WAITING)
        self._waiting.keep_only({each.id for each in waiting})
        for each in waiting:
            waited = self._waiting.seconds_since_change(each.id, (each.attempt, len(each.deaths)))
            if waited * 1000 < each.delay_ms:
                continue
            changes = {"state": PREPARING, "host": HOST, "attempt": each.attempt + 1, "last_status": None, "pid": None}
            claimed = self._registry.change(each, lead, **changes)
            if claimed is not None:
                self._preparing.add(claimed.id)
                threading.Thread(target=self._start, args=(claimed, lead), name="penstock-start", daemon=True).start()

    def _start(self, submission: Submission, lead: Lead) -> None:
        try:
            self._start_as(submission, lead)
        except Exception as error:
            _log.warning("submission %s could not be started: %s", submission.id, error)
            failed = self._registry.change(submission, lead, state=ENDED, outcome="FAILED", error=str(error))
            if failed is None:
                self._give_back(submission)
        finally:
            self._preparing.discard(submission.id)

    def _start_as(self, submission: Submission, lead: Lead) -> None:
        """Start a driver, which waits; it runs if the lead is still good when the registry is told of it."""
        process, arguments = self._started(submission)
        changes: dict[str, Any] = {"pid": process.pid, "process_started": process.started}
        try:
            is_ours = self._registry.change(submission, lead, state=RUNNING, **changes) is not None
        except BaseException:
            process.turn_away()
            raise
        if is_ours:
            process.let_run(arguments)
            return
        process.turn_away()
        _log.warning("submission %s is left to the dispatcher that leads now", submission.id)
        self._give_back(submission)

    def _give_back(self, submission: Submission) -> None:
        """Let who leads now start what this one has claimed, unless it has it already."""
        self._registry.change(submission, state=WAITING, delay_ms=0)

    def _started(self, submission: Submission) -> tuple[DriverProcess, list[str]]:
        """A driver that waits, and what it is to run."""
        row = self._registry.program(submission.program)
        program = Program(row["name"], row["content"], row["requirements"])
        place = unpacked(program, self._folder / "programs" / program.id)
        python = python_for(requirements_of(program, place), self._folder / "environments")
        folder = Path(make_private(str(self.driver_folder(submission.id))))
        log = self.log_of(submission.id)
        command = [python, "-u", "-m", DRIVER_MODULE, str(self._exit_file(submission))]
        arguments = ["run", *_options(submission), *entry_of(program, place, submission.launch.entry)]
        environment = {
            **_variables(python),
            LOG_FILE: str(log),
            SUBMISSION: submission.id,
            CHECKPOINTS: str(folder / "checkpoints"),
        }
        return start_driver(command, environment, place, log), [*arguments, *submission.launch.arguments]


def _taken(text: str, names: list[str]) -> set[str]:
    """The names of what was taken; an earlier version noted the last one only, and took them in order."""
    if text.startswith("["):
        return set(json.loads(text))
    return {name for name in names if name <= text}


def _options(submission: Submission) -> list[str]:
    """What `penstock run` is told of a launch. A savepoint is of use to the first start only, but harmless later."""
    launch = submission.launch
    settings = dict(launch.settings)
    if launch.parallelism is not None:
        settings[keys.PARALLELISM] = str(launch.parallelism)
    options = [f"-D{key}={value}" for key, value in settings.items()]
    if launch.savepoint is not None:
        options += ["-s", launch.savepoint]
    return [*options, "-n"] if launch.allows_loss else options


def _variables(python: str) -> dict[str, str]:
    """Those of the dispatcher; Spark's workers must find what is installed for the program, as its driver does."""
    has_own = python != sys.executable
    return {key: value for key, value in os.environ.items() if not (has_own and key in _PYTHONS_OF_SPARK)}


def _process(submission: Submission) -> DriverProcess:
    return DriverProcess(submission.pid or 0, submission.process_started or 0)
