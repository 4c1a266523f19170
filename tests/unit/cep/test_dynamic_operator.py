"""The operator of patterns that come and go, by itself: updates, ids, what is dropped and when, snapshots."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cep import (
    Pattern,
    PatternProcessFunction,
    PatternUpdate,
    RichSimpleCondition,
    TimedOutPartialMatchHandler,
)
from penstock.cep.updates import Updates
from penstock.common import Types
from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import OutputTag
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_group, subtask_of
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.cep import dynamic
from penstock.runtime.operators.cep.dynamic import DynamicPatternOperator, DynamicSpec
from penstock.testing import HarnessSnapshot, KeyedTwoInputHarness
from tests.unit.cep import brute_force, drawn
from tests.unit.cep.core import Core
from tests.unit.cep.test_pattern_data import as_expressions

TIMEOUTS, LATE, BAD = OutputTag("timeouts"), OutputTag("late"), OutputTag("bad")


class Show(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler):
    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
        yield ctx.pattern_id(), text(match)

    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: Any) -> None:
        ctx.output(TIMEOUTS, (ctx.pattern_id(), text(match), ctx.timestamp()))


def text(match: dict[str, list[Any]]) -> str:
    return "".join(f"{event[0]}{event[1]}" for events in match.values() for event in events)


def harness(input_type: Any = None, **given: Any) -> KeyedTwoInputHarness:
    places = {name: given.pop(name) for name in ("parallelism", "subtask") if name in given}
    operator = DynamicPatternOperator(Show(), DynamicSpec(Updates(input_type), **given))
    # The key is the third part of an event, if it has one.
    return KeyedTwoInputHarness(
        operator, key1=lambda e: e[2] if len(e) > 2 else 0, side_outputs=[TIMEOUTS, LATE, BAD], **places
    )


def put(name: str, letters: str, **settings: Any) -> dict[str, Any]:
    """An update: events of these letters, one some time after the other."""
    elements: list[dict[str, Any]] = []
    for letter in letters:
        follows = {"follows": "followed_by"} if elements else {}
        elements.append({"name": letter, **follows, "where": {"field": 0, "op": "==", "value": letter}})
    return {"put": name, "pattern": {"elements": elements, **settings}}


def feed(running: KeyedTwoInputHarness, *events: Any) -> None:
    for event in events:
        running.process_element1(event, event[1])
        running.process_watermark1(event[1])


def figures(running: KeyedTwoInputHarness) -> dict[str, float]:
    return running._running().head.context.metrics.values()


def test_patterns_match_the_same_events_and_say_which_they_are() -> None:
    with harness() as running:
        running.process_element2(put("ab", "ab"))
        running.process_element2(json.dumps(put("b", "b")))
        feed(running, ("a", 1), ("b", 2))
        assert sorted(running.output_values()) == [("ab", "a1b2"), ("b", "b2")]
        assert figures(running)["activePatterns"] == 2


def test_an_update_counts_for_the_events_that_the_watermark_passes_after_it() -> None:
    with harness() as running:
        feed(running, ("a", 1))
        running.process_element1(("a", 5), 5)
        running.process_element2(put("p", "a"))
        running.process_watermark1(6)
        assert running.output_values() == [("p", "a5")]


def test_the_updates_hold_no_watermark_back() -> None:
    with harness() as running:
        running.process_element2(put("p", "a"))
        feed(running, ("a", 1))
        assert running.output_with_watermarks()[-1] == Watermark(1)


def test_an_equal_pattern_goes_on_with_its_partial_matches() -> None:
    with harness() as running:
        running.process_element2(put("p", "ab"))
        feed(running, ("a", 1))
        again = put("p", "ab")
        again["pattern"]["elements"][0]["optional"] = False
        running.process_element2(again)
        feed(running, ("b", 2))
        assert running.output_values() == [("p", "a1b2")]
        assert figures(running)["numPartialMatchesDropped"] == 0


@pytest.mark.parametrize("skip", ["no_skip", "skip_to_next"])
def test_a_changed_pattern_starts_anew_and_counts_what_it_drops(skip: str) -> None:
    with harness() as running:
        running.process_element2(put("p", "ab", after_match=skip))
        feed(running, ("a", 1), ("a", 2))
        running.process_element2(put("p", "abc", after_match=skip))
        feed(running, ("b", 3), ("c", 4), ("a", 5), ("b", 6), ("c", 7))
        assert running.output_values() == [("p", "a5b6c7")]
        found = figures(running)
        assert (found["numPartialMatchesDropped"], found["partialMatches"], found["activePatterns"]) == (2, 0, 1)


def test_a_removed_pattern_matches_no_more_and_one_put_again_does_not_see_what_was() -> None:
    with harness() as running:
        running.process_element2(put("p", "ab"))
        feed(running, ("a", 1, "k"), ("a", 2, "l"))
        running.process_element2({"remove": "p"})
        running.process_element2({"remove": "unknown"})
        feed(running, ("b", 3, "k"))
        running.process_element2(put("p", "ab"))
        feed(running, ("b", 4, "k"), ("b", 5, "l"))
        assert running.output_values() == []
        feed(running, ("a", 6, "l"), ("b", 7, "l"))
        assert running.output_values() == [("p", "a6b7")]


def test_what_a_removed_pattern_has_left_is_swept_from_keys_that_nothing_comes_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dynamic, "_KEYS_AT_ONCE", 5)
    running = harness()
    with running:
        running.process_element2(put("p", "ab"))
        running.process_element2(put("q", "ac"))
        feed(running, *[("a", 1 + number, f"k{number}") for number in range(20)])
        running.process_element2({"remove": "p"})
        assert figures(running)["numPartialMatchesDropped"] == 0
        snapshot = running.snapshot()
        first = figures(running)["numPartialMatchesDropped"]
        assert 5 <= first < 20
    # Another process goes on where this one has got to; some batches later it is through.
    again = restored(snapshot)
    with again:
        for _ in range(4):
            again.snapshot()
        assert figures(again)["numPartialMatchesDropped"] == 20 - first
        feed(again, *[("c", 50 + number, f"k{number}") for number in range(20)])
        assert len(again.output_values()) == 20
        again.snapshot()
        assert again.num_keyed_state_entries() == 0


def restored(snapshot: HarnessSnapshot, **given: Any) -> KeyedTwoInputHarness:
    made = harness(**given)
    made.restore(snapshot)
    return made


def test_timeouts_have_the_id_and_those_of_a_removed_pattern_do_not_come() -> None:
    with harness() as running:
        running.process_element2(put("p", "ab", within_ms=10))
        running.process_element2(put("q", "ac", within_ms=5))
        feed(running, ("a", 1))
        running.process_element2({"remove": "p"})
        running.process_watermark1(100)
        assert running.side_output_values(TIMEOUTS) == [("q", "a1", 6)]
        assert running.num_keyed_state_entries() == 0
        assert running.num_event_time_timers() == 0
        assert figures(running)["numPartialMatchesDropped"] == 1


def test_processing_time() -> None:
    with harness(is_processing_time=True) as running:
        running.process_element2(put("p", "ab", within_ms=10))
        running.process_element2(put("q", "b"))
        running.process_element1(("a", 1))
        running.process_element1(("b", 2))
        assert sorted(running.output_values()) == [("p", "a1b2"), ("q", "b2")]
        running.process_element1(("a", 3))
        running.set_processing_time(10)
        assert running.side_output_values(TIMEOUTS) == [("p", "a3", 10)]
        assert running.num_keyed_state_entries() == 0


def test_late_events_are_late_for_all_patterns() -> None:
    with harness(late_tag=LATE) as running:
        running.process_element2(put("p", "a"))
        running.process_watermark1(5)
        running.process_element1(("a", 5), 5)
        assert running.side_output_values(LATE) == [("a", 5)]


def test_updates_in_event_time_take_effect_at_their_time() -> None:
    with harness(are_updates_timed=True) as running:
        running.process_element2(put("p", "b"), 7)
        running.process_element2(put("p", "a"), 3)
        running.process_element2({"remove": "p"}, 9)
        running.process_elements1([((letter, time), time) for time in range(1, 11) for letter in "ab"])
        running.process_watermark1(10)
        assert running.output_values() == []
        with_snapshot = running.snapshot()
    with restored(with_snapshot, are_updates_timed=True) as again:
        again.process_watermark2(10)
        assert again.output_values() == [("p", f"{'a' if time < 7 else 'b'}{time}") for time in range(3, 9)]


# ---- wrong updates ----


def test_a_malformed_update_fails_the_job_and_names_the_id() -> None:
    with harness() as running, pytest.raises(OperatorFailure, match=r"'fraud': elements\[0\].*\n?in operator 'Show'"):
        running.process_element2({"put": "fraud", "pattern": {"elements": [{"nam": "a"}]}})


def test_malformed_updates_go_to_their_side_output_once_and_the_others_count() -> None:
    bad = ["{", {"put": "x"}, 5, b"\x80\x04."]
    for subtask in (0, 1):
        with harness(malformed_tag=BAD, parallelism=2, subtask=subtask) as running:
            running.process_elements2([(each, None) for each in [*bad, put("p", "a")]])
            told = running.side_output_values(BAD)
            assert [each["update"] for each in told] == (bad if subtask == 0 else [])
            assert figures(running)["activePatterns"] == 1
            assert figures(running)["numMalformedUpdates"] == len(told)


def test_fields_that_the_events_do_not_have_are_told_from_their_type() -> None:
    kind = Types.TUPLE([Types.STRING(), Types.LONG()])
    update = {"put": "p", "pattern": {"elements": [{"name": "a", "where": {"field": 7}}]}}
    with harness(kind, malformed_tag=BAD) as running:
        running.process_element2(update)
        assert "no field 7" in running.side_output_values(BAD)[0]["error"]


def test_a_condition_that_raises_fails_the_job_with_the_id_or_is_not_fulfilled() -> None:
    update = {"put": "bad", "pattern": {"elements": [{"name": "a", "where": {"field": 7, "op": ">", "value": 1}}]}}
    with harness() as running:
        running.process_element2(update)
        with pytest.raises(OperatorFailure, match="key 0 with pattern 'bad'"):
            feed(running, ("a", 1))
    with harness(malformed_tag=BAD) as running:
        running.process_element2(update)
        running.process_element2(put("good", "a"))
        feed(running, ("a", 1), ("a", 2))
        assert running.output_values() == [("good", "a1"), ("good", "a2")]
        assert [each["update"] for each in running.side_output_values(BAD)] == [{"put": "bad"}]
        assert figures(running)["numConditionFailures"] == 2


def test_bytes_of_a_record_are_never_unpickled() -> None:
    with harness() as running, pytest.raises(OperatorFailure, match="no JSON"):
        running.process_element2(pickle.dumps(PatternUpdate.put("p", Pattern.begin("a"))))


# ---- Python functions ----


class Opened(RichSimpleCondition[Any]):
    def open(self, runtime_context: Any) -> None:
        self.letter = "a"

    def filter(self, value: Any) -> bool:
        return bool(value[0] == self.letter)


def test_python_functions_are_kept_and_opened() -> None:
    pattern = Pattern.begin("a").where(Opened()).followed_by("b").where(lambda event: event[0] == "b")
    with harness() as running:
        running.process_element2(PatternUpdate.put("p", pattern))
        feed(running, ("a", 1))
        snapshot = running.snapshot()
    with restored(snapshot) as again:
        feed(again, ("b", 2))
        assert again.output_values() == [("p", "a1b2")]


# ---- against the matcher ----
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(drawn.parts(), drawn.windows, st.sampled_from(["no_skip", "skip_to_next"])), max_size=3),
    drawn.events(),
    st.data(),
)
def test_matches_are_those_of_each_pattern_whatever_snapshots_and_parallelism(
    given_patterns: list[tuple[list[brute_force.Part], int | None, str]], events: list[Any], data: st.DataObject
) -> None:
    patterns = {f"p{number}": as_expressions(*each) for number, each in enumerate(given_patterns)}
    offered = [(event[0][0], event[1], 0) for event in events]
    expected, timeouts = [], []
    for name, pattern in patterns.items():
        core = Core(pattern)
        for event in offered:
            core.advance(event[1])
            core.offer(event, event[1])
        core.advance(MAX_WATERMARK)
        expected += [(name, text(match)) for match, _ in core.matches]
        timeouts += [(name, text(match), time) for match, time in core.timeouts]
    updates: list[Any] = [PatternUpdate.put(name, pattern) for name, pattern in patterns.items()]
    found: list[Any] = []
    found_timeouts: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    for event in [None, *offered, None]:
        # Each event may be handled by another process, of another number of subtasks; all have the patterns.
        parallelism = data.draw(st.integers(1, 3))
        subtask = subtask_of(key_group(encode_key(0), 128), parallelism, 128)
        running = harness(parallelism=parallelism, subtask=subtask)
        if snapshot is not None:
            running.restore(HarnessSnapshot.rescaled([snapshot], parallelism)[subtask])
        with running:
            if event is not None:
                running.process_element1(event, event[1])
                if data.draw(st.booleans()):
                    running.process_watermark1(event[1] - 1)
            elif snapshot is None:
                running.process_elements2([(update, None) for update in updates])
            else:
                running.process_watermark1(MAX_WATERMARK)
            found += running.output_values()
            found_timeouts += running.side_output_values(TIMEOUTS)
            snapshot = running.snapshot()
    assert sorted(found) == sorted(expected)
    assert sorted(found_timeouts) == sorted(timeouts)
