"""Whatever crashes, and whenever it is asked, a replica shows what plain Python makes of a sealed version's input."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.errors import QueryError
from penstock.queryable import Replica
from tests.unit.queryable.jobs import (
    counting_job,
    expected_state,
    is_as_expected,
    position_in,
    queried_state,
    records_of,
    run_all,
)

RUNS = 6
SOAK_RUNS = 150
KEYS = [f"k{number}" for number in range(6)]


class Looker:
    """Looks at a replica at every step of a job at which its process could die; `versions` are those it has seen."""

    def __init__(self, directory: Path, replica: Replica, records: list[tuple[str, int]]) -> None:
        self.directory, self.replica, self.records = directory, replica, records
        self.versions: list[int] = []
        self.kinds: set[str] = set()

    def look(self) -> None:
        self.replica.refresh()
        try:
            version, found = queried_state(self.replica, KEYS)
        except QueryError as error:
            assert error.status in (404, 503)  # nothing is sealed yet, or the operator has no state in what is
            return
        is_as_expected(found, self.records[: position_in(self.directory, version)])
        self.versions.append(version)

    def watch(self, chances: Any) -> None:
        step = chances.step

        def looked_at(number: int, kind: str, what: object) -> None:
            self.kinds.add(kind)
            self.look()
            step(number, kind, what)

        chances.step = looked_at


def checked(seed: int, directory: Path) -> Looker:
    rng = Random(seed)
    records = records_of(rng.randrange(60, 120))
    options = {"crash_rate": rng.choice([0.0, 0.02, 0.05]), "state": rng.choice(["memory", "heap", "lmdb"])}
    client = counting_job(directory, records, seed, batch=rng.choice([3, 7, 20]), **options)
    with Replica(str(directory)) as replica:
        looker = Looker(directory, replica, records)
        looker.watch(client.job.chances)
        run_all(client)
        looker.look()
        found = queried_state(replica, KEYS)[1]
        is_as_expected(found, records)
        assert {key: found[key]["total"] for key in KEYS} == {
            key: state["total"] for key, state in expected_state(records).items()
        }
    assert looker.versions == sorted(looker.versions), "a version that was seen went away again"
    return looker


@pytest.mark.parametrize("number", range(RUNS))
def test_queries_at_every_step_show_sealed_versions_only(number: int, seed: int, tmp_path: Path) -> None:
    looker = checked(seed + number, tmp_path / "checkpoint")
    assert len(set(looker.versions)) > 2
    assert {"seal", "publish"} <= looker.kinds


@pytest.mark.soak
def test_the_same_for_long(seed: int, tmp_path: Path) -> None:
    for number in range(SOAK_RUNS):
        checked(seed + number, tmp_path / str(number))
