"""The supervisor, when a dispatcher is killed or paused between two of its steps, and when clocks are set back."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.job.journal import now_ms
from penstock.server.dispatcher import processes as processes_module
from penstock.server.dispatcher import supervisor as supervisor_module
from penstock.server.dispatcher.database import open_database
from penstock.server.dispatcher.processes import (
    DRIVER_MODULE,
    HOST,
    NOT_STARTED,
    DriverProcess,
    driver_processes,
    start_driver,
)
from penstock.server.dispatcher.programs import Program
from penstock.server.dispatcher.registry import (
    ENDED,
    PREPARING,
    RUNNING,
    WAITING,
    Launch,
    Lead,
    Registry,
    Submission,
)
from penstock.server.dispatcher.supervisor import Supervisor
from tests.spark.waiting import wait_until


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
        Supervisor(registry, tmp_path, 10).look(None)
    Supervisor(registry, tmp_path, 10).look(None)
    found = registry.submission(made.id)
    assert found is not None and (found.state, found.outcome) == (ENDED, "FINISHED")
    assert not (folder / "checkpoints").exists()
    registry.close()


@pytest.fixture(autouse=True)
def _drivers() -> Iterator[None]:
    """None outlives its test."""
    yield
    for child in list(processes_module._children.values()):
        child.wait(60)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    """One that is empty."""
    made = Registry(open_database(str(tmp_path / "r" / "x.sqlite")))
    yield made
    made.close()


def submitted(registry: Registry, source: str) -> Submission:
    program = Program("a.py", source.encode())
    registry.add_program(program.id, program.name, program.content, "", 1)
    return registry.add_submission(program.id, program.name, Launch())


def lead_of(registry: Registry, holder: str) -> Lead:
    """Lead at once, whoever does."""
    lead = registry.take_lead(holder, "", registry.lease(), 1)
    assert lead is not None
    return lead


def state_of(registry: Registry, made: Submission) -> Submission:
    found = registry.submission(made.id)
    assert found is not None
    return found


def test_a_leader_that_was_paused_while_it_started_a_driver_starts_none(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program would have written a file; another leader has given its submission to another machine."""
    made = submitted(registry, f"open({str(tmp_path / 'ran')!r}, 'w')")
    is_paused, goes_on = threading.Event(), threading.Event()
    processes: list[DriverProcess] = []
    start = supervisor_module.start_driver

    def paused(*arguments: Any) -> DriverProcess:
        processes.append(start(*arguments))
        is_paused.set()
        goes_on.wait(60)
        return processes[0]

    monkeypatch.setattr(supervisor_module, "start_driver", paused)
    Supervisor(registry, tmp_path / "one", 10).look(lead_of(registry, "one"))
    assert is_paused.wait(60)
    other = lead_of(registry, "other")
    assert registry.change(state_of(registry, made), other, state=PREPARING, attempt=2, host="elsewhere") is not None
    goes_on.set()
    wait_until(lambda: not processes[0].is_alive(), "the driver of the lost leader has ended")
    found = state_of(registry, made)
    assert (found.state, found.attempt, found.host, found.pid) == (PREPARING, 2, "elsewhere", None)
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "one" / "drivers" / made.id / "exit-1").read_text() == str(NOT_STARTED)


