"""Alerts by the pattern are those that a loop over the sorted payments of each card finds."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from card_fraud.generate import payments
from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun

BOUND_MS = 30_000
WITHIN_MS = 10 * 60_000

Payment = dict[str, Any]


def in_time() -> dict[str, list[Payment]]:
    """The payments of each card that are not late, by time."""
    by_card: dict[str, list[Payment]] = defaultdict(list)
    for payment in sorted(payments(), key=lambda payment: (payment["at_ms"], payment["id"])):
        if payment["received_ms"] - payment["at_ms"] <= BOUND_MS:
            by_card[payment["card"]].append(payment)
    return by_card


def judge(card: list[Payment]) -> tuple[list[list[int]], list[list[int]]]:
    """Ids of (test, test, large), and ids of tests that came to nothing."""
    alerts: list[list[int]] = []
    tested: list[list[int]] = []
    tests: list[Payment] = []

    def expire(now_ms: float) -> None:
        while tests and now_ms - tests[0]["at_ms"] >= WITHIN_MS:
            first = tests.pop(0)
            follower = [test for test in tests[:1] if test["at_ms"] - first["at_ms"] < WITHIN_MS]
            tested.append([first["id"], *(test["id"] for test in follower)])

    for payment in card:
        expire(payment["at_ms"])
        if payment["amount"] < 1:
            tests.append(payment)
        elif payment["amount"] >= 500 and len(tests) >= 2:
            alerts.append([tests[0]["id"], tests[1]["id"], payment["id"]])
            tests.clear()
    expire(float("inf"))
    return alerts, tested


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    judged = [judge(card) for card in in_time().values()]
    alerts = sorted(found for each, _ in judged for found in each)
    tested = sorted(found for _, each in judged for found in each)
    assert len(alerts) > 5 and len(tested) > 10
    rows = read_rows(example_run.output / "alerts")
    assert sorted([*row["tests"], row["payment"]] for row in rows) == alerts
    assert sorted(row["tests"] for row in read_rows(example_run.output / "tested")) == tested


def test_an_alert_has_the_figures_of_its_payments(example_run: ExampleRun) -> None:
    by_id = {payment["id"]: payment for payment in payments()}
    for row in read_rows(example_run.output / "alerts"):
        large, first = by_id[row["payment"]], by_id[row["tests"][0]]
        assert (row["card"], row["amount"]) == (large["card"], large["amount"]) and first["card"] == large["card"]
        assert row["seconds"] == (large["at_ms"] - first["at_ms"]) // 1000


def test_payments_that_come_hours_late_are_kept(example_run: ExampleRun) -> None:
    late = [payment["id"] for payment in payments() if payment["received_ms"] - payment["at_ms"] > BOUND_MS]
    assert sorted(row["id"] for row in read_rows(example_run.output / "late")) == sorted(late) and late


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"
