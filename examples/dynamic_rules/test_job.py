"""Every payment is judged by the limit of its time; on any cut into batches, with any crash."""

from __future__ import annotations

from typing import Any

from dynamic_rules.generate import NONSENSE, payments, rules
from dynamic_rules.job import Payment, Rule, alerts
from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun

import penstock.testing  # noqa: F401 - plugs crashes into the in-process engine
from penstock.datastream import StreamExecutionEnvironment


def expected_alerts() -> list[tuple[Any, ...]]:
    found = []
    for payment in payments():
        limit = None
        for rule in sorted(rules(), key=lambda rule: int(rule["at_ms"])):
            if rule["merchant"] == payment["merchant"] and rule["at_ms"] <= payment["at_ms"]:
                limit = rule["limit"]
        if limit is not None and payment["amount"] > limit:
            found.append((*payment.values(), limit))
    return sorted(found)


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    expected = expected_alerts()
    assert len(expected) > 50 and len({row[-1] for row in expected}) == 5
    assert sorted(tuple(row.values()) for row in read_rows(example_run.output / "alerts")) == expected


def test_rules_that_make_no_sense_are_put_aside(example_run: ExampleRun) -> None:
    parts = (example_run.output / "rejected").glob("part-*")
    assert sorted(line for part in parts for line in part.read_text().splitlines()) == sorted(NONSENSE)


def test_the_order_of_the_streams_and_crashes_change_nothing(penstock_seed: int) -> None:
    env = StreamExecutionEnvironment.in_process(penstock_seed, crash_rate=0.02).set_parallelism(2)
    made = env.from_collection([Payment(**payment) for payment in payments()])
    found = alerts(made, env.from_collection([Rule(**rule) for rule in rules()])).execute_and_collect()
    assert sorted(tuple(row) for row in found) == expected_alerts()


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"
