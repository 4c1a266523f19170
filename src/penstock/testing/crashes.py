"""Crash injection for in-process jobs: processes and tasks die at given steps or randomly."""

from __future__ import annotations

from penstock.engine.in_process.chances import Chances, ProcessDied
from penstock.engine.in_process.job import InProcessJob

__all__ = ["Crashes", "InjectedCrash", "trace_of"]


class InjectedCrash(ProcessDied):
    """The process of the job died here, as far as the job can tell; sinks of tests may raise it too."""


class Crashes(Chances):
    """Choices by a seed, with crashes; `trace` has a line for each step, so that two runs can be compared.

    `crash_rate` is how likely each step is to be the last of its process; as often a single task dies and is run again.
    `crash_at` are the numbers of steps (counted over the whole run, from 1) at which the process dies.
    """

    def __init__(self, seed: int | None = None, crash_rate: float = 0.0, crash_at: tuple[int, ...] = ()) -> None:
        """Begin with an empty trace."""
        super().__init__(seed)
        self.trace: list[str] = []
        self._crash_rate = crash_rate
        self._crash_at = crash_at

    def step(self, number: int, kind: str, what: object) -> None:
        """Note a step, and die if it is one to die at."""
        is_struck = self.happens(self._crash_rate) or number in self._crash_at
        self.trace.append(f"{number} {kind} {what}{' crash' if is_struck else ''}")
        if is_struck:
            raise InjectedCrash(kind)

    def loses_task(self) -> bool:
        """Let a task die, as often as a process."""
        return self.happens(self._crash_rate)


def trace_of(job: InProcessJob) -> list[str]:
    """The steps of a job so far, a line for each."""
    assert isinstance(job.chances, Crashes), "the job was started before penstock.testing was imported"
    return job.chances.trace