def test_what_a_lost_leader_has_prepared_is_left_to_who_leads(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = submitted(registry, "pass")
    entry = supervisor_module.entry_of

    def lost(*arguments: Any) -> list[str]:
        lead_of(registry, "other")
        return entry(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(supervisor_module, "entry_of", lost)
        Supervisor(registry, tmp_path / "one", 10).look(lead_of(registry, "one"))
        wait_until(lambda: state_of(registry, made).state == WAITING, "it is given back")
    second = Supervisor(registry, tmp_path / "one", 10)
    lead = lead_of(registry, "other")

    def has_ended() -> bool:
        second.look(lead)
        return state_of(registry, made).state == ENDED

    wait_until(has_ended, "the program has run")
    found = state_of(registry, made)
    assert (found.outcome, found.attempt, found.deaths) == ("FINISHED", 2, [])


def test_a_driver_that_was_not_told_what_to_run_is_started_again_and_has_not_died(
    tmp_path: Path, registry: Registry
) -> None:
    made = submitted(registry, "pass")
    registry.change(made, state=RUNNING, host=HOST, pid=2**30, attempt=1)
    folder = tmp_path / "drivers" / made.id
    folder.mkdir(parents=True)
    (folder / "exit-1").write_text(str(NOT_STARTED))
    Supervisor(registry, tmp_path, 10).look(None)
    found = state_of(registry, made)
    assert (found.state, found.deaths) == (WAITING, [])


@pytest.mark.parametrize(
    ("changes", "is_ended"),
    [
        ({"attempt": 2}, True),
        ({"host": "elsewhere", "state": PREPARING, "attempt": 2}, True),
        ({"state": WAITING}, True),
        ({"attempt": 1}, False),
    ],
)
def test_a_driver_whose_job_was_given_to_another_one_is_ended(
    tmp_path: Path, registry: Registry, changes: dict[str, Any], is_ended: bool
) -> None:
    """The machine was paused, and another one has taken over."""
    made = submitted(registry, "pass")
    (tmp_path / "drivers" / made.id).mkdir(parents=True)
    file = tmp_path / "drivers" / made.id / "exit-1"
    command = [sys.executable, "-m", DRIVER_MODULE, str(file)]
    process = start_driver(command, dict(os.environ), tmp_path, tmp_path / "log")
    try:
        facts = {"pid": process.pid, "process_started": process.started}
        assert registry.change(made, **{"state": RUNNING, "host": HOST, "attempt": 1, **facts, **changes}) is not None
        wait_until(lambda: list(driver_processes(tmp_path / "drivers")) == [(file, process)], "the driver is there")
        Supervisor(registry, tmp_path, 10).look(None)
        left = [] if is_ended else [(file, process)]
        wait_until(lambda: list(driver_processes(tmp_path / "drivers")) == left, "the driver has ended if it is stray")
    finally:
        process.kill()
        wait_until(lambda: not process.is_alive(), "the driver has ended")


def test_a_restart_waits_its_delay_though_the_clock_is_set_back(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = submitted(registry, "pass")
    hour = 3_600_000
    in_future = now_ms() + hour  # of the clock as it is now; it was before when the driver died
    assert registry.change(made, due_ms=in_future, delay_ms=50, deaths_ms=[in_future], deaths=["x"]) is not None
    started: list[Submission] = []
    monkeypatch.setattr(Supervisor, "_start", lambda self, submission, lead: started.append(submission))
    supervisor, lead = Supervisor(registry, tmp_path, 10), lead_of(registry, "one")
    supervisor.look(lead)
    assert started == []

    def is_started() -> bool:
        supervisor.look(lead)
        return bool(started)

    wait_until(is_started, "it is started 50 ms after it was seen")


def test_a_machine_is_lost_when_it_gives_no_sign_whatever_its_clock_says(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = submitted(registry, "pass")
    assert registry.change(made, state=RUNNING, host="elsewhere", pid=1, attempt=1) is not None
    registry.set_fact("seen:elsewhere", "1")  # a clock that is years behind
    monkeypatch.setattr(supervisor_module, "LOST_SECONDS", 0.2)
    supervisor, lead = Supervisor(registry, tmp_path, 10), lead_of(registry, "one")
    supervisor.look(lead)
    assert state_of(registry, made).state == RUNNING
    monkeypatch.setattr(Supervisor, "_start", lambda self, submission, lead: None)

    def is_taken_over() -> bool:
        supervisor.look(lead)
        return state_of(registry, made).deaths == ["machine elsewhere with the driver process 1 was lost"]

    wait_until(is_taken_over, "nothing changes there for a while")
