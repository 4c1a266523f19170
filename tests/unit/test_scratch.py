"""Scratch folders: nobody else looks in, the living keep theirs, those of the dead go, and links lead nowhere."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import scratch
from penstock.connectors.stages import StageWriter
from penstock.engine.spark.control import Control
from penstock.errors import ConfigurationError
from penstock.job.intake import SourceList
from penstock.state.lmdb_store import LmdbStore

HOLDING = """
import sys
from penstock.scratch import make_scratch
print(make_scratch("control", sys.argv[1]), flush=True)
sys.stdin.read()
"""


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def start_holder(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    return holder, Path(holder.stdout.readline().strip())


def test_the_folder_of_a_killed_process_goes_at_the_next_start_and_no_other(tmp_path: Path) -> None:
    own = scratch.make_scratch("control", str(tmp_path))
    dead, left = start_holder(tmp_path)
    living, needed = start_holder(tmp_path)
    try:
        (left / "deep").mkdir()
        (left / "deep" / "file").write_text("records")
        scratch.clear_scratch(str(tmp_path))
        assert left.exists() and needed.exists() and mode(left) == 0o700
        dead.kill()
        dead.communicate()
        scratch.clear_scratch(str(tmp_path))
        assert not left.exists()
        assert needed.exists() and Path(own).exists()
    finally:
        living.kill()
        living.communicate()
        scratch.remove_scratch(own)
    assert not Path(own).exists()


def test_what_is_not_a_folder_of_a_dead_job_is_not_touched(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("precious")
    (tmp_path / "penstock-scratch-control-link").symlink_to(kept)
    (tmp_path / "penstock-scratch-control-file").write_text("x")
    (tmp_path / "penstock-control-of-an-earlier-version").mkdir()
    inside = tmp_path / "penstock-scratch-control-x"
    inside.mkdir()
    (inside / "out").symlink_to(kept)
    scratch.clear_scratch(str(tmp_path))
    assert (kept / "file").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "kept",
        "penstock-control-of-an-earlier-version",
        "penstock-scratch-control-file",
        "penstock-scratch-control-link",
    ]


def test_what_belongs_to_another_user_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "penstock-scratch-control-x").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    scratch.clear_scratch(str(tmp_path))
    assert (tmp_path / "penstock-scratch-control-x").exists()
    with pytest.raises(ConfigurationError, match="belongs to another user"):
        scratch.make_private(str(tmp_path / "penstock-scratch-control-x"))


def test_a_folder_that_is_cleared_while_it_is_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    real = scratch.hold

    def cleared_first(path: str) -> bool:
        made.append(path)
        if len(made) == 1:
            scratch.clear_scratch(str(tmp_path))
        return real(path)

    monkeypatch.setattr(scratch, "hold", cleared_first)
    path = scratch.make_scratch("control", str(tmp_path))
    assert len(made) == 2 and path == made[1] and Path(path).is_dir()
    scratch.remove_scratch(path)


def test_a_private_folder_is_no_link_and_nobody_else_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert scratch.make_private(str(folder)) == str(folder)
    folder.chmod(0o755)
    scratch.make_private(str(folder))
    assert mode(folder) == 0o700
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(ConfigurationError, match="is a link"):
        scratch.make_private(str(tmp_path / "link"))


def test_control_files_stores_and_stages_are_the_users_alone(tmp_path: Path) -> None:
    control = Control(SourceList({}, {}, 100))
    try:
        control.write_plan(b"plan")
        assert mode(control.directory) == 0o700
        assert {mode(path) for path in Path(control.directory).iterdir()} == {0o600}
    finally:
        control.remove()
    LmdbStore.open(str(tmp_path / "store")).close()
    assert mode(tmp_path / "store" / "data.mdb") == 0o600
    writer = StageWriter(str(tmp_path / "staged"), "sink/one", inline_bytes=0)
    writer.append([b"secret"], 1)
    stage = writer.finish(job_id="job", uid="sink", subtask=0, version=1, attempt="a")
    assert stage is not None and list(stage.blocks()) == [[b"secret"]]
    assert mode(tmp_path / "staged" / "sink" / "one") == 0o600
