"""Tests of which a run draws a part: `@pytest.mark.drawn(3)` is one in three, and so is `@pytest.mark.turns(3)`.

`drawn` is for cases that share a mechanism, so that one of them would show a break in it, and that take minutes all
together. `make test` and CI draw (`pytest --draw`), and the seed of the run says which; `make kill` runs them all.

`turns` is for what `make test` would take too long with (`pytest --take-turns`). The same is done with whole files: of
each group in `TURNS` the seed draws some. `make test ALL=1`, which CI runs, leaves out none of these.

Tests that are alike form a group, of which at least one is drawn: the cases of one test, or, if their ids end with
numbers, those whose text before it is the same (`joins-3` is of the group `joins`), or all tests that name a group:
`@pytest.mark.drawn(3, group="deaths")`.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict

import pytest

_NUMBER = re.compile(r"-\d+\]$")
_CASE = re.compile(r"\[.*\]$", re.DOTALL)

TURNS: dict[str, tuple[int, tuple[str, ...]]] = {
    "examples of the field": (
        6,
        (
            "examples/account_notifications/test_job.py",
            "examples/card_fraud/test_job.py",
            "examples/deduplication/test_job.py",
            "examples/dynamic_rules/test_job.py",
            "examples/enrichment/test_job.py",
            "examples/order_pipeline/test_job.py",
            "examples/sensor_alerts/test_job.py",
            "examples/sessionization/test_job.py",
            "examples/trades/test_job.py",
            "examples/warehouse/test_job.py",
            "examples/word_count/test_job.py",
        ),
    ),
    "deaths of drivers, workers, clusters and brokers": (
        15,
        (
            "tests/jdbc/test_kill.py",
            "tests/kafka/test_kill.py",
            "tests/kafka/test_kill_kstreams.py",
            "tests/kafka/test_kill_tables.py",
            "tests/kafka/test_slow_sink.py",
            "tests/server/test_spark_jobs.py",
            "tests/spark/test_cluster.py",
            "tests/spark/test_continuous.py",
            "tests/spark/test_kill_checkpoint.py",
            "tests/spark/test_kill_driver.py",
            "tests/spark/test_kill_patterns.py",
            "tests/spark/test_kill_worker.py",
            "tests/spark/test_lost_java.py",
            "tests/spark/test_queryable.py",
            "tests/spark/test_resume_matrix.py",
        ),
    ),
    "ways to start a program": (
        8,
        (
            "tests/spark/test_cached_streams.py",
            "tests/spark/test_cli.py",
            "tests/spark/test_demo.py",
            "tests/spark/test_doors.py",
            "tests/spark/test_fast_start.py",
            "tests/spark/test_notebook.py",
            "tests/spark/test_own_sources.py",
            "tests/spark/test_sql_shell.py",
        ),
    ),
    "servers and their pages": (
        10,
        (
            "tests/browser/test_flink_web_ui.py",
            "tests/browser/test_pages.py",
            "tests/prometheus/test_prometheus.py",
            "tests/server/test_commands.py",
            "tests/server/test_dispatcher.py",
            "tests/server/test_flink_client.py",
            "tests/server/test_mistakes.py",
            "tests/server/test_requirements.py",
            "tests/server/test_sql_gateway.py",
            "tests/server/test_sql_gateway_clients.py",
        ),
    ),
    "Kafka": (
        6,
        (
            "tests/kafka/test_continuous_sink.py",
            "tests/kafka/test_docs.py",
            "tests/kafka/test_example.py",
            "tests/kafka/test_kstreams.py",
            "tests/kafka/test_local_broker.py",
            "tests/kafka/test_sink.py",
            "tests/kafka/test_source.py",
            "tests/kafka/test_source_changes.py",
            "tests/kafka/test_source_spark.py",
            "tests/kafka/test_table_formats.py",
            "tests/kafka/test_temporal_join.py",
            "tests/kafka/test_warehouse.py",
        ),
    ),
    "jobs on Spark": (
        9,
        (
            "tests/conformance/test_kstreams.py",
            "tests/spark/test_backpressure.py",
            "tests/spark/test_batch_cuts.py",
            "tests/spark/test_cep.py",
            "tests/spark/test_ends.py",
            "tests/spark/test_everything_continuous.py",
            "tests/spark/test_examples.py",
            "tests/spark/test_examples_in_docs.py",
            "tests/spark/test_failures.py",
            "tests/spark/test_file_readers.py",
            "tests/spark/test_life_cycle.py",
            "tests/spark/test_savepoints.py",
            "tests/spark/test_sql.py",
            "tests/spark/test_state_and_time.py",
            "tests/spark/test_state_processor.py",
            "tests/spark/test_troubles.py",
            "tests/transcripts/test_continuous_on_spark.py",
            "tests/unit/state/test_versions_growth.py",
        ),
    ),
}
"""Files that take turns: of each group, one in how many a run draws. Their subjects have quick tests too."""


def left_out(items: list[pytest.Item], seed: int, name: str = "drawn") -> set[str]:
    """The ids of the tests that are not drawn, of those with a mark of this name."""
    groups: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker(name)
        if mark is not None:
            (one_in,) = mark.args
            groups[mark.kwargs.get("group") or _group_of(item.nodeid)].append((item.nodeid, one_in))
    return {each for group, members in groups.items() for each in _others(members, random.Random(f"{seed} {group}"))}


def _group_of(case: str) -> str:
    by_number = _NUMBER.sub("]", case)
    return by_number if by_number != case else _CASE.sub("", case)


def files_left_out(seed: int) -> set[str]:
    """The files whose turn it is not, as paths below the root."""
    out: set[str] = set()
    for group, (one_in, files) in TURNS.items():
        out.update(_others([(file, one_in) for file in files], random.Random(f"{seed} {group}")))
    return out


def _others(members: list[tuple[str, int]], chance: random.Random) -> list[str]:
    names = sorted(name for name, _ in members)  # whatever order they were found in
    count = math.ceil(len(names) / max(one_in for _, one_in in members))
    return sorted(set(names) - set(chance.sample(names, count)))
