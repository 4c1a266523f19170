"""The Python that Spark starts its processes with: this one, and in local mode with PySpark as it is installed.

Spark puts a zipped copy of PySpark in front of the path of each of its Python processes. Code in a zip is compiled at
every start: most of a second for each process, of which a first job has five.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pyspark

from penstock.engine.spark.startup import fork_client
from penstock.engine.spark.startup.session_config import QUIET_DAEMON, SOURCE_RUNNER
from penstock.user_cache import user_cache, write_program

_SCRIPT = """#!/bin/sh
# Written by Penstock: Python without the zipped copies of PySpark and Py4J that Spark puts in front of its path, with a
# process for workers that is quiet when Java hangs up, and forked from one that is ready where there is such a one.
kept=
set -f
IFS=:
for entry in $PYTHONPATH; do
    case $entry in
    */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
    *) kept=${{kept:+$kept:}}$entry ;;
    esac
done
export PYTHONPATH="$kept"
if [ "$1 $2" = "-m pyspark.daemon" ]; then
    shift 2
    set -- -m {daemon} "$@"
fi
if [ -S "$PENSTOCK_FORK_SERVER" ]; then
    case "$1 $2" in
    "-m {source_runner}" | "-m {daemon}") exec {python} -I -S {client} {python} "$@" ;;
    esac
fi
exec {python} "$@"
"""


def worker_python(*, is_local: bool, executable: str = sys.executable, package: str | None = None) -> str:
    """The program to start; elsewhere than on this machine it is not known what is installed."""
    package = package or str(pyspark.__file__)
    if not is_local or os.name != "posix" or not Path(package).exists():  # a PySpark out of a zip has no other copy
        return executable
    program = _program(executable)
    try:
        write_program(program, _script(executable))
    except OSError:  # a cache that cannot be written to costs time and nothing else
        return executable
    return str(program)


def _script(executable: str) -> str:
    client = shlex.quote(str(fork_client.__file__))
    return _SCRIPT.format(
        python=shlex.quote(executable), daemon=QUIET_DAEMON, source_runner=SOURCE_RUNNER, client=client
    )


def is_worker_python(program: str) -> bool:
    """Whether Spark's processes are started with the script of this Python."""
    return program == str(_program(sys.executable))


def _program(executable: str) -> Path:
    return user_cache() / "python" / re.sub(r"\W+", "_", executable).strip("_")
