"""`make bench`: the same jobs in Penstock and in its peers, in turn, on this machine; a table, and a file of results.

Every run is a process of its own, in the environment of its system: the small input to warm up, then the small and the
large one, whose difference gives the speed in steady state.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from rich.console import Console

from benchmarks import peer_environments, processes, results, tables
from benchmarks.catalogue import PARALLELISM, QUICK, SYSTEMS, WORKLOADS, System, Workload
from benchmarks.expected import RECORDS, differences, shortened
from benchmarks.peers.reporting import Task
from benchmarks.steady import Measured, speed
from penstock.java import java_home

LIMIT_S = 300
LOGS = results.ROOT / ".bench" / "logs"
Plan = list[tuple[int, Workload, System]]


def main(words: list[str] | None = None) -> int:
    """Measure, store and print; exits with 1 if a run failed, whatever the figures are."""
    arguments = _arguments(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that it ends as by Ctrl-C: with its processes
    plan = plan_of(arguments)
    console = Console(width=max(Console().width, 120))
    missing = unprepared(plan)
    try:
        if arguments.verify:
            return verify(console, plan, missing)
        return compare(console, arguments, plan, missing)
    except KeyboardInterrupt:
        console.print("Stopped; what was measured is kept, and --append goes on from there.")
        return 130


def unprepared(plan: Plan) -> dict[str, str]:
    """Make the environments of a plan; returns those that could not be made, and why."""
    found = {}
    for environment in sorted({system.environment for _, _, system in plan}):
        try:
            peer_environments.prepare(environment)
        except (OSError, subprocess.CalledProcessError) as error:
            found[environment] = f"its environment could not be made: {error}"
    return found


def compare(console: Console, arguments: argparse.Namespace, plan: Plan, missing: dict[str, str]) -> int:
    """Measure all runs of a plan; what is stored is whole after each of them."""
    if arguments.quick:
        console.print("The quick comparison: three workloads, the nearest peers, one round.")
    content = _beginning(arguments, {system.environment for _, _, system in plan} - set(missing))
    for number, (turn, workload, system) in enumerate(plan, 1):
        if system.environment in missing:
            found = failed(workload, system, turn, missing[system.environment])
        else:
            found = measure(workload, system, turn, arguments.seconds, arguments.scale)
        keep(content, found)
        results.write(arguments.output.stem, content, arguments.output.parent)
        console.print(f"{number}/{len(plan)} {tables.line(found)}", highlight=False, markup=False)
    tables.show(console, content)
    console.print(f"Results: {arguments.output}")
    return 1 if any(run["error"] for run in content["runs"]) else 0


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="WORKLOAD,...", help=f"some of {', '.join(WORKLOADS)}")
    parser.add_argument("--systems", metavar="SYSTEM,...", help=f"some of {', '.join(SYSTEMS)}")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run")
    parser.add_argument("--seconds", type=float, help="how long the large input is to take, about: 5, if --quick 2")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer records than that")
    parser.add_argument("--quick", action="store_true", help="three workloads, the nearest peers, one round")
    parser.add_argument("--append", action="store_true", help="add to the results, or replace runs of theirs")
    parser.add_argument("--verify", action="store_true", help="check that all give the right results, on little input")
    parser.add_argument("--output", type=Path, help="the file of results")
    arguments = parser.parse_args(words)
    for option, known in (("only", WORKLOADS), ("systems", SYSTEMS)):
        unknown = set((getattr(arguments, option) or "").split(",")) - set(known) - {""}
        if unknown:
            parser.error(f"--{option}: unknown {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if arguments.quick or arguments.verify:
        arguments.rounds = 1
    arguments.seconds = arguments.seconds or (2.0 if arguments.quick else 5.0)
    if arguments.output is None:
        arguments.output = LOGS.parent / "quick.json" if arguments.quick else results.FOLDER / "peers.json"
    return arguments


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The runs in their order: all systems at a workload one after another, another one first in each round."""
    chosen = arguments.only.split(",") if arguments.only else list(QUICK if arguments.quick else WORKLOADS)
    systems = arguments.systems.split(",") if arguments.systems else list(SYSTEMS)
    plan: Plan = []
    for turn in range(1, arguments.rounds + 1):
        for name in chosen:
            workload = WORKLOADS[name]
            taking_part = QUICK.get(name, ()) if arguments.quick else workload.rates
            names = [system for system in taking_part if system in systems]
            first = (turn - 1) % len(names) if names else 0
            plan += [(turn, workload, SYSTEMS[system]) for system in names[first:] + names[:first]]
    return plan


