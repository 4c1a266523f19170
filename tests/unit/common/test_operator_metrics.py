"""Figures by name, and by uid."""

from __future__ import annotations

import json

import pytest

from penstock.common.operator_metrics import OperatorMetrics

TOTALS = {"auto-1": {"records_in": 3}, "mine": {"records_in": 4}, "auto-2": {"records_in": 5}, "lost": {"x": 1}}
NAMES = [("auto-1", "Map"), ("mine", "check"), ("auto-2", "Map")]


def test_figures_are_found_by_name_with_the_uid_alongside() -> None:
    metrics = OperatorMetrics.of(TOTALS, NAMES)
    assert metrics["check"] == {"records_in": 4, "uid": "mine"}
    assert list(metrics) == ["Map (auto-1)", "check", "Map (auto-2)", "lost"]


@pytest.mark.parametrize("is_from_another_process", [False, True])
def test_figures_are_found_by_uid_too(is_from_another_process: bool) -> None:
    metrics = OperatorMetrics.of(TOTALS, NAMES)
    if is_from_another_process:
        metrics = OperatorMetrics(json.loads(json.dumps(metrics)))
    assert metrics["mine"] is metrics["check"] is metrics.get("mine")
    assert metrics["auto-2"]["records_in"] == 5
    assert metrics.get("absent", {}) == {}
    with pytest.raises(KeyError, match="absent"):
        metrics["absent"]


def test_a_name_that_is_another_operators_uid_stays_apart() -> None:
    metrics = OperatorMetrics.of({"a": {"n": 1}, "b": {"n": 2}}, [("a", "b"), ("b", "a")])
    assert (metrics["b"]["uid"], metrics["a"]["uid"]) == ("a", "b")
