"""What a job of the comparison is told, and how it tells its times: one line of JSON for each number of records.

Imports the standard library only: environments of all systems load it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

WINDOW_S = 10
SLIDING_S = 60
SESSION_GAP_S = 10


@dataclass(frozen=True)
class Task:
    """One run of a system: a job, and the numbers of records that it is run with one after another.

    `rate` is records in a second of event time. With `collect` the results are reported in place of thrown away.
    """

    job: str
    report: str
    sizes: list[int]
    keys: int = 2_000
    zipf: bool = False
    rate: int = 10_000
    parallelism: int = 2
    checkpoint_ms: int = 0
    collect: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        """How the task is handed to a process."""
        return json.dumps(asdict(self))


Run = Callable[[Task, int], "list[Any] | None"]


def serve(run: Run, arguments: list[str]) -> None:
    """Run the task that the command line holds, with each number of records, and report the seconds of each."""
    end_with_the_parent()
    task = Task(**json.loads(arguments[0]))
    with open(task.report, "a", encoding="utf-8") as report:
        for records in task.sizes:
            started = time.monotonic()
            results = run(task, records)
            found = {"records": records, "seconds": time.monotonic() - started, "ended": time.time()}
            report.write(json.dumps({**found, "results": results}) + "\n")
            report.flush()


def end_with_the_parent() -> None:
    """Die when the runner does: it holds the other end of the input of this process, and never writes to it."""

    def wait() -> None:
        # Not through sys.stdin: its lock, held by a thread that waits, would break the end of the interpreter.
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