def _beginning(arguments: argparse.Namespace, environments: set[str]) -> dict[str, Any]:
    """The heading, and with `--append` the runs that are there."""
    before = results.read(arguments.output.stem, arguments.output.parent) if arguments.append else None
    versions = dict(before["versions"]) if before else {}
    for environment in sorted(environments - {"penstock"}):
        package = peer_environments.PACKAGES[environment]
        versions[package] = peer_environments.version(environment)
    rounds = max(arguments.rounds, before["rounds"] if before else 0)
    heading = results.heading(parallelism=PARALLELISM, rounds=rounds)
    versions = {**versions, **heading["versions"]}
    earlier = [*before.get("earlier", []), {"date": before["date"], "commit": before["commit"]}] if before else []
    return {**heading, "versions": versions, "earlier": earlier, "runs": before["runs"] if before else []}


def measure(workload: Workload, system: System, turn: int, seconds: float, scale: float) -> dict[str, Any]:
    """One run, as it stands in the file of results."""
    small, large = workload.sizes(system, seconds, scale)
    ended, reported = run(workload, system, [small, small, large])
    measured = speed(reported, ended.started) if ended.error is None else Measured(None, None, ended.error)
    return {
        **failed(workload, system, turn, measured.error),
        "small": _size(reported, 1),
        "large": _size(reported, 2),
        "records_per_second": measured.records_per_second,
        "startup_seconds": measured.startup_seconds,
        "peak_mb": round(ended.peak_mb),
        "processor_us": processor_us(ended, reported) if measured.error is None else None,
    }


def processor_us(ended: processes.Ended, reported: list[dict[str, Any]]) -> float:
    """Microseconds of processor time of a record, in steady state: what a busy machine changes least."""
    warm, small, large = (ended.processor_s_until(each["ended"]) for each in reported)
    records = reported[2]["records"] - reported[1]["records"]
    return round(((large - small) - (small - warm)) / records * 1e6, 3)


def failed(workload: Workload, system: System, turn: int, error: str | None) -> dict[str, Any]:
    """A run that has measured nothing."""
    names = {"workload": workload.id, "system": system.id, "round": turn, "small": None, "large": None}
    figures = ("records_per_second", "startup_seconds", "peak_mb", "processor_us")
    return {**names, **dict.fromkeys(figures), "error": error}


def _size(reported: list[dict[str, Any]], place: int) -> dict[str, Any] | None:
    return {key: reported[place][key] for key in ("records", "seconds")} if place < len(reported) else None


def run(
    workload: Workload, system: System, sizes: list[int], *, collect: bool = False
) -> tuple[processes.Ended, list[dict[str, Any]]]:
    """Run a job of a system in a process of its own; returns what it has reported."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        report = folder / "report"
        task = Task(
            job=workload.job,
            report=str(report),
            sizes=sizes,
            keys=workload.keys,
            zipf=workload.zipf,
            rate=workload.rate,
            # So few records are over before the second reader of Flink has begun: the first one would take its half
            # too, behind its own watermark.
            parallelism=1 if collect and system.environment == "flink" else PARALLELISM,
            checkpoint_ms=workload.checkpoint_ms,
            collect=collect,
            options=workload.options_of(system),
        )
        python = peer_environments.python_of(system.environment)
        command = [python, "-m", f"benchmarks.{system.module}", task.as_json()]
        ended = processes.run(command, environment_of(python, folder), folder, LIMIT_S)
        if ended.error is not None:
            LOGS.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / "log", LOGS / f"{workload.id}-{system.id}.log")
        lines = report.read_text().splitlines() if report.exists() else []
        return ended, [json.loads(line) for line in lines]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment_of(python: str, folder: Path) -> dict[str, str]:
    """Variables of a run: its own Python first in the path, as PyFlink needs it, all temporary files in one folder."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK", "SPARK", "PYTHON"))}
    return {
        **kept,
        "PATH": os.path.dirname(python) + os.pathsep + os.environ.get("PATH", ""),
        "PYTHONPATH": os.pathsep.join([str(results.ROOT), str(results.ROOT / "src")]),
        "JAVA_HOME": str(java_home()),
        "TMPDIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={folder}",
    }


def keep(content: dict[str, Any], found: dict[str, Any]) -> None:
    """Add a run, in place of one of the same workload, system and round."""
    names = ("workload", "system", "round")
    others = [run for run in content["runs"] if any(run[name] != found[name] for name in names)]
    content["runs"] = [*others, found]


def verify(console: Console, plan: Plan, missing: dict[str, str]) -> int:
    """Compare what each system puts out with plain Python; exits with 1 if one differs or failed."""
    wrong = 0
    for _, workload, system in plan:
        found = missing.get(system.environment) or wrong_results(workload, system)
        wrong += found is not None
        console.print(f"{workload.id}, {system.id}: {found or 'right'}", highlight=False, markup=False)
    return 1 if wrong else 0


def wrong_results(workload: Workload, system: System) -> str | None:
    """What is wrong with the results of a system, if anything."""
    short = shortened(workload)
    ended, reported = run(short, system, [RECORDS], collect=True)
    return ended.error or differences(short, RECORDS, reported[0]["results"])


if __name__ == "__main__":
    sys.exit(main())
