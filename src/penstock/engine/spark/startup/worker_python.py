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

from penstock.user_cache import user_cache, write_program

_SCRIPT = """#!/bin/sh
# Written by Penstock: Python without the zipped copies of PySpark and Py4J that Spark puts in front of its path.
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
exec {python} "$@"
"""


def worker_python(*, is_local: bool, executable: str = sys.executable, package: str | None = None) -> str:
    """The program to start; elsewhere than on this machine it is not known what is installed."""
    package = package or str(pyspark.__file__)
    if not is_local or os.name != "posix" or not Path(package).exists():  # a PySpark out of a zip has no other copy
        return executable
    program = user_cache() / "python" / re.sub(r"\W+", "_", executable).strip("_")
    try:
        write_program(program, _SCRIPT.format(python=shlex.quote(executable)))
    except OSError:  # a cache that cannot be written to costs time and nothing else
        return executable
    return str(program)
