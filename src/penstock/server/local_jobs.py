"""The jobs of this user on this machine: those that run, by their cards, and those that ended, by what they left."""

from __future__ import annotations

from penstock.errors import JobNotFoundError
from penstock.job.cards import CardFolder
from penstock.job.ended_jobs import EndedJobs
from penstock.job.running_jobs import RunningJob
from penstock.server.checked_documents import flaw
from penstock.server.job_views import DriverView, EndedView, JobView


class LocalJobs:
    """Looks at the folders of the user each time it is asked: nothing can be out of date."""

    def __init__(self) -> None:
        self._cards = CardFolder.of_this_user()
        self._ended = EndedJobs.of_this_user()
        self._known: dict[str, EndedView | None] = {}

    def views(self) -> list[JobView]:
        """Running jobs first, then those that ended, the latest first."""
        found: dict[str, JobView] = {}
        for running in self.running():
            found.setdefault(running.job_id, running)
        for view in self.left():
            found.setdefault(view.job_id, view)
        return list(found.values())

    def view(self, job_id: str) -> JobView:
        """The job with an id; one that runs wins over what it left when it ran before."""
        for view in self.views():
            if view.job_id == job_id:
                return view
        raise JobNotFoundError(f"no job has the id {job_id!r}; /jobs/overview lists those that are known")

    def left(self) -> list[EndedView]:
        """What jobs left, the latest first; a file is read once, for it does not change."""
        names = self._ended.names()
        for name in names:
            if name not in self._known:
                document = self._ended.read(name)
                self._known[name] = EndedView(document) if flaw(document) is None else None
        for name in self._known.keys() - set(names):
            del self._known[name]
        return [view for name in reversed(names) if (view := self._known[name]) is not None]

    def running(self) -> list[DriverView]:
        """Those that run, the latest first."""
        cards = [card for card in reversed(self._cards.cards()) if card.has_process()]
        return [DriverView(RunningJob(card, self._cards)) for card in cards]
