"""`make bench-latency`: the delay of a record in every system, job and rate, one process at a time."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import peer_environments, processes, results
from benchmarks.delays.kafka_ends import open_ends
from benchmarks.delays.marks import START_S, DelayTask
from benchmarks.delays.stolen import StolenBySecond, StolenTime
from benchmarks.delays.summary import is_unmeasured, measured
from benchmarks.delays.systems import JOBS, RATES, SYSTEMS
from penstock.java import java_home

PARALLELISM = 2
_PEERS = ("flink", "bytewax")
_WIDTH = 150
"""Columns of the table, where the output is no terminal."""


def main(words: list[str] | None = None) -> int:
    """Measure, print and store."""
    asked = _asked(words)
    systems = [name for name in SYSTEMS if name in asked.systems]
    for environment in dict.fromkeys(SYSTEMS[name].environment for name in systems):
        peer_environments.prepare(environment)
    runs: list[dict[str, Any]] = []
    for rate in asked.rates:
        for job in asked.jobs:
            for name in (each for each in systems if job not in SYSTEMS[each].lacks):
                for turn in range(asked.rounds):
                    run = _run(name, job, rate, asked)
                    Console().print(_line(run, turn + 1))
                    runs.append(run)
    Console(width=max(Console().width, _WIDTH)).print(_table(runs))
    if not asked.dry:
        _store(runs, asked)
    return 0


def _asked(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-latency", description=__doc__)
    parser.add_argument("--systems", type=_listed, default=list(SYSTEMS), help=", ".join(SYSTEMS))
    parser.add_argument("--jobs", type=_listed, default=list(JOBS), help=", ".join(JOBS))
    parser.add_argument("--rates", type=lambda text: list(map(int, _listed(text))), default=list(RATES))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--warm-up", type=float, default=15, help="seconds that are left out")
    parser.add_argument("--seconds", type=float, default=20, help="seconds that are measured")
    parser.add_argument("--checkpoint-ms", type=int, default=1_000)
    parser.add_argument("--append", action="store_true", help="keep the stored results of what is not measured now")
    parser.add_argument("--dry", action="store_true", help="store nothing")
    asked = parser.parse_args(words)
    for given, known in ((asked.systems, SYSTEMS), (asked.jobs, JOBS)):
        for name in given:
            if name not in known:
                parser.error(f"there is no {name!r}; there are {', '.join(known)}")
    return asked


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _run(name: str, job: str, rate: int, asked: argparse.Namespace) -> dict[str, Any]:
    system = SYSTEMS[name]
    with tempfile.TemporaryDirectory(prefix="delays-") as place:
        folder = Path(place)
        marks = folder / "marks"
        marks.mkdir()
        seconds = asked.warm_up + asked.seconds + 2  # the last second is not written
        task = DelayTask(job, str(marks), rate, seconds, PARALLELISM, asked.checkpoint_ms, dict(system.options))
        command = [peer_environments.python_of(system.environment), "-m", f"benchmarks.delays.{system.program}"]
        variables = _variables(folder)
        ends = open_ends(task, folder, variables) if job == "kafka" else nullcontext(task)
        stolen = StolenTime()
        limit = seconds + 2 * START_S
        with ends as given, StolenBySecond() as by_second:
            may_look = partial(is_unmeasured, marks, asked.warm_up, asked.seconds)
            ended = processes.run([*command, given.as_json()], variables, folder, limit, may_look)
        told = {"error": None, "peak_mb": round(ended.peak_mb), "stolen": stolen.share()}
        found = measured(marks, asked.warm_up, asked.seconds, by_second.is_quiet)
        if found is None and ended.error:
            told["error"] = ended.error
            Path(tempfile.gettempdir(), f"{name}-{job}-{rate}.log").write_text((folder / "log").read_text())
    return {"system": name, "job": job, "rate": rate, **told, **(found or {})}


def _variables(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(results.ROOT), str(results.ROOT / "src")])
    given = {"JAVA_HOME": str(java_home()), "PYTHONPATH": path, "TMPDIR": str(folder)}
    return {**os.environ, **given}


def _line(run: dict[str, Any], turn: int) -> str:
    told = run["error"] or "no result" if "p50" not in run else f"p50 {run['p50']:g} ms, p99 {run['p99']:g} ms"
    quiet = run.get("quiet", {})
    if "p50" in run:
        told += f", {run['per_second']:,} results/s"
    if "p50" in quiet:
        told += f"; in {quiet['seconds']} quiet seconds {quiet['p50']:g} and {quiet['p99']:g} ms"
    return f"{run['job']}, {run['rate']:,}/s, {SYSTEMS[run['system']].title}, round {turn}: {told}"


def _table(runs: list[dict[str, Any]]) -> Table:
    table = Table(title=f"Delay in ms until the result is there, parallelism {PARALLELISM}")
    for title in ("job", "records/s", "system"):
        table.add_column(title)
    for title in ("p50", "p90", "p99", "p99.9", "max", "quiet s", "p50", "p99", "results/s", "MB"):
        table.add_column(title, justify="right")
    for run in runs:
        figures = [f"{run[name]:,.1f}" if name in run else "-" for name in ("p50", "p90", "p99", "p999", "max")]
        quiet = run.get("quiet", {})
        figures += [f"{quiet[name]:,.1f}" if name in quiet else "-" for name in ("seconds", "p50", "p99")]
        told = [f"{run.get('per_second', 0):,}", f"{run['peak_mb']:,}"]
        table.add_row(run["job"], f"{run['rate']:,}", SYSTEMS[run["system"]].title, *figures, *told)
    return table


def _store(runs: list[dict[str, Any]], asked: argparse.Namespace) -> None:
    kept: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    if asked.append and (stored := results.read("delays")):
        new = {(run["system"], run["job"], run["rate"]) for run in runs}
        kept = [run for run in stored["runs"] if (run["system"], run["job"], run["rate"]) not in new]
        versions = {each: stored["versions"][each] for each in _PEERS if each in stored["versions"]}
    measured_now = {SYSTEMS[run["system"]].environment for run in runs}
    versions |= {each: peer_environments.version(each) for each in _PEERS if each in measured_now}
    heading = results.heading(parallelism=PARALLELISM, rounds=asked.rounds, **versions)
    timing = {"checkpoint_ms": asked.checkpoint_ms, "warm_up_s": asked.warm_up, "seconds": asked.seconds}
    results.write("delays", {**heading, **timing, "runs": kept + runs})


if __name__ == "__main__":
    sys.exit(main())
