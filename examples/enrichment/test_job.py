"""Each order has the record of its time; on any cut into batches, with any crash; and old records are forgotten."""

from __future__ import annotations

from typing import Any

from enrichment.generate import orders, profiles
from enrichment.job import KEEP_MS, UNKNOWN, AddProfile, Order, Profile, enriched
from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun

import penstock.testing  # noqa: F401 - plugs crashes into the in-process engine
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import KeyedCoProcessHarness


def expected() -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Orders with their record, and orders without one."""
    known, unknown, by_time = [], [], profiles()
    for order in orders():
        record = None
        for profile in by_time:
            if profile["customer"] == order["customer"] and profile["at_ms"] <= order["at_ms"]:
                record = profile
        if record is None:
            unknown.append(tuple(order.values()))
        else:
            known.append((*order.values(), record["segment"], record["country"]))
    return sorted(known), sorted(unknown)


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    known, unknown = expected()
    assert len(unknown) > 10 and {row[4] for row in known} == {"basic", "silver", "gold"}
    assert sorted(tuple(row.values()) for row in read_rows(example_run.output / "enriched")) == known
    assert sorted(tuple(row.values()) for row in read_rows(example_run.output / "unknown")) == unknown


def test_the_order_of_the_streams_and_crashes_change_nothing(penstock_seed: int) -> None:
    env = StreamExecutionEnvironment.in_process(penstock_seed, crash_rate=0.02).set_parallelism(2)
    placed = env.from_collection([Order(**order) for order in orders()])
    found = enriched(placed, env.from_collection([Profile(**profile) for profile in profiles()]))
    assert sorted(tuple(row) for row in found.execute_and_collect()) == expected()[0]


def test_a_version_is_forgotten_an_hour_after_it_was_replaced() -> None:
    harness = KeyedCoProcessHarness(
        AddProfile(), key1=lambda order: order.customer, key2=lambda profile: profile.customer, side_outputs=[UNKNOWN]
    )
    with harness:
        for number, segment in enumerate(("basic", "silver")):
            harness.process_element2(Profile(1, segment, "DE", number * 1_000), timestamp=number * 1_000)
        harness.process_watermark(999 + KEEP_MS)
        assert len(harness.state(1, "versions")) == 2
        harness.process_watermark(1_000 + KEEP_MS)
        assert harness.state(1, "versions") == {1_000: ("silver", "DE")}
        assert harness.num_event_time_timers() == 0


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"
