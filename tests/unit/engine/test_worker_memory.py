"""Workers use freed memory again, unless somebody has set malloc up."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from penstock.engine.spark.startup.worker_memory import _OWN_SETTINGS

PROGRAM = """
import resource
import numpy
from penstock.engine.spark.startup.worker_memory import keep_freed_memory
is_kept = keep_freed_memory() if {keeps} else False
arrays = [numpy.ones(100_000) for _ in range(20)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    arrays = None
    arrays = [numpy.ones(100_000) for _ in range(20)]
print(is_kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keeps: bool, **variables: str) -> tuple[bool, int]:
    """Whether a process keeps memory, and how many new pages it is given for blocks of arrays."""
    plain = {name: value for name, value in os.environ.items() if name not in _OWN_SETTINGS}
    program = [sys.executable, "-c", PROGRAM.format(keeps=keeps)]
    found = subprocess.run(program, env={**plain, **variables}, capture_output=True, text=True, check=True)
    is_kept, count = found.stdout.split()
    return is_kept == "True", int(count)


def test_the_memory_of_a_block_is_used_again() -> None:
    is_kept, few = faults(True)
    if not is_kept:
        pytest.skip("the C library is not glibc")
    _, many = faults(False)
    assert few * 20 < many


def test_settings_of_the_user_stay() -> None:
    assert faults(True, MALLOC_TRIM_THRESHOLD_="1000000")[0] is False
