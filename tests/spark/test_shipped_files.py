"""Archives and files that a program sends along, in a session that was there before the program."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkFiles

from tests.made_wheels import make_wheel
from tests.spark.conftest import NewEnvironment


def add_from_archive(number: int) -> int:
    with open("rates/today.txt") as stream:
        return number + int(stream.read())


def working_directory(number: int) -> str:
    return os.getcwd()


def collected(environment: Any, function: Any) -> list[Any]:
    with environment.from_collection([1, 2, 3]).map(function).execute_and_collect() as results:
        return sorted(results)


def test_functions_open_an_archive_by_a_relative_path(new_environment: NewEnvironment, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("today.txt", "40")
    before = collected(new_environment(), working_directory)
    environment = new_environment()
    environment.add_python_archive(str(tmp_path / "some.zip"), "rates")
    assert collected(environment, add_from_archive) == [41, 42, 43]
    # Workers are used again: the next job finds its working directory as it was.
    assert collected(new_environment(), working_directory) == before


def test_a_cached_file_is_where_spark_says(new_environment: NewEnvironment, tmp_path: Path) -> None:
    (tmp_path / "limits.txt").write_text("7")
    environment = new_environment()
    environment.register_cached_file(str(tmp_path / "limits.txt"), "limits")

    def limit(number: int) -> int:
        return int(Path(SparkFiles.get("limits.txt")).read_text())

    assert collected(environment, limit) == [7, 7, 7]


def test_workers_import_packages_of_a_requirements_file(
    new_environment: NewEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected(new_environment(), working_directory)  # Spark, which starts with files of the cache too, is there
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    make_wheel(tmp_path / "wheels", "1.0", "def twice(number):\n    return number * 2\n")
    (tmp_path / "requirements.txt").write_text("penstock-wheel==1.0\n")
    environment = new_environment()
    environment.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "wheels"))

    def twice(number: int) -> int:
        import penstock_wheel  # type: ignore[import-not-found]

        return int(penstock_wheel.twice(number))

    assert collected(environment, twice) == [2, 4, 6]
