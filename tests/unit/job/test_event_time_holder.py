"""Which input holds back event time, by what is known of splits and by a clock that the test moves."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.common.constants import MIN_WATERMARK
from penstock.common.job_progress import HeldBack
from penstock.job.event_time_holder import EventTimeHolder, StallLog, told_together
from penstock.runtime.input_times import InputTime, SplitTime

NOON = 1_800_000_000_000
HOUR = 3_600_000


def split(name: str | None, watermark: int = MIN_WATERMARK, *, is_idle: bool = False, last: int = NOON) -> SplitTime:
    return SplitTime(name, watermark, is_idle, last, "highest")


def source(*splits: SplitTime, subtask: int = 0, uid: str = "orders", **changes: object) -> InputTime:
    active = [each.watermark for each in splits if not each.is_idle]
    whole = InputTime(uid, uid, subtask, watermark=min(active, default=MIN_WATERMARK), is_idle=not active)
    return replace(whole, splits=splits, **changes)  # type: ignore[arg-type]


def stalled(*inputs: InputTime, reached: int = MIN_WATERMARK, records: int = 5, after: float = 20.0) -> HeldBack | None:
    """What holds an operator back that has got records `after` seconds ago, its event time not moving since."""
    holder = EventTimeHolder("sales", delay=10.0)
    holder.note(reached, 1, now=0.0, now_ms=NOON)
    holder.note(reached, records, now=0.1, now_ms=NOON)
    holder.look(inputs, now=0.2, now_ms=NOON)
    return holder.look(inputs, now=after, now_ms=NOON + int(after * 1000))


def named(held: HeldBack | None) -> tuple[str, int, str | None, str]:
    assert held is not None
    return held.uid, held.subtask, held.split, held.reason


def test_a_partition_that_never_had_a_record() -> None:
    held = stalled(source(split("orders-0", NOON), split("orders-1", NOON + 5), split("orders-2")))
    assert named(held) == ("orders", 0, "orders-2", "never")
    assert held is not None and held.text == (
        "event time of 'sales' has not begun after 20 s: split orders-2 of source 'orders' (uid 'orders') has never "
        "had a record; if it may stay empty, add .with_idleness(...) to the watermark strategy"
    )
    assert (held.watermark, held.others, held.is_quiet) == (None, 0, False)


def test_a_partition_that_turned_up_later() -> None:
    held = stalled(source(split("a-0", NOON + 5), split("a-1"), watermark=NOON), reached=NOON)
    assert named(held) == ("orders", 0, "a-1", "never")
    assert held is not None and held.text.startswith("event time of 'sales' has stood still at 2027-01-15T08:00:00Z")


def test_the_watermark_of_an_input_is_told_where_it_is_another() -> None:
    """Behind an interval join, say, event time is behind that of the inputs."""
    held = stalled(source(split("a-0", NOON)), reached=NOON - HOUR)
    assert held is not None and (held.watermark, held.event_time) == (NOON, NOON - HOUR)
    assert "(uid 'orders'), with watermark 2027-01-15T08:00:00Z, has had no record" in held.text


def test_several_that_wait_alike_are_counted() -> None:
    first, second = source(split("a-0", NOON), split("a-1")), source(split("a-2"), split("a-3"), subtask=1)
    held = stalled(first, second)
    assert named(held) == ("orders", 0, "a-1", "never")
    assert held is not None and held.others == 2
    assert "split a-1 (and 2 more)" in held.text


def test_a_split_that_stopped_getting_records() -> None:
    held = stalled(source(split("a-0", NOON + HOUR), split("a-1", NOON, last=NOON + 7)), reached=NOON)
    assert named(held) == ("orders", 0, "a-1", "stopped")
    assert held is not None and held.watermark == NOON
    assert held.text == (
        "event time of 'sales' has stood still at 2027-01-15T08:00:00Z for 20 s: split a-1 of source 'orders' "
        "(uid 'orders') has had no record since 2027-01-15T08:00:00Z; if it may fall silent, add .with_idleness(...) "
        "to the watermark strategy"
    )


def test_the_slow_one_of_two_sources() -> None:
    held = stalled(source(split(None, NOON + HOUR)), source(split(None, NOON), uid="refunds"), reached=NOON)
    assert named(held) == ("refunds", 0, None, "stopped")
    assert held is not None and ": source 'refunds' (uid 'refunds') has had" in held.text


def test_records_that_come_but_are_not_newer() -> None:
    holder = EventTimeHolder("sales", delay=10.0)
    holder.note(NOON, 5, now=0.0, now_ms=NOON)
    holder.note(NOON, 5, now=1.0, now_ms=NOON)
    holder.look([source(split("a-0", NOON, last=NOON + 1))], now=2.0, now_ms=NOON)
    held = holder.look([source(split("a-0", NOON, last=NOON + 9_000))], now=20.0, now_ms=NOON)
    assert named(held) == ("orders", 0, "a-0", "old")
    assert held is not None and "gets records, but none is newer than its watermark" in held.text


def test_a_record_far_in_the_future_is_said_to_be_one() -> None:
    held = stalled(source(split("a-0", NOON + 400 * 24 * HOUR)), reached=NOON + 400 * 24 * HOUR)
    assert named(held)[-1] == "ahead"
    assert held is not None and "its watermark is 400 days ahead of the clock" in held.text


def test_no_watermark_strategy() -> None:
    held = stalled(source(replace(split("a-0"), generator="none"), records=5))
    assert named(held) == ("orders", 0, None, "no strategy")
    assert held is not None and held.text.endswith(
        "source 'orders' (uid 'orders') has no watermark strategy; pass one to from_source, or call "
        "assign_timestamps_and_watermarks behind it"
    )
    bounded = stalled(source(replace(split("a-0"), generator="none"), is_bounded=True))
    assert bounded is not None and bounded.is_quiet  # the end of its input fires everything


def test_records_without_any_watermark() -> None:
    held = stalled(source(split(None), records=5))
    assert named(held)[-1] == "no watermark"
    assert held is not None and "has had records, but there is no watermark of them" in held.text


def test_a_subtask_of_several_is_named_by_its_number() -> None:
    busy, empty = source(split(None, NOON), parallelism=2), source(split(None), subtask=1, parallelism=2)
    held = stalled(busy, empty)
    assert named(held) == ("orders", 1, None, "never")
    assert held is not None and "subtask 1 of source 'orders'" in held.text
    operator = replace(empty, is_source=False)
    held = stalled(busy, operator)
    assert held is not None and "subtask 1 of operator 'orders'" in held.text


def test_files_that_wait_to_be_read() -> None:
    held = stalled(InputTime("orders", "orders", watermark=MIN_WATERMARK))
    assert named(held)[-1] == "unread"


def test_who_is_idle_is_not_named() -> None:
    idle = split("a-1", is_idle=True)
    assert named(stalled(source(idle, split("a-0", NOON)), reached=NOON))[2] == "a-0"
    assert stalled(source(idle)) is None
    assert named(stalled(source(idle), source(split("b-0"), uid="b"))) == ("b", 0, "b-0", "never")


def test_who_came_back_behind_the_others_holds_nobody_up() -> None:
    behind, ahead = source(split(None, NOON - HOUR)), source(split(None, NOON), uid="b")
    assert named(stalled(behind, ahead, reached=NOON))[0] == "b"
    assert stalled(behind, reached=NOON) is None


def test_inputs_that_have_all_ended_hold_nobody_up() -> None:
    assert stalled() is None


def test_nothing_is_said_before_the_delay_or_while_event_time_moves() -> None:
    empty = source(split("a-0"))
    assert stalled(empty, after=9.0) is None
    assert stalled(empty, after=10.2) is not None
    holder = EventTimeHolder("sales", delay=10.0)
    assert holder.look([empty], now=100.0, now_ms=NOON) is None  # nothing has run yet
    for second in range(100):
        holder.note(NOON + second, 5, now=float(second), now_ms=NOON)
        assert holder.look([source(split("a-0", NOON + second))], now=float(second), now_ms=NOON) is None


def test_inputs_that_move_are_not_to_blame() -> None:
    """An operator between, such as one that waits for calls, holds the watermark."""
    holder = EventTimeHolder("sales", delay=10.0)
    for second in range(100):
        holder.note(NOON, 5, now=float(second), now_ms=NOON)
        assert holder.look([source(split("a-0", NOON + second))], now=float(second), now_ms=NOON) is None


def test_where_nothing_comes_it_is_quiet() -> None:
    held = stalled(source(split("a-0", NOON)), reached=NOON, records=0)
    assert held is not None and held.is_quiet
    holder = EventTimeHolder("sales", delay=10.0)
    holder.note(NOON, 7, now=0.0, now_ms=NOON)  # what moved event time is not waiting for it
    holder.look([source(split("a-0", NOON))], now=0.5, now_ms=NOON)
    held = holder.look([source(split("a-0", NOON))], now=60.0, now_ms=NOON)
    assert held is not None and held.is_quiet


def test_a_long_first_look_says_no_more_than_was_seen() -> None:
    holder = EventTimeHolder("sales", delay=10.0)
    holder.note(MIN_WATERMARK, 5, now=0.0, now_ms=NOON)
    assert holder.look([source(split("a-0"))], now=30.0, now_ms=NOON) is not None


def test_operators_that_wait_for_the_same_input_are_told_together() -> None:
    one = stalled(source(split("a-0")))
    assert one is not None
    other = replace(one, operators=("totals",))
    (both,) = told_together([one, other])
    assert both.operators == ("sales", "totals")
    assert both.text.startswith("event time of 'sales' and 1 more has not begun after")


# ---- the log ----


def held(uid: str = "orders", *, is_quiet: bool = False, waiting_ms: int = 10_000) -> HeldBack:
    found = stalled(source(split("a-0"), uid=uid))
    assert found is not None
    return replace(found, is_quiet=is_quiet, waiting_ms=0 if is_quiet else waiting_ms)


def test_the_log_says_it_once_and_once_more_when_it_changes() -> None:
    log = StallLog("shop", delay=10.0)
    (line,) = log.lines([held()])
    assert line.startswith("job 'shop': event time of 'sales' has not begun after 20 s: split a-0 of source 'orders'")
    assert log.lines([held(waiting_ms=20_000)]) == []
    (line,) = log.lines([held("refunds", waiting_ms=30_000)])
    assert "source 'refunds'" in line
    assert log.lines([]) == ["job 'shop': event time of 'sales' moves again"]
    assert log.lines([]) == []


def test_where_it_is_quiet_the_log_does_not_nag() -> None:
    assert StallLog("shop", delay=10.0).lines([held(is_quiet=True)]) == []


def test_event_time_that_moves_in_steps_is_told_of_less_and_less() -> None:
    log, told = StallLog("shop", delay=10.0), 0
    for _ in range(100):
        told += len(log.lines([held(waiting_ms=10_000)]))
        log.lines([])
    assert told == 1
    assert len(log.lines([held(waiting_ms=20_000)])) == 1


def test_the_log_waits_from_the_first_record_that_waits() -> None:
    holder, log = EventTimeHolder("sales", delay=10.0), StallLog("shop", delay=10.0)
    inputs = [source(split("a-0", NOON))]
    holder.note(NOON, 5, now=0.0, now_ms=NOON)
    for now, records, told in ((0.1, 0, 0), (100.0, 3, 0), (105.0, 3, 0), (110.0, 0, 1), (120.0, 3, 0)):
        holder.note(NOON, records, now=now, now_ms=NOON)
        seen = holder.look(inputs, now=now, now_ms=NOON)
        assert len(log.lines([] if seen is None else [seen])) == told


def test_what_one_operator_waits_for_does_not_hide_that_another_goes_on() -> None:
    log = StallLog("shop", delay=10.0)
    one, other = held(), replace(held("refunds"), operators=("totals",))
    assert len(log.lines([one, other])) == 2
    assert log.lines([other]) == ["job 'shop': event time of 'sales' moves again"]


def test_quiet_after_a_line_is_no_progress() -> None:
    log = StallLog("shop", delay=10.0)
    assert len(log.lines([held()])) == 1
    assert log.lines([held(is_quiet=True)]) == []
    assert log.lines([held()]) == []


# ---- against plain Python ----

marks = st.one_of(st.just(MIN_WATERMARK), st.integers(NOON, NOON + 5))
splits = st.builds(lambda mark, is_idle: (mark, is_idle), marks, st.booleans())


@given(st.lists(st.lists(splits, min_size=1, max_size=3), min_size=1, max_size=4))
def test_the_one_named_is_active_and_no_other_is_further_behind(drawn: list[list[tuple[int, bool]]]) -> None:
    inputs = [
        source(
            *(split(f"p-{number}-{place}", mark, is_idle=is_idle) for place, (mark, is_idle) in enumerate(found)),
            subtask=number,
        )
        for number, found in enumerate(drawn)
    ]
    active = [
        (mark, number, place)
        for number, found in enumerate(drawn)
        for place, (mark, idle) in enumerate(found)
        if not idle
    ]
    told = stalled(*inputs)
    if not active:
        assert told is None
        return
    assert told is not None
    lowest = min(active)
    assert told.split == f"p-{lowest[1]}-{lowest[2]}"
    assert told.watermark == (None if lowest[0] == MIN_WATERMARK else lowest[0])
    assert told.others == sum(mark == lowest[0] for mark, _, _ in active) - 1


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(0, 3), st.integers(0, 5)), max_size=20))
def test_it_is_never_told_sooner_than_the_delay_after_event_time_moved(steps: list[tuple[float, int, int]]) -> None:
    holder, now, mark, moved = EventTimeHolder("sales", delay=10.0), 0.0, NOON, 0.0
    holder.note(mark, 1, now=now, now_ms=NOON)
    for wait, ahead, records in steps:
        now, mark = now + wait, mark + ahead
        moved = now if ahead else moved
        holder.note(mark, records, now=now, now_ms=NOON)
        told = holder.look([source(split("a-0", mark))], now=now, now_ms=NOON)
        assert told is None or now - moved >= 10.0
        assert told is None or told.stalled_ms == round((now - moved) * 1000)
