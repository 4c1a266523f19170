"""What is kept while events go by is bounded by the window, and nothing is left when all windows have passed."""

from __future__ import annotations

import random

import pytest

from benchmarks import patterns as benchmark
from penstock.common.constants import MAX_WATERMARK
from tests.unit.cep import brute_force, chance
from tests.unit.cep.test_operator import harness_of

KEYS, BATCH, CYCLE, CYCLES, WINDOW_MS = 6, 48, 4, 4, 40
SKIPS = ["noSkip", "skipToNext", "skipPastLastEvent", "skipToFirst(a)", "skipToLast(a)"]
PLANTED = ["abcd", "acxxxxxx", "bcxxxxxx"]  # for three keys, so that every pattern has a match
PATTERNS = [
    "a followedByAny b+ allowCombinations followedBy c",
    "a+ followedBy b times(1,2) greedy next c",
    "a followedBy group(b next c)+ followedBy d",
    "a optional followedBy b followedBy c notFollowedBy d",
    "a notFollowedBy b followedByAny c+ until d",
]


@pytest.mark.parametrize("skip", SKIPS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_rows_and_timers_are_bounded_and_go_with_the_windows(pattern: str, skip: str, seed: int) -> None:
    # The same batches again and again: once the first are out of the window, the same is kept after each of them.
    kinds = random.Random(seed).choices("abcdx", k=BATCH * CYCLE)
    for key, planted in enumerate(PLANTED):
        kinds[key : key + KEYS * len(planted) : KEYS] = planted
    events = [(f"{kind}{n}", n, n * 7 % KEYS) for n, kind in enumerate(kinds * CYCLES)]
    kept = []
    with harness_of(f"{pattern} within({WINDOW_MS})", skip) as harness:
        for first in range(0, len(events), BATCH):
            harness.process_elements([(event, event[1]) for event in events[first : first + BATCH]])
            harness.process_watermark(first + BATCH - 1)
            kept.append(sum(len(row) + len(data) for row, data in harness.snapshot().rows.items()))
            # A match may begin with every event of a window, and has then one timer.
            assert harness.num_event_time_timers() <= WINDOW_MS
        harness.process_watermark(MAX_WATERMARK)
        assert harness.output_values()
        assert (harness.num_keyed_state_entries(), harness.num_event_time_timers()) == (0, 0)
    # Numbers and times have a digit more later.
    assert all(later < 1.1 * early for early, later in zip(kept[CYCLE:], kept[-CYCLE:], strict=False))


def test_nothing_is_left_of_drawn_patterns_in_event_and_processing_time(seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(40):
        text = brute_force.text_of(chance.drawn_items(chosen), 9)
        for is_processing_time in (False, True):
            with harness_of(text, is_processing_time=is_processing_time) as harness:
                for name, time in chance.drawn_events(chosen, 12, 0):
                    if is_processing_time:
                        harness.set_processing_time(time)
                    harness.process_element((name, time), time)
                harness.set_processing_time(1_000)
                harness.process_watermark(MAX_WATERMARK)
                left = (harness.num_event_time_timers(), harness.num_processing_time_timers())
                assert (harness.num_keyed_state_entries(), *left) == (0, 0, 0), text


def test_the_benchmark_measures_a_run_that_stays_flat_and_sees_one_that_grows() -> None:
    points, left = benchmark.measured(50_000 // 5)
    assert len(points) >= 2
    assert left == 0
    assert benchmark.grown(points) == []
    growing = [benchmark.Point(n, 100.0, n, 1.0, 1, 1, 1.0) for n in (100, 200, 300)]
    assert benchmark.grown(growing) == ["rows"]
