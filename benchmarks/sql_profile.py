"""`python -m benchmarks.sql_profile [WORKLOAD ...]`: what a row costs in SQL, in one process, without Spark.

Prints the processor time of a record of each SQL workload; with `--functions N` also the functions that take most of it
(a profiler makes Python's calls dearer than they are, so compare shares, and only of functions of one kind).
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from typing import Any

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks.catalogue import PARALLELISM, SYSTEMS, WORKLOADS, Workload
from benchmarks.peers import penstock_sql
from benchmarks.peers.reporting import Task
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.batches import BatchRunner

RECORDS = 1_000_000
WARM_UP = 20_000


def run(workload: Workload, records: int) -> float:
    """Run a query over so many records; returns the seconds of processor time."""
    configuration = Configuration()
    for key, value in workload.options_of(SYSTEMS["penstock"]).items():
        configuration.set_string(key, str(value))
    environment = StreamExecutionEnvironment.in_process(configuration=configuration).set_parallelism(PARALLELISM)
    task = Task(workload.job, "", [], workload.keys, workload.zipf, workload.rate)
    started = time.process_time()
    penstock_sql.run(environment, task, records)
    return time.process_time() - started


def profiled(workload: Workload, records: int, functions: int) -> None:
    """Run a query with a profiler around its batches, and print what it says."""
    profile, run_batch = cProfile.Profile(), BatchRunner.run_batch

    def run_profiled(*arguments: Any) -> Any:
        return profile.runcall(run_batch, *arguments)

    BatchRunner.run_batch = run_profiled  # type: ignore[method-assign]
    try:
        run(workload, records)
    finally:
        BatchRunner.run_batch = run_batch  # type: ignore[method-assign]
    pstats.Stats(profile).sort_stats("tottime").print_stats(functions)


def main(words: list[str] | None = None) -> int:
    """Measure and print."""
    known = [name for name, workload in WORKLOADS.items() if penstock_sql.is_sql(workload.job)]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", help=f"some of {', '.join(known)}")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="print the N most expensive functions")
    arguments = parser.parse_args(words)
    unknown = set(arguments.workloads) - set(known)
    if unknown:
        parser.error(f"unknown {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in arguments.workloads or known:
        run(WORKLOADS[name], WARM_UP)
        seconds = run(WORKLOADS[name], arguments.records)
        print(f"{name}: {seconds / arguments.records * 1e6:.2f} us of processor time for a record", flush=True)
        if arguments.functions:
            profiled(WORKLOADS[name], arguments.records, arguments.functions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
