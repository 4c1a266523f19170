"""What an idle dispatcher costs: memory and processor time with ended jobs in its history and jobs running beside it.

`python -m benchmarks.dispatcher [--ended 50] [--running 5] [--seconds 30]` starts a server in a temporary folder, gives
it a history and running jobs of the in-process engine, lets it be, and reads what the process has used.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

JOB = """
import sys
from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda index: index, 10**9, RateLimiterStrategy.per_second(10.0))
stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").key_by(lambda value: value % 7)
stream.reduce(lambda one, other: one + other).map(lambda value: value).print()
env.execute(sys.argv[1])
"""
SETTINGS = ["-Dpenstock.engine=in-process", "-Dexecution.checkpointing.interval=5s", "-p", "2"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ended", type=int, default=50)
    parser.add_argument("--running", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-dispatcher-") as folder:
        print(json.dumps(measured(Path(folder), given.ended, given.running, given.seconds), indent=2))


def measured(folder: Path, ended: int, running: int, seconds: float) -> dict[str, Any]:
    """Memory in MB, and processor time as a share of one core."""
    os.environ["PENSTOCK_HOME"] = str(folder / "h")
    (folder / "job.py").write_text(JOB)
    log = folder / "server.log"
    with open(log, "w") as stream:
        command = [sys.executable, "-m", "penstock", "server", "--port", "0", "--no-token"]
        server = subprocess.Popen(command, stdout=stream, stderr=stream)
    drivers: list[int] = []
    try:
        drivers = [start(folder, number) for number in range(running)]
        url = address(log)
        give_history(folder, url, ended)
        await_jobs(url, ended + running)
        before, began = processor_seconds(server.pid), time.monotonic()
        time.sleep(seconds)
        share = (processor_seconds(server.pid) - before) / (time.monotonic() - began)
        looked_at = memory_mb(server.pid)
        return {
            "ended_jobs": ended,
            "running_jobs": running,
            "memory_mb": round(looked_at, 1),
            "processor_percent": round(share * 100, 2),
            "seconds": seconds,
        }
    finally:
        for pid in drivers:
            os.kill(pid, signal.SIGKILL)
        server.terminate()
        server.wait(30)


def start(folder: Path, number: int) -> int:
    """A job in the background; returns its process."""
    command = [sys.executable, "-m", "penstock", "run", "--detached", "--json", *SETTINGS]
    told = subprocess.run([*command, str(folder / "job.py"), f"job {number}"], capture_output=True, check=True)
    return int(json.loads(told.stdout)["pid"])


def give_history(folder: Path, url: str, ended: int) -> None:
    """Ended jobs, made from what a running one says of itself."""
    from penstock.job.ended_jobs import EndedJobs

    job = ask(url, "/jobs")["jobs"][0]["id"]
    document = ask(url, f"/penstock/jobs/{job}")
    for _ in range(ended):
        now = time.time_ns() // 1_000_000
        over = {"id": uuid.uuid4().hex, "status": "FINISHED", "ended_ms": now, "now_ms": now}
        EndedJobs.of_this_user().keep({**document, **over})


def await_jobs(url: str, wanted: int) -> None:
    """Wait until the dispatcher knows them all, and has been asked for all of them as a page would."""
    deadline = time.monotonic() + 120
    while len(ask(url, "/jobs/overview")["jobs"]) < wanted:
        if time.monotonic() > deadline:
            raise SystemExit("the dispatcher does not know all jobs")
        time.sleep(0.5)


def address(log: Path) -> str:
    deadline = time.monotonic() + 120
    while "penstock server at " not in log.read_text():
        if time.monotonic() > deadline:
            raise SystemExit(log.read_text())
        time.sleep(0.1)
    return log.read_text().split("penstock server at ")[1].split()[0]


def ask(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path, timeout=60) as answer:
        return json.load(answer)


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


if __name__ == "__main__":
    main()
