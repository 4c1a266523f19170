"""Start a program as a job in this process."""

from __future__ import annotations

from penstock.common.job_client import JobClient
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.job import InProcessJob
from penstock.engine.in_process.live import submit_live
from penstock.engine.in_process.options import InProcessOptions
from penstock.engine.in_process.program_files import make_importable, refuse_shipped_files
from penstock.graph import JobSettings, LogicalGraph
from penstock.job.requirements import make_requirements_importable


def submit(graph: LogicalGraph, settings: JobSettings, options: InProcessOptions | None) -> JobClient:
    """Check a program and make it a job in this process.

    With options, or a seed in the settings, it is a test: time is made up, and batches run while somebody waits for
    them. Without, the program is tried as it is: the job runs by itself, in real time.
    """
    refuse_shipped_files(settings)
    make_importable(settings.python_files)
    make_requirements_importable(settings.python_requirements)
    if options is None and settings.seed is not None:
        options = InProcessOptions(settings.seed)
    if options is None:
        return submit_live(graph, settings)
    return InProcessJobClient(InProcessJob(graph, settings, options))
