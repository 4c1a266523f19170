"""`python -m benchmarks.delays.soak`: continuous mode for half an hour; do delays, memory, threads or files grow?

Prints a line for every minute, and at the end whether the last minutes are like the first ones after the warm-up.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

from benchmarks import peer_environments, results
from benchmarks.delays.marks import DelayTask, seconds_of
from benchmarks.delays.stolen import StolenTime
from benchmarks.delays.summary import percentile
from benchmarks.delays.systems import SYSTEMS
from penstock.java import java_home

_MINUTE = 60
_LONGER = 30
"""For the last minute to be looked at before the job ends."""


def main(words: list[str] | None = None) -> int:
    """Run, print and store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.delays.soak", description=__doc__)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--rate", type=int, default=5_000)
    parser.add_argument("--job", default="count")
    parser.add_argument("--dry", action="store_true", help="store nothing")
    asked = parser.parse_args(words)
    minutes = run(asked.job, asked.rate, asked.minutes)
    if len(minutes) < asked.minutes:
        print(f"the job ended after {len(minutes)} of {asked.minutes} minutes", file=sys.stderr)
        return 1
    if not asked.dry:
        heading = results.heading(parallelism=2, rounds=1)
        results.write("soak", {**heading, "job": asked.job, "rate": asked.rate, "minutes": minutes})
    return 0


def run(job: str, rate: int, minutes: int) -> list[dict[str, Any]]:
    """The figures of each minute."""
    system = SYSTEMS["penstock_continuous"]
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        folder = Path(place)
        (folder / "marks").mkdir()
        seconds = minutes * _MINUTE + _LONGER
        task = DelayTask(job, str(folder / "marks"), rate, seconds, options=dict(system.options))
        path = os.pathsep.join([str(results.ROOT), str(results.ROOT / "src")])
        variables = {**os.environ, "JAVA_HOME": str(java_home()), "PYTHONPATH": path, "TMPDIR": place}
        command = [peer_environments.python_of(system.environment), "-m", f"benchmarks.delays.{system.program}"]
        with (folder / "log").open("wb") as log:
            # It ends when nobody holds the other end of its input.
            process = subprocess.Popen(
                [*command, task.as_json()], env=variables, cwd=place, stdin=subprocess.PIPE, stdout=log, stderr=log
            )
            found: list[dict[str, Any]] = []
            stolen = StolenTime()
            try:
                while process.poll() is None and len(found) < minutes:
                    time.sleep(_MINUTE)  # what is measured is a minute
                    found.append({**_delays(folder / "marks"), **_size(process.pid), "stolen": stolen.share()})
                    print(json.dumps({"minute": len(found), **found[-1]}), flush=True)
                process.wait(120)
            finally:
                if process.poll() is None:
                    process.kill()
        print((folder / "log").read_text()[-2_000:], file=sys.stderr)
    return found


def _delays(marks: Path) -> dict[str, Any]:
    """Delays of the last minute."""
    counts: Counter[int] = Counter()
    since = time.time() - _MINUTE
    for second, found in seconds_of(marks).items():
        if second >= since:
            counts.update(found)
    if not counts:
        return {"records": 0}
    shares = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
    return {"records": sum(counts.values()), **{name: percentile(counts, share) for name, share in shares.items()}}


def _size(pid: int) -> dict[str, int]:
    """Memory, threads, open files and processor time of all processes of the job."""
    total: Counter[str] = Counter()
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        try:
            kind = "java" if "java" in process.name() else "python"
            total[f"{kind}_mb"] += process.memory_info().rss >> 20
            total["threads"] += process.num_threads()
            total["files"] += process.num_fds()
            total["processes"] += 1
            total["cpu_s"] += round(sum(process.cpu_times()[:2]))
        except psutil.NoSuchProcess:
            continue
    return dict(total)


if __name__ == "__main__":
    sys.exit(main())
