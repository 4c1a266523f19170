"""Random SQL queries in process: neither cuts of batches nor the order of things nor deaths change a result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values
from penstock.vocabulary.sql.row_kinds import DELETE, UPDATE_BEFORE
from tests.simulation.queries import COLUMNS, DELAY_S, RandomQuery, random_query, random_rows

QUERIES = 12
"""Always the same ones; `make kill` draws others by its seed."""
SOAK_QUERIES = 600
ROWS = 50
VERSIONS = (
    "CREATE VIEW lasts AS SELECT id, k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS r "
    "FROM t) WHERE r = 1"
)


@dataclass(frozen=True)
class Cut:
    """How a job comes to its end."""

    seed: int | None = None
    parallelism: int = 1
    crash_rate: float = 0.0
    batch: int = 10**6
    watermark_every: int = 1_000
    rows_of_turn: int = 10**6
    state: str = "memory"
    phases: str = "AUTO"
    mode: str = "micro-batch"
    is_prompt: bool = False
    """Whether there is a watermark behind each row."""

    @classmethod
    def draw(cls, random: Random, *, is_prompt: bool) -> Cut:
        return cls(
            is_prompt=is_prompt,
            seed=random.randrange(2**31),
            parallelism=1 if is_prompt else random.choice([1, 2, 3]),
            crash_rate=random.choice([0.0, 0.01]),
            batch=random.choice([1, 2, 3, 7, 20, 10**6]),
            watermark_every=random.choice([1, 5, 1_000]),
            rows_of_turn=random.choice([1, 3, 9, 10**6]),
            state=random.choice(["memory", "heap", "lmdb"]),
            phases=random.choice(["AUTO", "ONE_PHASE"]),
            mode=random.choice(["micro-batch", "micro-batch", "continuous"]),
        )


def changes(query: RandomQuery, rows: list[list[Any]], cut: Cut) -> list[tuple[Any, ...]]:
    """The changelog of a query in a job that is cut like that."""
    values.clear()
    configuration = Configuration().set_string("penstock.batch.max-records", str(cut.batch))
    configuration.set_string("pipeline.watermark-every-records", str(cut.watermark_every))
    configuration.set_string("penstock.execution.mode", cut.mode)
    environment = StreamExecutionEnvironment.in_process(
        cut.seed, crash_rate=cut.crash_rate, state=cut.state, configuration=configuration
    )
    tables = StreamTableEnvironment.create(environment.set_parallelism(cut.parallelism))
    tables.get_config().set("table.optimizer.agg-phase-strategy", cut.phases)
    for name, each in zip("st", rows, strict=True):
        options = f"'data-id' = '{values.register(each)}', 'rows-per-batch' = '{cut.rows_of_turn}'"
        options += ", 'scan.watermark.emit.strategy' = 'on-event'" if cut.is_prompt else ""
        tables.execute_sql(f"CREATE TABLE {name} ({COLUMNS}) WITH ('connector' = 'values', {options})")
    tables.execute_sql(VERSIONS)
    declared = ", ".join(f"c{number} {each}" for number, each in enumerate(query.types))
    tables.execute_sql(f"CREATE TABLE o ({declared}) WITH ('connector' = 'values', 'sink-insert-only' = 'false')")
    cast = ", ".join(f"CAST(c{number} AS {each})" for number, each in enumerate(query.types))
    names = ", ".join(f"c{number}" for number in range(len(query.types)))
    tables.execute_sql(f"INSERT INTO o SELECT {cast} FROM ({query.text}) AS x ({names})").wait()
    return list(values.results("default_catalog.default_database.o"))


def final(changelog: list[tuple[Any, ...]]) -> Counter[Any]:
    """The rows that a changelog leaves; none may be taken back that is not there."""
    rows: Counter[Any] = Counter()
    for kind, *fields in changelog:
        rows[tuple(fields)] += -1 if kind in (DELETE, UPDATE_BEFORE) else 1
        assert rows[tuple(fields)] >= 0
    return +rows


_DRAWS = 10
"""How often rows are drawn for a query until it has results: a pattern may match nowhere in some."""


def check(seed: int) -> None:
    random = Random(seed)
    query = random_query(random)
    is_prompt = query.reads_one_table and random.random() < 0.5  # then rows may be late, always the same ones
    disorder_s = {"disorder_s": 3.0 * DELAY_S} if is_prompt else {}
    for _ in range(_DRAWS):
        rows = [random_rows(random, ROWS, first, **disorder_s) for first in (0, 1)]
        whole = changes(query, rows, Cut(is_prompt=is_prompt))
        if whole:
            break
    assert whole, f"{query.text}\nhas no rows, however they are drawn: it shows nothing"
    for _ in range(3):
        cut = Cut.draw(random, is_prompt=is_prompt)
        found = changes(query, rows, cut)
        told = f"seed {seed}, {cut}\n{query.text}"
        assert final(found) == final(whole), told
        if query.is_final:  # then the changelog is one too
            assert Counter(found) == Counter(whole), told


@pytest.mark.parametrize("number", range(QUERIES))
def test_a_random_query_has_one_result_however_it_is_cut(number: int) -> None:
    check(number)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(SOAK_QUERIES))
def test_many_random_queries_have_one_result_however_they_are_cut(number: int, seed: int) -> None:
    check(seed + number)
