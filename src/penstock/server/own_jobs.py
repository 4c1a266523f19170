"""The pages of jobs of this process, without a dispatcher: `penstock run --ui`, and the link in a notebook."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from penstock.errors import JobNotFoundError
from penstock.job.announcing import AnnouncedJob
from penstock.job.notebook import show_link
from penstock.server.access import own_access
from penstock.server.app import PAGES, create_app
from penstock.server.job_views import ClientView, JobView
from penstock.server.running import default_token_file
from penstock.server.serving import HttpServer, Place, login_link


class OwnJobs:
    """Jobs of this process in the order in which they were added; those that have ended stay."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: dict[str, JobView] = {}

    def add(self, client: AnnouncedJob) -> None:
        """Show a job; one with the same id, started before, gives way to it."""
        view = ClientView(client)
        with self._lock:
            self._views.pop(view.job_id, None)
            self._views[view.job_id] = view

    def views(self) -> list[JobView]:
        """All of them, the latest first."""
        with self._lock:
            return list(reversed(self._views.values()))

    def view(self, job_id: str) -> JobView:
        """The job with an id."""
        with self._lock:
            found = self._views.get(job_id)
        if found is None:
            raise JobNotFoundError(f"this process has no job {job_id!r}; it has {', '.join(self._views) or 'none'}")
        return found


_lock = threading.Lock()
_jobs = OwnJobs()
_servers: dict[int, HttpServer] = {}


def prepare_pages(port: int = 0) -> Callable[[Any], None]:
    """Have a server on loopback that shows jobs of this process; returns what adds a job and tells the link to it.

    The server is started once and lasts as long as the process. A link is good for some minutes; who comes later logs
    in with a token of this user, the same that `penstock server` takes.
    """
    access = own_access(default_token_file())
    with _lock:
        server = _servers.get(port)
        if server is None:
            server = HttpServer(create_app(_jobs, access, pages=PAGES), Place(port=port))
            server.start()
            _servers[port] = server

    def show(client: Any) -> None:
        _jobs.add(client)
        # A browser keeps what is behind # when it is sent on to the pages.
        link = f"{login_link(server.url, access)}#/jobs/{client.get_job_id()}"
        if not show_link(link, "Open the pages of this job"):
            sys.stderr.write(f"penstock: open {link} to watch the job (the link is good for 10 minutes)\n")
            sys.stderr.flush()

    return show
