"""The supervisor, when a dispatcher is killed between two of its steps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock.server.dispatcher.database import open_database
from penstock.server.dispatcher.processes import HOST
from penstock.server.dispatcher.registry import ENDED, RUNNING, Launch, Registry
from penstock.server.dispatcher.supervisor import Supervisor


def test_checkpoints_of_a_job_that_is_over_go_even_if_the_dispatcher_is_killed_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry(open_database(str(tmp_path / "r" / "x.sqlite")))
    made = registry.add_submission("p", "a.py", Launch())
    registry.change(made, state=RUNNING, host=HOST, pid=2**30)  # no process has that number
    folder = tmp_path / "drivers" / made.id
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "exit-0").write_text("0")

    def killed(path: object, ignore_errors: bool = False) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(shutil, "rmtree", killed)
        Supervisor(registry, tmp_path, "first", 10).look(leads=False)
    Supervisor(registry, tmp_path, "next", 10).look(leads=False)
    found = registry.submission(made.id)
    assert found is not None and (found.state, found.outcome) == (ENDED, "FINISHED")
    assert not (folder / "checkpoints").exists()
    registry.close()
