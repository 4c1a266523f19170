"""File sinks on Spark: when files show in a job without an end, and what is not published after a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration
from penstock.common.restart_strategy import RestartStrategies
from penstock.connectors.files.committer import FileCommitter
from penstock.connectors.files.sink import STAGING
from penstock.datastream.connectors.file_system import FileSink, FileSource, RollingPolicy
from penstock.errors import JobFailedError
from tests.spark.conftest import NewEnvironment
from tests.spark.processes import PATIENCE_SECONDS
from tests.spark.test_ends import folder, write_at_once
from tests.spark.waiting import wait_until


def shown(base: Path) -> list[Path]:
    return [path for path in base.rglob("*") if path.is_file() and STAGING not in path.parts]


def lines_of(base: Path) -> list[str]:
    return sorted(line for path in shown(base) for line in path.read_text().splitlines())


def test_files_show_after_each_checkpoint_of_a_watched_folder(new_environment: NewEnvironment, tmp_path: Path) -> None:
    watched, base = folder(tmp_path, "text", "first\n"), tmp_path / "out"
    environment = new_environment(1)
    source = FileSource.text(watched, monitor_interval=Duration.of_millis(100))
    environment.from_source(source, None, "watched").sink_to(FileSink.text(base))
    client: Any = environment.execute_async()
    try:
        wait_until(lambda: lines_of(base) == ["first"], "the first file shows", PATIENCE_SECONDS)
        write_at_once(watched / "two.text", "second\n")
        wait_until(lambda: lines_of(base) == ["first", "second"], "the second file shows", PATIENCE_SECONDS)
    finally:
        client.cancel().result(PATIENCE_SECONDS)
    assert len(shown(base)) == 2


def test_a_file_that_was_cut_before_it_was_published_is_refused_after_the_crash(
    new_environment: NewEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "out"

    def run() -> None:
        environment = new_environment(2, "checkpoint")
        environment.set_restart_strategy(RestartStrategies.no_restart())
        policy = RollingPolicy.on_checkpoint_rolling_policy()
        numbers = environment.from_collection(list(range(100))).uid("numbers")
        numbers.sink_to(FileSink.text(base, rolling_policy=policy)).uid("sink")
        environment.execute()

    def dies(self: FileCommitter, committables: list[Any]) -> None:
        raise KeyError("the driver dies between seal and publication")

    with monkeypatch.context() as patched, pytest.raises(JobFailedError, match="the driver dies"):
        patched.setattr(FileCommitter, "commit", dies)
        patched.setattr(FileCommitter, "commit_again", dies)
        run()
    victim = max((base / STAGING).rglob("*-0"), key=lambda path: path.stat().st_size)
    saved = victim.read_bytes()
    victim.write_bytes(saved[:-1])
    with pytest.raises(JobFailedError, match=rf"{victim} has {len(saved) - 1} bytes instead of {len(saved)}"):
        run()
    assert shown(base) == []
    victim.write_bytes(saved)
    run()
    assert lines_of(base) == sorted(map(str, range(100)))
    assert not (base / STAGING).exists()
