"""State of a job on Spark, queried while its driver is killed: nothing is seen that was not sealed."""

from __future__ import annotations

import json
import random
import sys
import threading
from pathlib import Path

import pytest

from penstock.checkpoint import CheckpointDirectory
from penstock.errors import QueryError
from penstock.queryable import Replica, StateQuery, answer
from tests.spark.jobs import outcome
from tests.spark.jobs.queried import KEYS
from tests.spark.processes import ProcessGroup, Program, process_group, spark_settings
from tests.spark.waiting import wait_until

# Enough that no run comes to its end before it is killed; batches of Spark take longer.
COUNTS = {"spark": 1_000, "in-process": 6_000}
KILLS, IN_PROCESS_KILLS = 1, 3
SOAK_KILLS = 12


class Reader(threading.Thread):
    """Reads all keys again and again, and compares with the numbers that the version's own seal says were read."""

    def __init__(self, folder: Path, replica: Replica) -> None:
        super().__init__(daemon=True)
        self.directory = CheckpointDirectory(str(folder / "checkpoint"))
        self.replica = replica
        self.positions: dict[int, int] = {}
        self.reads = 0
        self.problem: BaseException | None = None
        self.is_over = threading.Event()

    def run(self) -> None:
        try:
            while not self.is_over.wait(0.01):
                self.look()
        except BaseException as problem:
            self.problem = problem

    def look(self) -> None:
        try:
            queries = [StateQuery(keys=list(range(KEYS)), operator="keep", state=name) for name in ("numbers", "total")]
            numbers, totals = (answer(self.replica, query) for query in queries)
        except QueryError as error:
            assert error.status in (404, 503), error
            return
        for answered in (numbers, totals):
            position = self.position(answered["version"])
            for result in answered["results"]:
                expected = range(result["key"], position, KEYS) if position is not None else None
                if expected is not None:
                    wanted = list(expected) if answered is numbers else sum(expected)
                    assert (result["value"] or type(wanted)()) == wanted, (answered["version"], position, result)
                    self.reads += 1

    def position(self, version: int) -> int | None:
        """How many numbers a version has read; None if its seal is gone before it could be looked at."""
        if version not in self.positions:
            seal = self.directory.read_seal(version)
            if seal is None or seal.offset is None:
                return None
            self.positions[version] = sum(seal.offset.positions["numbers"])
        return self.positions[version]


def started(group: ProcessGroup, folder: Path, engine: str, rate: float, name: str) -> Program:
    settings = {**spark_settings(group), "penstock.batch.max-records": "100", "penstock.engine": engine}
    words = [str(folder), str(COUNTS[engine]), str(rate), json.dumps(settings)]
    return group.start([sys.executable, "-m", "tests.spark.jobs.queried", *words], name)


def run_with_kills(folder: Path, seed: int, kills: int, engine: str = "spark") -> Reader:
    chance = random.Random(seed)
    with process_group(folder) as group, Replica(str(folder / "checkpoint"), poll_seconds=0.05).start() as replica:
        reader = Reader(folder, replica)
        reader.start()
        for number in range(kills):
            begun_at = outcome.newest_seal(folder)
            program = started(group, folder, engine, 60.0, f"run-{number}")
            program.wait_until(lambda at=begun_at: outcome.newest_seal(folder) > at + 1, "two versions are sealed")
            program.runs_for(chance.random())
            group.kill()
            before = reader.reads
            wait_until(
                lambda seen=before: reader.reads > seen or reader.problem, "queries are answered without the job"
            )
        started(group, folder, engine, 1e6, "last-run").finish()
        group.await_end()
        newest = outcome.newest_seal(folder)
        assert replica.wait_for(newest, timeout=60)
        reader.is_over.set()
        reader.join()
        reader.look()
        assert reader.problem is None
        assert reader.positions[newest] == COUNTS[engine]
    return reader


@pytest.mark.slow
def test_queries_during_kills_of_a_process_without_spark(seed: int, tmp_path: Path) -> None:
    reader = run_with_kills(tmp_path, seed, IN_PROCESS_KILLS, "in-process")
    assert len(reader.positions) > IN_PROCESS_KILLS


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_queries_during_kills_show_sealed_versions_only(seed: int, tmp_path: Path) -> None:
    reader = run_with_kills(tmp_path, seed, KILLS)
    assert len(reader.positions) > KILLS


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.slow
def test_the_same_with_many_kills(seed: int, tmp_path: Path) -> None:
    run_with_kills(tmp_path, seed, SOAK_KILLS)
