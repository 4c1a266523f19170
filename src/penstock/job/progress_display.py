"""One line on a terminal or in a notebook that says where a running job is; silent where nobody looks."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from penstock.common.job_progress import Pace, Progress
from penstock.common.job_status import JobStatus
from penstock.job.notebook import notebook_line

_REFRESH_SECONDS = 0.25
_WORTH_TELLING = 0.005


class ProgressDisplay:
    """Shows progress while a `with` block lasts, in a notebook or if standard error is a terminal."""

    def __init__(self, job_name: str, current: Callable[[], tuple[JobStatus, Progress]]) -> None:
        self._console = Console(stderr=True)
        self._notebook = notebook_line()
        self._job_name = job_name
        self._current = current
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> ProgressDisplay:
        show = self._show if self._notebook is None else self._show_in_notebook
        if self._notebook is not None or self._console.is_terminal:
            # With the context of the caller, by which a notebook knows which cell is meant.
            run = contextvars.copy_context().run
            self._thread = threading.Thread(target=run, args=(show,), name="penstock-progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            if self._notebook is None:
                self._console.print(escape(self._line()))
            else:
                self._notebook(self._line())

    def _show(self) -> None:
        with Status(escape(self._line()), console=self._console) as status:
            while not self._stop.wait(_REFRESH_SECONDS):
                status.update(escape(self._line()))

    def _show_in_notebook(self) -> None:
        assert self._notebook is not None
        last = ""
        while True:
            line = self._line()
            if line != last:
                self._notebook(line)
            last = line
            if self._stop.wait(_REFRESH_SECONDS):
                return

    def _line(self) -> str:
        status, progress = self._current()
        return f"{self._job_name}: {status.name.lower()} · {describe(progress)}"


def describe(progress: Progress) -> str:
    """A progress as one line."""
    if progress.batch < 0:
        return " · ".join(["waiting for the first batch", *_failures(progress)])
    parts = [f"batch {progress.batch}", f"{progress.records:,} records at {progress.records_per_second:,.0f}/s"]
    if progress.watermark is not None:
        parts.append(f"watermark {format_time(progress.watermark)}")
    if progress.lag_ms is not None:
        parts.append(f"lag {format_lag(progress.lag_ms)}")
    return " · ".join(parts + _held_back(progress) + _intake(progress.pace) + _failures(progress))


def _held_back(progress: Progress) -> list[str]:
    """Which input event time waits for."""
    waited_for = [each.split or each.name for each in progress.event_time_holders if not each.is_quiet]
    return [f"event time waits for {', '.join(waited_for)}"] if waited_for else []


def _failures(progress: Progress) -> list[str]:
    """How often the job was restarted, and why."""
    failure = progress.last_failure
    if failure is None:
        return []
    times = "once" if progress.restarts == 1 else f"{progress.restarts} times"
    return [f"restarted {times}, last failure {format_time(failure.at_ms)}: {failure.summary}"]


def _intake(pace: Pace | None) -> list[str]:
    """How the sources are paced, where they have to wait."""
    if pace is None or pace.backpressured < _WORTH_TELLING:
        return []
    waiting = "" if pace.backlog is None else f", {pace.backlog:,} waiting"
    return [f"backpressured {pace.backpressured:.0%} ({pace.limit:,} a batch of {pace.batch_ms / 1000:.1f} s{waiting})"]


def format_time(milliseconds: int) -> str:
    """Event time for people; numbers that are no date stay numbers."""
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
        is_today = when.date() == datetime.now(UTC).date()
        return when.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def format_lag(milliseconds: int) -> str:
    """A lag for people, in the largest unit that says something."""
    seconds = milliseconds / 1000
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.1f} s"
