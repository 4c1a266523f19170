"""What a program ships with itself, in process: archives, and packages that its requirements name."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.errors import ConfigurationError
from tests.made_wheels import make_wheel


def live() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def stepwise() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.in_process()


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The search path is that of the process; packages go to a cache of the test's own."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("penstock_wheel", None)


def zipped(path: Path, **texts: str) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in texts.items():
            archive.writestr(f"{name}.txt", text)
    return str(path)


@pytest.mark.parametrize("make", [live, stepwise])
def test_functions_open_files_of_an_archive_by_a_relative_path(
    make: Callable[[], StreamExecutionEnvironment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = make()
    env.add_python_archive(zipped(tmp_path / "a.zip", one="1"), "data")
    env.add_python_archive(zipped(tmp_path / "b.zip", two="20"))

    def add(number: int) -> int:
        return number + int(Path("data/one.txt").read_text()) + int(Path("b.zip/two.txt").read_text())

    sums = env.from_collection([100, 200]).map(add)
    sums.map(str).sink_to(FileSink.text("sums"))
    sums.print()
    env.execute()
    found = sorted(line for path in (tmp_path / "sums").iterdir() for line in path.read_text().split())
    assert found == ["121", "221"]
    assert os.getcwd() == str(tmp_path)


def test_an_archive_that_cannot_be_unpacked_is_refused_before_anything_runs(tmp_path: Path) -> None:
    env = live()
    (tmp_path / "a.zip").write_bytes(b"no archive")
    env.add_python_archive(str(tmp_path / "a.zip"))
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match=r"add_python_archive: .*a\.zip.* cannot be unpacked"):
        env.execute()


@pytest.mark.parametrize("name", ["../out", "/out"])
def test_an_archive_stays_in_the_folder_of_the_job(tmp_path: Path, name: str) -> None:
    env = live()
    env.add_python_archive(zipped(tmp_path / "a.zip", one="1"), name)
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match=r"add_python_archive: .*out.* is not a folder name"):
        env.execute()


def test_packages_of_a_requirements_file_are_installed_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(tmp_path / "wheels", "1.0", "def twice(number):\n    return number * 2\n")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("penstock-wheel==1.0\n")

    def twice(number: int) -> int:
        import penstock_wheel  # type: ignore[import-not-found]

        return int(penstock_wheel.twice(number))

    for _ in range(2):
        env = live()
        env.set_python_requirements(str(requirements), str(tmp_path / "wheels"))
        assert list(env.from_collection([21]).map(twice).execute_and_collect()) == [42]
        monkeypatch.setattr(subprocess, "run", None)  # pip is not asked again
    assert len(list((tmp_path / "cache" / "requirements").iterdir())) == 1


def test_requirements_that_cannot_be_met_say_what_pip_says(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("penstock-wheel==7\n")
    env = live()
    env.set_python_requirements(str(requirements), str(tmp_path / "wheels"))
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match=r"requirements\.txt.*\n(.*\n)*.*penstock-wheel==7"):
        env.execute()
    assert list((tmp_path / "cache" / "requirements").iterdir()) == []
