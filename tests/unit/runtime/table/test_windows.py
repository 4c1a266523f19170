"""Windows: their aggregates against plain Python, lateness, time zones, sessions, and that nothing is left behind."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import (
    RowKey,
    SessionFunctionOperator,
    WindowAggregateOperator,
    WindowFunctionOperator,
)
from penstock.testing import HarnessSnapshot, OperatorHarness
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.sql.windows import WindowKind, WindowSpec
from tests.unit.runtime.table.changelogs import INT, STRING, TIMESTAMP, call, in_blocks, materialized, random_changes

TYPES = (STRING, INT, TIMESTAMP)
MERGEABLE = (call("COUNT", types=TYPES), call("SUM", 1, types=TYPES))
DISTINCT = (call("COUNT", types=TYPES), call("SUM", 1, types=TYPES, is_distinct=True))
WINDOWS = {
    "tumble": WindowSpec(WindowKind.TUMBLE, 5),
    "tumble with offset": WindowSpec(WindowKind.TUMBLE, 5, offset_ms=2),
    "hop": WindowSpec(WindowKind.HOP, 10, 5),
    "uneven hop": WindowSpec(WindowKind.HOP, 7, 3),
    "cumulate": WindowSpec(WindowKind.CUMULATE, 12, 4),
    "session": WindowSpec(WindowKind.SESSION, 4),
}


def operator(window: WindowSpec, calls: Any = MERGEABLE, **settings: Any) -> WindowAggregateOperator:
    return WindowAggregateOperator(
        key_fields=(0,), aggregates=calls, input_types=TYPES, window=window, time_field=2, **settings
    )


def results_of(values: list[int], is_distinct: bool) -> tuple[Any, ...]:
    chosen = set(values) if is_distinct else values
    return len(values), sum(chosen) if chosen else None


def expected(window: WindowSpec, rows: list[Any], is_distinct: bool) -> Counter[Any]:
    found: dict[Any, list[int]] = defaultdict(list)
    if window.kind is WindowKind.SESSION:
        for key in {row[1] for row in rows}:
            times = sorted((row[3], row[2]) for row in rows if row[1] == key)
            session: list[tuple[int, int]] = []
            for time, value in times:
                if session and time > session[-1][0] + window.size_ms:
                    found[key, session[0][0], session[-1][0] + window.size_ms] = [v for _, v in session]
                    session = []
                session.append((time, value))
            found[key, session[0][0], session[-1][0] + window.size_ms] = [v for _, v in session]
    else:
        for _, key, value, time in rows:
            for start, end in window.windows_of(time):
                found[key, start, end].append(value)
    return Counter((key, *results_of(values, is_distinct), start, end) for (key, start, end), values in found.items())


@pytest.mark.parametrize("is_distinct", [False, True], ids=["merged", "distinct"])
@pytest.mark.parametrize("name", WINDOWS)
def test_every_window_is_emitted_once_with_what_a_batch_gives(seed: int, name: str, is_distinct: bool) -> None:
    random, window = Random(seed), WINDOWS[name]
    times = [at + random.randint(0, 6) for at in range(0, 120, 2)]
    rows = [(0, random.choice("ab"), random.randint(1, 4), time) for time in times]
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    seen = 0
    for blocks in in_blocks(random, in_blocks(random, rows)):
        harness = KeyedHarness(operator(window, DISTINCT if is_distinct else MERGEABLE), key=RowKey(0))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for block in blocks:
                harness.process_elements([(row, None) for row in block])
                seen += len(block)
                # No later row can be before it, nor touch a session that it closes.
                harness.process_watermark(2 * seen - 2)
            snapshot = harness.snapshot()
            if seen == len(rows):
                harness.end_input()
                assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
            results += harness.output_values()
            assert harness.late_records_dropped() == 0
    assert materialized(results) == expected(window, rows, is_distinct)
    assert {row[0] for row in results} == {0}


def test_rows_of_windows_that_are_over_are_dropped_and_counted() -> None:
    with KeyedHarness(operator(WINDOWS["hop"]), key=RowKey(0)) as harness:
        harness.process_watermark(9)
        harness.process_element((0, "a", 1, 4))  # its windows end at 5 and 10
        harness.process_element((0, "a", 2, 5))  # that to 15 is open
        harness.end_input()
        assert harness.late_records_dropped() == 1
        assert harness.output_values() == [(0, "a", 1, 2, 5, 15)]


def test_windows_whose_rows_are_taken_back_emit_nothing(seed: int) -> None:
    random = Random(seed)
    rows = random_changes(random, lambda any: (any.choice("ab"), any.randint(0, 3), any.randint(0, 30)), 80)
    with KeyedHarness(operator(WINDOWS["hop"], needs_retraction=True), key=RowKey(0)) as harness:
        for block in in_blocks(random, rows):
            harness.process_elements([(row, None) for row in block])
        harness.end_input()
        left = [(0, *fields) for fields in materialized(rows).elements()]
        assert materialized(harness.output_values()) == expected(WINDOWS["hop"], left, False)
        assert harness.num_keyed_state_entries() == 0


def test_attached_windows_and_processing_time() -> None:
    made = WindowAggregateOperator(
        key_fields=(),
        aggregates=MERGEABLE,
        input_types=(STRING, INT, TIMESTAMP, TIMESTAMP),
        window=WINDOWS["tumble"],
        window_fields=(2, 3),
        properties=("end", "time"),
    )
    with KeyedHarness(made, key=RowKey()) as harness:
        harness.process_element((0, "a", 1, 5, 10))
        harness.process_watermark(9)
        assert harness.output_values() == [(0, 1, 1, 10, 9)]
    by_clock = WindowAggregateOperator(
        key_fields=(0,), aggregates=MERGEABLE, input_types=TYPES, window=WINDOWS["tumble"], time_field=None
    )
    with KeyedHarness(by_clock, key=RowKey(0), processing_time=7) as harness:
        harness.process_element((0, "a", 1, 0))
        harness.set_processing_time(9)
        assert harness.output_values() == [(0, "a", 1, 1, 5, 10)]


@pytest.mark.parametrize("is_distinct", [False, True], ids=["columns", "rows"])
@pytest.mark.parametrize("name", ["tumble", "tumble with offset", "hop", "uneven hop", "cumulate"])
def test_windows_by_the_clock_are_emitted_once_when_it_is_time(seed: int, name: str, is_distinct: bool) -> None:
    random, window = Random(seed), WINDOWS[name]
    seen: list[Any] = []
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    now = 1_000
    for attempt in range(6):
        made = WindowAggregateOperator(
            key_fields=(0,),
            aggregates=DISTINCT if is_distinct else MERGEABLE,
            input_types=TYPES,
            window=window,
            time_field=None,
        )
        harness = KeyedHarness(made, key=RowKey(0), processing_time=now)
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for _ in range(8):
                # In its last millisecond a window may be emitted, and again for a row that comes after that.
                now += 1
                harness.clock.set(now)
                block = [(0, random.choice("abc"), random.randint(1, 4), 0) for _ in range(random.randint(0, 5))]
                harness.process_elements([(row, None) for row in block])
                seen += [(*row[:3], now) for row in block]
                now += random.choice([0, 1, 2, 3, 20])
                harness.set_processing_time(now)
                told = results + harness.output_values()
                over = expected(window, seen, is_distinct)
                assert Counter(row[1:] for row in told) == Counter(
                    {row: count for row, count in over.items() if row[-1] - 1 <= now}
                )
            if attempt == 5:
                harness.set_processing_time(now + 100)
                assert harness.num_keyed_state_entries() == harness.num_processing_time_timers() == 0
            snapshot = harness.snapshot()
            results += harness.output_values()
    assert Counter(row[1:] for row in results) == expected(window, seen, is_distinct)


def test_a_row_after_the_clock_went_back_is_not_lost() -> None:
    made = WindowAggregateOperator(
        key_fields=(0,), aggregates=MERGEABLE, input_types=TYPES, window=WINDOWS["hop"], time_field=None
    )
    with KeyedHarness(made, key=RowKey(0), processing_time=100) as harness:
        harness.process_element((0, "a", 1, 0))
        harness.set_processing_time(130)
        harness.clear_output()
        harness.clock.now_ms = 101
        harness.process_element((0, "a", 7, 0))
        harness.set_processing_time(131)
        assert sorted(harness.output_values()) == [(0, "a", 1, 7, 95, 105), (0, "a", 1, 7, 100, 110)]


DAY = 86_400_000


def test_windows_follow_the_clock_of_a_zone() -> None:
    window = WindowSpec(WindowKind.TUMBLE, DAY, zone="Asia/Shanghai")
    with OperatorHarness(WindowFunctionOperator(window=window, time_field=0)) as harness:
        harness.process_element((0, 17 * 3_600_000))  # one o'clock of the next day there
        harness.process_element((0, None))
        assert harness.output_values() == [(0, 17 * 3_600_000, DAY, 2 * DAY, 2 * DAY - 8 * 3_600_000 - 1)]
    with KeyedHarness(operator(window, properties=("start", "time")), key=RowKey(0)) as harness:
        harness.process_element((0, "a", 1, 17 * 3_600_000))
        harness.process_watermark(2 * DAY - 8 * 3_600_000 - 2)
        assert harness.output_values() == []
        harness.process_watermark(2 * DAY - 8 * 3_600_000 - 1)
        assert harness.output_values() == [(0, "a", 1, 1, DAY, 2 * DAY - 8 * 3_600_000 - 1)]


def test_a_session_function_emits_its_rows_with_the_final_session() -> None:
    made = SessionFunctionOperator(window=WINDOWS["session"], time_field=2, types=TYPES)
    with KeyedHarness(made, key=RowKey(0)) as harness:
        for row in [(0, "a", 1, 10), (0, "a", 2, 16), (0, "a", 3, 13)]:
            harness.process_element(row)
        harness.snapshot()
        harness.process_watermark(19)
        window = (10, 20, 19)
        assert harness.output_values() == [(0, "a", 1, 10, *window), (0, "a", 2, 16, *window), (0, "a", 3, 13, *window)]
        assert harness.num_keyed_state_entries() == 0
