"""A program that is about to become a job: its plan, its directory, and what it begins from."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from penstock.checkpoint import CheckpointDirectory
from penstock.graph import JobPlan, JobSettings, LogicalGraph, compile_plan
from penstock.job.admission import admit, has_no_end
from penstock.job.intake import SourceList
from penstock.job.plan_sources import sources_of
from penstock.runtime.subtask import TaskSettings
from penstock.savepoint import Origin
from penstock.savepoint.matching import check_declared
from penstock.savepoint.starting import Beginning, made_or_abandoned, needs_check
from penstock.state.declarations import Declared

CHECKPOINTS = "PENSTOCK_CHECKPOINTS"
"""Variable that names a folder for the checkpoints of jobs that name no directory themselves."""

_names_taken: Counter[str] = Counter()


def checkpoint_place(settings: JobSettings) -> str | None:
    """The checkpoint directory of a job: its own, or one that whoever started this process has for it.

    Jobs that a program runs one after the other get one each, the same ones whenever the program is started again.
    """
    folder = os.environ.get(CHECKPOINTS)
    if settings.checkpoint_directory is not None or not folder:
        return settings.checkpoint_directory
    name = re.sub(r"[^A-Za-z0-9_-]", "_", settings.job_name)[:40]
    _names_taken[name] += 1
    return os.path.join(folder, f"{name}-{_names_taken[name]}")


@dataclass
class Program:
    """Everything an engine has to know of a job; `job_id` is known once the directory is the job's (`adopt`)."""

    plan: JobPlan
    settings: JobSettings
    directory: CheckpointDirectory
    beginning: Beginning
    is_batch_mode: bool
    job_id: str = ""

    @classmethod
    def open(cls, graph: LogicalGraph, settings: JobSettings, place: str) -> Program:
        """Compile and check a program; nothing is written yet."""
        directory = CheckpointDirectory(place, retained=settings.retained_versions)
        beginning = Beginning.find(directory, settings.recovery_path)
        plan = compile_plan(graph, settings, beginning.adopted)
        return cls(plan, settings, directory, beginning, admit(plan, settings.runtime_mode))

    def adopt(self) -> None:
        """Make the directory the job's, or check that it is."""
        self.job_id = self.beginning.adopt(
            self.directory, self.plan, allow_non_restored_state=self.settings.allow_non_restored_state
        )

    def begin(self, make_first_version: Callable[[Origin], None], declared: Callable[[], Declared]) -> None:
        """Make the first version of what another job had come to, or check the types of the job's own last version.

        `declared` finds what states the functions ask for, which means opening them: it is called only if needed.
        """
        origin = self.beginning.origin
        if origin is not None:
            made_or_abandoned(self.directory, lambda: make_first_version(origin))
        own = needs_check(self.directory, self.beginning)
        if own is not None:
            check_declared(own, self.plan, declared())

    def sources(self) -> SourceList:
        """The sources of the plan, sorted by who reads them."""
        return sources_of(self.plan, self.settings.max_records_per_batch)

    def task_settings(self, attempt: int, started_ms: int) -> TaskSettings:
        """What every subtask is told of an attempt."""
        return TaskSettings(
            job_id=self.job_id,
            attempt=attempt,
            started_ms=started_ms,
            job_parameters=self.settings.job_parameters,
            watermark_every_records=self.settings.watermark_every_records,
            is_batch_mode=self.is_batch_mode,
            is_endless=has_no_end(self.plan),
            staging=self.directory.staging_uri,
            hold=self.directory.hold,
            shares_objects=self.settings.object_reuse,
        )
