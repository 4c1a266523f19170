"""The archive of Spark's classes: made once, used when it is whole, never in the way. Java is a script here."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engine.spark.startup.class_archive import ClassArchive

SOUND, FALLING_OVER = "exit 0", "exit 134"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A Java that finds every archive whole."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    (tmp_path / "jars").mkdir()
    _becomes(java, SOUND)
    return java.parent.parent


def _becomes(java: Path, what: str) -> None:
    before = java.stat().st_mtime_ns if java.exists() else time.time_ns()
    java.write_text(f'#!/bin/sh\necho "$@" >> {java.parent.parent / "asked"}\n{what}\n')
    java.chmod(0o755)
    os.utime(java, ns=(before, before))


def _archive(home: Path) -> ClassArchive:
    return ClassArchive(home, home.parent / "jars", home.parent / "classes")


def _ended_driver(home: Path) -> Path:
    """What a driver leaves that had no archive."""
    archive = _archive(home)
    options = archive.options()
    assert options.startswith('-XX:ArchiveClassesAtExit="')
    draft = Path(options.split('"')[1])
    archive.started("/spark/conf:/spark/jars/a.jar")
    draft.write_bytes(b"classes")
    return draft


def _files(home: Path) -> list[str]:
    return sorted(path.name for path in (home.parent / "classes").iterdir())


def test_a_second_driver_uses_what_the_first_one_left(home: Path) -> None:
    draft = _ended_driver(home)
    archive = _archive(home)
    assert f'-XX:SharedArchiveFile="{archive.path}"' in archive.options()
    assert _files(home) == [archive.path.name]
    asked = (home / "asked").read_text()
    assert "-Xshare:on -XX:+VerifySharedSpaces" in asked
    assert str(draft) in asked


def test_it_is_checked_only_once(home: Path) -> None:
    _ended_driver(home)
    assert _archive(home).options() == _archive(home).options()
    assert len((home / "asked").read_text().splitlines()) == 1


def test_a_draft_that_is_not_whole_is_left_to_whoever_writes_it(home: Path) -> None:
    draft = _ended_driver(home)
    _becomes(home / "bin" / "java", FALLING_OVER)
    assert _archive(home).options() == ""
    _is_of_long_ago(draft)
    assert "ArchiveClassesAtExit" in _archive(home).options()
    assert draft.exists()


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Another program."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def _driver_of(process: subprocess.Popen[bytes], home: Path) -> Path:
    """What is there of a driver that another program has just started: the file it will tell its class path by."""
    draft = Path(_archive(home).options().split('"')[1])
    mine = draft.with_suffix(".args")
    its = mine.with_name(mine.name.replace(f".{os.getpid()}.", f".{process.pid}."))
    mine.rename(its)
    return its


def _is_of_long_ago(path: Path) -> None:
    before = time.time() - 300
    os.utime(path, (before, before))


def test_of_drivers_that_start_together_one_makes_it(home: Path, other: subprocess.Popen[bytes]) -> None:
    started = _driver_of(other, home)
    assert _archive(home).options() == ""
    assert [path.name for path in (home.parent / "classes").iterdir()] == [started.name]


def test_a_driver_that_goes_on_and_on_keeps_no_other_from_it(home: Path, other: subprocess.Popen[bytes]) -> None:
    _is_of_long_ago(_driver_of(other, home))
    assert "ArchiveClassesAtExit" in _archive(home).options()


def test_a_driver_that_has_died_keeps_no_other_from_it(home: Path, other: subprocess.Popen[bytes]) -> None:
    _driver_of(other, home)
    other.kill()
    other.wait()
    assert "ArchiveClassesAtExit" in _archive(home).options()


def test_it_is_ready_once_a_driver_has_ended(home: Path) -> None:
    assert not _archive(home).is_ready()
    _ended_driver(home)
    assert _archive(home).is_ready()
    assert _files(home) == [_archive(home).path.name]


def test_a_draft_that_was_given_up_is_removed(home: Path) -> None:
    draft = _ended_driver(home)
    _becomes(home / "bin" / "java", FALLING_OVER)
    os.utime(draft, (0, 0))
    assert "ArchiveClassesAtExit" in _archive(home).options()
    assert not draft.exists()
    assert not draft.with_suffix(".args").exists()


def test_a_draft_of_a_driver_that_never_started_is_not_used(home: Path) -> None:
    draft = Path(_archive(home).options().split('"')[1])
    draft.write_bytes(b"classes")
    assert not _archive(home).is_ready()


@pytest.mark.parametrize("given", ["-Xshare:off", "-Xmx2g -XX:SharedArchiveFile=/mine.jsa"])
def test_options_of_the_user_about_it_stand(home: Path, given: str) -> None:
    _ended_driver(home)
    assert _archive(home).options(given) == ""


def test_a_driver_that_is_there_already_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    archive = _archive(home)
    assert archive.options() == ""
    archive.started("/spark/jars/a.jar")
    assert not (home.parent / "classes").exists()


def test_what_killed_drivers_left_makes_room(home: Path) -> None:
    drafts = []
    for age in range(12):
        archive = _archive(home)
        drafts.append(Path(archive.options().split('"')[1]))
        archive.started("/spark/jars/a.jar")
        os.utime(drafts[-1].with_suffix(".args"), (1000 - age, 1000 - age))
    assert _archive(home).options()
    assert [draft.with_suffix(".args").exists() for draft in drafts] == [True] * 8 + [False] * 4


def test_other_jars_have_an_archive_of_their_own(home: Path) -> None:
    _ended_driver(home)
    os.utime(home.parent / "jars", ns=(1, 1))
    assert "ArchiveClassesAtExit" in _archive(home).options()


def test_old_archives_make_room(home: Path) -> None:
    _ended_driver(home)
    folder = home.parent / "classes"
    for age in range(7):
        (folder / f"{age:02}.jsa").write_bytes(b"")
        os.utime(folder / f"{age:02}.jsa", (1000 - age, 1000 - age))
    archive = _archive(home)
    archive.options()
    assert _files(home) == sorted([archive.path.name, *(f"{age:02}.jsa" for age in range(5))])


def test_drafts_that_nobody_came_back_for_make_room(home: Path) -> None:
    _ended_driver(home)
    folder = home.parent / "classes"
    for age in range(8):
        for suffix in ("draft", "args"):
            path = folder / f"other{age}.1.1.{suffix}"
            path.touch()
            os.utime(path, (1000 - age, 1000 - age))
    archive = _archive(home)
    assert archive.is_ready()
    others = [f"other{age}.1.1.{suffix}" for age in range(6) for suffix in ("args", "draft")]
    assert _files(home) == sorted([archive.path.name, *others])


def test_an_archive_that_is_used_is_not_an_old_one(home: Path) -> None:
    _ended_driver(home)
    path = _archive(home).path
    assert _archive(home).options()
    os.utime(path, (1, 1))
    assert _archive(home).options()
    assert path.stat().st_mtime > 1


def test_a_cache_that_cannot_be_written_to_costs_nothing_but_time(home: Path) -> None:
    (home.parent / "classes").write_text("a file where the folder should be")
    assert _archive(home).options() == ""


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH"])
def test_none_is_made_where_java_would_fail_of_a_folder_with_files(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    settings = tmp_path / "settings"
    settings.mkdir()
    monkeypatch.setenv(variable, str(settings))
    assert "ArchiveClassesAtExit" in _archive(home).options(), "an empty folder does no harm"
    (settings / "spark-defaults.conf").touch()
    assert _archive(home).options() == ""


def test_folders_that_the_user_adds_count_and_missing_ones_do_not(home: Path, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert "ArchiveClassesAtExit" in _archive(home).options("", missing)
    assert _archive(home).options("", f"{missing}:{home}") == ""


def test_one_that_is_there_is_used_all_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java leaves it alone if the class path is another."""
    _ended_driver(home)
    monkeypatch.setenv("SPARK_CONF_DIR", str(home))
    assert "SharedArchiveFile" in _archive(home).options()
