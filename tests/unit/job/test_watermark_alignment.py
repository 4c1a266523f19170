"""The rule of watermark alignment: who is too far ahead of the slowest of the group, and who never is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.common.constants import MIN_WATERMARK
from penstock.common.watermark_strategy import WatermarkAlignment
from penstock.job.watermark_alignment import AlignmentRule, SplitTimes, paused_splits

RULE = AlignmentRule(
    {
        "orders": WatermarkAlignment("shop", 100),
        "clicks": WatermarkAlignment("shop", 20),
        "logs": WatermarkAlignment("ops", 0),
    }
)


def paused(times: SplitTimes, rule: AlignmentRule = RULE) -> dict[str, list[str]]:
    return paused_splits(rule.highest(times), times)


def test_splits_ahead_of_the_slowest_by_more_than_their_drift_are_paused() -> None:
    times = {"orders": {"0": (1000, False), "1": (1100, False), "2": (1101, False)}, "clicks": {"a": (1021, False)}}
    assert paused(times) == {"orders": ["2"], "clicks": ["a"]}
    assert RULE.highest(times) == {"orders": 1100, "clicks": 1020}
    assert RULE.drifts(times) == {"orders": 101, "clicks": 21, "logs": 0}


def test_groups_are_apart() -> None:
    assert paused({"orders": {"0": (0, False)}, "logs": {"0": (5000, False), "1": (5001, False)}}) == {"logs": ["1"]}


def test_idle_splits_and_those_without_a_watermark_hold_nobody_back_and_are_not_paused() -> None:
    times = {
        "orders": {"0": (1, True), "1": (MIN_WATERMARK, False), "2": (9000, False)},
        "clicks": {"a": (9_999, True)},
    }
    assert paused(times) == {}
    assert RULE.highest(times) == {"orders": 9100, "clicks": 9020}
    assert RULE.drifts(times)["orders"] == 0


def test_a_group_of_which_nothing_is_known_has_no_bound() -> None:
    assert RULE.highest({}) == {}
    assert paused({"orders": {"0": (MIN_WATERMARK, False), "1": (7, True)}}) == {}


MARKS = st.tuples(st.just(MIN_WATERMARK) | st.integers(-(10**6), 10**6), st.booleans())


@given(
    st.dictionaries(st.sampled_from("ABC"), st.dictionaries(st.sampled_from("0123"), MARKS)),
    st.lists(st.integers(0, 10**6), min_size=3, max_size=3),
)
def test_the_slowest_is_never_paused_and_who_is_read_is_within_the_drift(
    times: dict[str, dict[str, tuple[int, bool]]], drifts: list[int]
) -> None:
    settings = {uid: WatermarkAlignment("g", drift) for uid, drift in zip("ABC", drifts, strict=True)}
    found = paused(times, AlignmentRule(settings))
    active = {
        (uid, name): mark
        for uid, each in times.items()
        for name, (mark, is_idle) in each.items()
        if not is_idle and mark > MIN_WATERMARK
    }
    lowest = min(active.values(), default=0)
    for uid, each in times.items():
        for name in each:
            drift = settings[uid].max_allowed_watermark_drift_ms
            is_ahead = active.get((uid, name), lowest) > lowest + drift
            assert (name in found.get(uid, [])) == is_ahead
    assert not active or any(name not in found.get(uid, []) for uid, name in active)
