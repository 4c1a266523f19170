"""Metric groups and the numbers they give."""

from __future__ import annotations

import pytest

from penstock.metrics import MetricGroup


def test_values_are_flat() -> None:
    group = MetricGroup()
    counter = group.counter("seen")
    counter.inc()
    counter.inc(5)
    counter.dec(2)
    group.add_group("kind", "a").meter("events").mark_event(3)
    distribution = group.add_group("sizes").distribution("bytes")
    for size in (5, 1, 9):
        distribution.update(size)
    group.gauge("depth", lambda: 2.5)
    assert group.values() == {
        "seen": 4,
        "depth": 2.5,
        "kind.a.events": 3,
        "sizes.bytes.count": 3,
        "sizes.bytes.sum": 15,
        "sizes.bytes.min": 1,
        "sizes.bytes.max": 9,
    }


def test_the_same_name_is_the_same_metric() -> None:
    group = MetricGroup()
    group.add_group("g").counter("c").inc()
    group.add_group("g").counter("c").inc()
    assert group.values() == {"g.c": 2}
    with pytest.raises(ValueError, match=r"'g\.c' is a Counter already: give the Meter another name"):
        group.add_group("g").meter("c")


def test_scopes() -> None:
    group = MetricGroup(("job",)).add_group("topic", "orders")
    assert group.get_scope_components() == ["job", "topic", "orders"]
    assert group.get_all_variables() == {"<topic>": "orders"}
    assert group.get_metric_identifier("lag") == "job.topic.orders.lag"


def test_a_broken_gauge_costs_nothing() -> None:
    group = MetricGroup()
    group.gauge("broken", lambda: 1 // 0)
    group.gauge("text", lambda: "x")  # type: ignore[arg-type,return-value]
    group.gauge("good", lambda: 1)
    group.gauge("good", lambda: 2)
    assert group.values() == {"good": 2}
    with pytest.raises(TypeError, match="expects a callable"):
        group.gauge("number", 5)  # type: ignore[arg-type]


def test_an_empty_distribution_has_no_extremes() -> None:
    group = MetricGroup()
    group.distribution("d")
    assert group.values() == {"d.count": 0}


@pytest.mark.parametrize("name", ["", None, 5])
def test_names_are_text(name: str) -> None:
    with pytest.raises(ValueError, match="non-empty string"):
        MetricGroup().counter(name)
    with pytest.raises(ValueError, match="non-empty string"):
        MetricGroup().add_group(name)
