"""A job whose process is killed again and again while it writes to PostgreSQL: every row is there, and once."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.jdbc import killed_job
from tests.jdbc.local_postgres import LocalPostgres
from tests.spark.processes import process_group, spark_settings


def run_with_kills(
    postgres: LocalPostgres, table: str, folder: Path, count: int, kills: int, chance: random.Random, **settings: Any
) -> None:
    """Kill the job when the table has grown to a random size, again and again; then let it come to its end."""
    postgres.run(f"CREATE TABLE {table} (number BIGINT, key INT, nth BIGINT)")
    configuration = folder / "configuration.json"
    with process_group(folder) as group:
        if settings["penstock.engine"] == "spark":
            settings.update(spark_settings(group))
        configuration.write_text(json.dumps({**settings, "execution.checkpointing.dir": str(folder / "checkpoint")}))
        command = [sys.executable, killed_job.__file__, postgres.url, table, str(count), str(configuration)]
        for number in range(kills):
            wanted = max(1, int(count * (number + chance.random()) / (kills + 1)))
            program = group.start(command, f"run-{number}")
            program.wait_until(lambda wanted=wanted: rows(postgres, table) >= wanted, f"{wanted} rows")  # type: ignore[misc]
            group.kill()
            assert program.process.returncode == -9, program.tail()
        group.start(command, "last-run").finish()
    assert killed_job.faults(postgres.run(f"SELECT * FROM {table}"), count) == []


def rows(postgres: LocalPostgres, table: str) -> int:
    ((found,),) = postgres.run(f"SELECT count(*) FROM {table}")
    return int(found)


IN_PROCESS = {"penstock.engine": "in-process", "penstock.batch.max-records": 400}
ON_SPARK = {"penstock.engine": "spark", "spark.master": "local[2]", "penstock.batch.max-records": 4_000}


def test_three_kills_in_process(postgres: LocalPostgres, table: str, tmp_path: Path, seed: int) -> None:
    run_with_kills(postgres, table, tmp_path, 9_000, 3, random.Random(seed), **IN_PROCESS)


@pytest.mark.soak
def test_thirty_kills_in_process(postgres: LocalPostgres, table: str, tmp_path: Path, seed: int) -> None:
    run_with_kills(postgres, table, tmp_path, 90_000, 30, random.Random(seed), **IN_PROCESS)


@pytest.mark.drawn(3, group="deaths of a job on Spark")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_kill_on_spark(postgres: LocalPostgres, table: str, tmp_path: Path, seed: int) -> None:
    run_with_kills(postgres, table, tmp_path, 16_000, 1, random.Random(seed), **ON_SPARK)


@pytest.mark.soak
@pytest.mark.slow
def test_seven_kills_on_spark(postgres: LocalPostgres, table: str, tmp_path: Path, seed: int) -> None:
    run_with_kills(postgres, table, tmp_path, 96_000, 7, random.Random(seed), **ON_SPARK)
