"""Random jobs in process, in random order, cut and crashed at random, against plain Python."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.job import InProcessJob
from penstock.testing.crashes import trace_of
from tests.simulation.programs import Program, draw

JOBS = 16
SOAK_JOBS = 500
STEP_KINDS = {"plan", "begin", "source", "inside source", "operator", "inside operator", "seal", "publish", "go on"}


def submitted(program: Program, seed: int, directory: Path, mode: str = "micro-batch") -> InProcessJobClient:
    rng = Random(seed)
    configuration = Configuration()
    configuration.set_string("penstock.execution.mode", mode)
    configuration.set_string("pipeline.watermark-every-records", str(program.watermark_every))
    environment = StreamExecutionEnvironment.in_process(
        seed,
        crash_rate=rng.choice([0.0, 0.002, 0.01, 0.03]),
        state=rng.choice(["memory", "heap", "lmdb"]),
        configuration=configuration,
    )
    program.build(environment, directory)
    client = environment.execute_async(f"seed {seed}")
    assert isinstance(client, InProcessJobClient)
    return client


def checked(seed: int, directory: Path, mode: str = "micro-batch") -> InProcessJob:
    """Run the job of a seed and compare; what a failure prints is enough to run it again."""
    program = draw(Random(seed))
    try:
        client = submitted(program, seed, directory, mode)
        client.wait()
        assert program.found() == program.expected()
    except BaseException:
        print(f"{program}\nreplay: pytest '{__file__}::test_a_random_job_gives_what_python_gives[0]' --seed {seed}")
        raise
    return client.job


@pytest.mark.parametrize("number", range(JOBS))
def test_a_random_job_gives_what_python_gives(number: int, seed: int, tmp_path: Path) -> None:
    checked(seed + number, tmp_path)


@pytest.mark.parametrize("number", range(JOBS // 2))
def test_a_random_job_gives_the_same_in_continuous_mode(number: int, seed: int, tmp_path: Path) -> None:
    checked(seed + number, tmp_path, "continuous")


def test_a_seed_replays_the_identical_run(seed: int, tmp_path: Path) -> None:
    for number in range(5):
        runs = [checked(seed + number, tmp_path / f"{number}-{run}") for run in range(2)]
        assert trace_of(runs[0]) == trace_of(runs[1])
        assert runs[0].crashed == runs[1].crashed
        assert runs[0].retried_tasks == runs[1].retried_tasks


def test_a_failure_prints_the_line_that_replays_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Program, "expected", lambda program: ["something else"])
    with pytest.raises(AssertionError):
        checked(12345, tmp_path)
    printed = capsys.readouterr().out
    assert "Program(" in printed
    assert printed.endswith("::test_a_random_job_gives_what_python_gives[0]' --seed 12345\n")


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    program = draw(Random(3))
    traces = []
    for seed in (1, 2):
        client = submitted(program, seed, tmp_path / str(seed))
        client.wait()
        traces.append(trace_of(client.job))
    assert traces[0] != traces[1]


@pytest.mark.soak
def test_many_random_jobs_in_continuous_mode(seed: int, tmp_path: Path) -> None:
    crashed: Counter[str] = Counter()
    for number in range(SOAK_JOBS // 5):
        crashed += checked(seed + number, tmp_path / str(number), "continuous").crashed
    assert set(crashed) >= {"plan", "begin", "source", "operator", "align", "write", "seal", "publish"}


@pytest.mark.soak
def test_many_random_jobs_with_crashes_at_every_kind_of_step(seed: int, tmp_path: Path) -> None:
    started = time.monotonic()
    crashed: Counter[str] = Counter()
    retried = 0
    for number in range(SOAK_JOBS):
        job = checked(seed + number, tmp_path / str(number))
        crashed += job.crashed
        retried += job.retried_tasks
    print(f"{SOAK_JOBS} jobs in {time.monotonic() - started:.0f} s; {retried} tasks died; crashes {dict(crashed)}")
    assert set(crashed) == STEP_KINDS
    assert min(crashed.values()) >= 5
    assert retried >= 100
