"""The process that Spark forks its Python workers from, with what all of them need imported before the fork.

Spark's own daemon has every worker import pandas, pyarrow and the rest for itself, which costs each of them more than a
second. The daemon itself is Spark's.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from pathlib import Path

from penstock.engine.spark.startup.session_config import QUIET_DAEMON
from penstock.engine.spark.worker_deaths import note_deaths

_PIPELINED = "penstock.engine.spark.continuous.pipelined"  # imports Spark: not where others import this module
PRELOADED = ("pandas", "pyspark.worker", "penstock.datastream", "penstock.engine.spark.tasks", _PIPELINED)
_PLAIN_DAEMON = "pyspark.daemon"
# Comes with pyarrow, whether its allocator is used or not; jemalloc stops it before a fork and starts it after.
_FORK_SAFE_THREADS = {"jemalloc_bg_thd"}
_THREADS = Path("/proc/self/task")


def preload() -> None:
    """Import what all workers need."""
    for name in PRELOADED:
        import_module(name)
    # Python's own generator does this by itself; without it all workers would draw the same numbers.
    os.register_at_fork(after_in_child=import_module("numpy.random").seed)


def other_threads(threads: Path = _THREADS) -> list[str]:
    """Names of threads that a child would lack, with the locks they may hold."""
    names = [(thread / "comm").read_text().strip() for thread in threads.iterdir() if thread.name != str(os.getpid())]
    return [name for name in names if name not in _FORK_SAFE_THREADS]


def main() -> None:
    """Be the daemon; where anything is not as it should be, Spark's own without preparation."""
    try:
        preload()
        is_ready = not other_threads()
    except Exception as error:
        print(f"Workers are started without preparation: {error!r}", file=sys.stderr)
        is_ready = False
    if not is_ready:
        os.execv(sys.executable, [sys.executable, "-m", _PLAIN_DAEMON, *sys.argv[1:]])
    # What is here stays: collections in the workers need not look at it, and pages stay shared.
    gc.collect()
    gc.freeze()
    import_module(_PIPELINED).read_without_threads()
    note_deaths(os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None)
    import_module(QUIET_DAEMON).manage_workers()


if __name__ == "__main__":
    main()
