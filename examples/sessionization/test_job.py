"""Visits by the job are those that a loop over the sorted clicks finds; what was late or broken is put aside."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun
from sessionization.generate import clicks

GAP_MS = 15 * 60_000
BOUND_MS = 30_000

Visit = tuple[str, int, int, int, str, bool]


def expected_visits(in_time: list[dict[str, Any]]) -> list[Visit]:
    by_user: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    for click in sorted(in_time, key=lambda click: int(click["at_ms"])):
        visits = by_user[click["user"]]
        if visits and click["at_ms"] - visits[-1][-1]["at_ms"] <= GAP_MS:
            visits[-1].append(click)
        else:
            visits.append([click])
    return sorted(
        (
            user,
            visit[0]["at_ms"],
            visit[-1]["at_ms"],
            len(visit),
            visit[0]["page"],
            "thanks" in {c["page"] for c in visit},
        )
        for user, visits in by_user.items()
        for visit in visits
    )


def check(run: ExampleRun) -> None:
    late = [click for click in clicks() if click["received_ms"] - click["at_ms"] > BOUND_MS]
    in_time = [click for click in clicks() if click not in late]
    expected = expected_visits(in_time)
    assert len(late) > 20 and len(expected) > 80
    assert sorted(tuple(visit.values()) for visit in read_rows(run.output / "visits")) == expected
    found = sorted((click["user"], click["page"], click["at_ms"]) for click in read_rows(run.output / "late"))
    assert found == sorted((click["user"], click["page"], click["at_ms"]) for click in late)


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    check(example_run)


def test_every_line_is_a_click_or_rejected_with_a_reason(example_run: ExampleRun) -> None:
    rejected = read_rows(example_run.output / "rejected")
    lines = (example_run.input / "clicks.jsonl").read_text().splitlines()
    assert len(rejected) == len(lines) - len(clicks()) > 5
    assert {row["line"] for row in rejected} <= set(lines)
    assert {row["reason"].partition(":")[0] for row in rejected} >= {"JSONDecodeError", "KeyError"}


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_gives_the_same(spark_run: ExampleRun) -> None:
    check(spark_run)
    assert spark_run.has_the_committed_picture()
