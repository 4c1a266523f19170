"""`JobFailure`: one failure of a job, which may have been restarted after it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

__all__ = ["JobFailure", "log_restart", "summary_of"]

_log = logging.getLogger(__name__)

_SUMMARY_LENGTH = 300
_PLACE = "in operator "


@dataclass(frozen=True)
class JobFailure:
    """One failure: its text, which begins with the user's traceback, and how the job reacted.

    `attempt` counts the starts of the job, from 0. `restart_in_ms` is how long the job waits before it starts again,
    None if the failure ended it.
    """

    text: str
    attempt: int
    at_ms: int
    restart_in_ms: int | None = None

    @property
    def summary(self) -> str:
        """The failure in one line: the error, and the operator if one is known."""
        return summary_of(self.text)


def summary_of(text: str) -> str:
    """One line for the text of a failure: what was raised stands last in a traceback, and before the operator."""
    lines = [line for line in text.splitlines() if line.strip()]
    places = [number for number, line in enumerate(lines) if line.startswith(_PLACE)]
    if places and places[0] > 0:
        found = f"{lines[places[0] - 1]}, {lines[places[0]]}"
    elif lines and lines[0].startswith("Traceback"):
        raised = [line for line in lines[1:] if not line[0].isspace()]
        found = raised[0] if raised else lines[0]
    else:
        found = lines[0] if lines else ""
    return found if len(found) <= _SUMMARY_LENGTH else f"{found[: _SUMMARY_LENGTH - 1]}…"


def log_restart(failure: JobFailure, job_name: str) -> None:
    """Log why a job is restarted; without logging handlers, Python prints it to standard error."""
    _log.warning(
        "job %r failed in attempt %d and is restarted in %.1f s: %s\n%s",
        job_name,
        failure.attempt,
        (failure.restart_in_ms or 0) / 1000,
        failure.summary,
        failure.text,
    )
