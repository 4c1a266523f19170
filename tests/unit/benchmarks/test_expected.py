"""The oracle against literals, and what it says of results that are not right."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks.catalogue import WORKLOADS
from benchmarks.expected import EXPECTED, differences, shortened
from benchmarks.peers import drawn
from benchmarks.peers.reporting import SESSION_GAP_S


def results(workload: str, records: int, **changes: int) -> list[tuple[tuple[int, ...], int]]:
    changed = replace(WORKLOADS[workload], keys=1, **changes)
    return sorted(EXPECTED[changed.job](changed, records))


def test_literals() -> None:
    assert results("map_filter", 3, rate=1_000) == [((0, 2), 1)]
    assert results("count_2k", 2, rate=1_000) == [((0, 1), 0), ((0, 2), 1)]
    # Two records in a second: windows of 10 s have 20, and those of 60 s get fuller and emptier.
    assert results("tumbling", 25, rate=2) == [((0, 5), 20_000), ((0, 20), 10_000)]
    assert results("tumbling_fields", 25, rate=2) == [((0, 5, 110), 20_000), ((0, 20, 190), 10_000)]
    sliding = results("sliding", 4, rate=2)
    assert len(sliding) == 61
    assert sum(count for (_, count), _ in sliding) == 4 * 60
    assert results("timers", 3, rate=2) == [((0, 2), 1_000), ((0, 3), 2_000)]
    pairs = [numbers for numbers, _ in results("interval_join", 4, rate=1)]
    assert pairs == [(0, 0, 0), (0, 0, 1000), (0, 1000, 0), (0, 1000, 1000)]
    assert results("sql_group_2k", 3, rate=1_000) == [((0, 1, 0), 0), ((0, 2, 1), 1), ((0, 3, 3), 2)]
    assert results("sql_filter", 3, rate=1_000) == [((0, 1), 0), ((0, 3), 2)]
    hopping = results("sql_hop", 4, rate=2)
    assert [sum(numbers[place] for numbers, _ in hopping) for place in (1, 2)] == [4 * 60, (0 + 1 + 2 + 3) * 60]
    joined = [numbers for numbers, _ in results("sql_join", 2_000, rate=1_000)]
    assert len(joined) == 1_000
    assert joined[617] == (617, 617, 1)


def test_a_session_ends_when_the_gap_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    gap = SESSION_GAP_S * 1000
    times = [0, gap, 2 * gap + 1]
    monkeypatch.setattr("benchmarks.expected.time_of", lambda number, rate: times[number])
    assert results("session", 3) == [((0, 1), 3 * gap + 1), ((0, 2), 2 * gap)]


def test_right_results_are_right_also_without_keys_and_open_windows() -> None:
    workload = replace(WORKLOADS["tumbling"], keys=1, rate=2)
    assert differences(workload, 25, [[0, 20], [0, 5]]) is None
    assert differences(workload, 25, [[5], [20]]) is None
    assert differences(workload, 25, [[20]]) is None


def test_wrong_and_missing_results_are_told() -> None:
    workload = replace(WORKLOADS["tumbling"], keys=1, rate=2)
    told = "1 wrong results, such as (0, 19); 1 missing, such as (0, 20)"
    assert differences(workload, 30, [[0, 19], [0, 10]]) == told
    assert differences(workload, 30, []) is not None


def test_counts_may_come_for_each_batch() -> None:
    workload = replace(WORKLOADS["count_2k"], keys=1)
    assert differences(workload, 5, [[0, 2], [0, 5]]) is None
    assert differences(workload, 5, [[0, 2], [0, 4]]) == "2 counts differ"


def test_sums_on_the_way_may_come_in_another_order() -> None:
    workload = replace(WORKLOADS["sql_group_2k"], keys=1)
    assert differences(workload, 3, [[0, 1, 1], [0, 2, 3], [0, 3, 3]]) is None
    assert differences(workload, 3, [[0, 1, 1], [0, 2, 3], [0, 3, 4]]) == "2 counts differ"
    assert differences(workload, 3, [[0, 3, 3]]) is None


def test_the_short_form_meets_each_key_as_often() -> None:
    short = shortened(WORKLOADS["session"])
    assert (short.keys, short.rate) == (50, 10)
    assert short.options["spark_native"]["batch"] == 400


def test_drawn_keys_are_spread_and_without_a_cycle() -> None:
    table = [drawn.key_of(number, 100, zipf=False) for number in range(10_000)]
    counts = [table.count(key) for key in range(100)]
    assert min(counts) > 60
    assert max(counts) < 145
    steps = {(after - before) % 100 for before, after in pairwise(table)}
    assert len(steps) == 100
    hot = [drawn.key_of(number, 100, zipf=True) for number in range(10_000)]
    assert hot.count(0) > 1_000 > hot.count(50) > 0
