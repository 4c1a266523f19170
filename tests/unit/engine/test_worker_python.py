"""Python without Spark's zipped PySpark: what the script leaves out, and when there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.engine.spark.startup.worker_python import is_worker_python, worker_python

QUIET = "penstock.engine.spark.startup.quiet_daemon"
SHOW = "import os, sys; print(os.environ.get('PYTHONPATH')); print(sys.executable); print(sys.argv[1:])"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a cache"
    monkeypatch.setenv("PENSTOCK_CACHE", str(folder))
    return folder


def _shown(program: str, path: str | None) -> list[str]:
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    variables |= {} if path is None else {"PYTHONPATH": path}
    command = [program, "-c", SHOW, "a b", "*"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout.splitlines()


def test_zipped_copies_are_left_out_and_nothing_else() -> None:
    path = (
        "/spark/python/lib/pyspark.zip:/spark/python/lib/py4j-0.10.9.9-src.zip:/spark/jars/core.jar:/my lib:/*:/x.zip"
    )
    shown = _shown(worker_python(is_local=True), path)
    assert shown == ["/spark/jars/core.jar:/my lib:/*:/x.zip", sys.executable, "['a b', '*']"]


def test_it_runs_without_a_path() -> None:
    assert _shown(worker_python(is_local=True), None)[0] == ""


def test_processes_for_workers_are_the_quiet_ones(tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    other.chmod(0o755)
    program = worker_python(is_local=True, executable=str(other))

    def started(*words: str) -> list[str]:
        return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout.splitlines()

    assert started("-m", "pyspark.daemon", "a worker", "*") == ["-m", QUIET, "a worker", "*"]
    assert started("-m", "another.daemon", "pyspark.daemon") == ["-m", "another.daemon", "pyspark.daemon"]


def test_a_script_is_known_by_its_path() -> None:
    assert is_worker_python(worker_python(is_local=True))
    assert not is_worker_python(sys.executable)


def test_elsewhere_it_is_this_python() -> None:
    assert worker_python(is_local=False) == sys.executable


def test_a_pyspark_out_of_a_zip_keeps_it() -> None:
    assert worker_python(is_local=True, package="/spark/python/lib/pyspark.zip/pyspark/__init__.py") == sys.executable


def test_each_python_has_its_own(tmp_path: Path) -> None:
    other = tmp_path / "other python"
    other.symlink_to(sys.executable)
    programs = {worker_python(is_local=True, executable=each) for each in (sys.executable, str(other))}
    assert len(programs) == 2
    assert _shown(worker_python(is_local=True, executable=str(other)), None)[1] == str(other)


def test_a_cache_that_cannot_be_written_to_costs_nothing_but_time(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert worker_python(is_local=True) == sys.executable
