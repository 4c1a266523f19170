"""The player of measured cases: it reads every part of a pattern, and says what it cannot read or did not find."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.cep.described import described_elements
from penstock.datastream import StreamExecutionEnvironment
from tests.conformance import cep
from tests.conformance.cep.notation import NotationError, pattern_of, skip_of
from tests.conformance.cep.playing import play

ROOT = Path(__file__).parents[3]
CHOSEN = Path(cep.__file__).with_name("measured") / "chosen.json"

SAME: list[tuple[str, str]] = [
    ("a next b", 'begin("a").next("b")'),
    ("a followedByAny b+ until x", 'Pattern.begin("a").followedByAny("b").oneOrMore().until("x")'),
    ("a+", "a oneOrMore"),
    ("a+ optional", "a*"),
    ("a optional next b", "a? next b"),
    ("a times(2) next b timesOrMore(3)", "a{2} next b{3,}"),
    ("a times(0,2) consecutive", "a times(0, 2) consecutive()"),
    ("a times(2,4) greedy", "a{2,4} greedy"),
    ("group(a followedBy b)+ next c", "(a followedBy b)+ next c"),
    ("a next group(b notNext c) optional next d", 'begin("a").next(begin("b").not_next("c")).optional().next("d")'),
    ("a within(10)", "a within(10ms)"),
    ("a within(10000) next b", 'begin("a").within(Duration.ofSeconds(10)).next("b")'),
    ("a next b within(5, PREVIOUS_AND_CURRENT)", "a next b within(5 ms, WithinType.PREVIOUS_AND_CURRENT)"),
    ("a times(2, 3, 10ms)", "a times(2,3,10 ms)"),
    ("a oneOrMore(10ms) allowCombinations", "a one_or_more(Duration.ofMillis(10)) allow_combinations"),
    ("a next b", "a next b (a remark, of (any) kind)"),
]
UNREADABLE = [
    "",
    "a followdBy b",
    "a next",
    "a b",
    "a next b!",
    "a times(two)",
    "a{2",
    "a within(10 fortnights)",
    "a within(5, FIRST_AND_NEXT)",
    "a within",
    "group(a next b",
    "a next b)",
    "a (a remark) next b",
    "a until",
]


def texts(pattern: str) -> tuple[str, ...]:
    return described_elements(pattern_of(pattern).elements())


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_pattern_may_be_written_in_several_ways(one: str, other: str) -> None:
    assert texts(one) == texts(other)


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_is_no_pattern_is_said_to_be_none(text: str) -> None:
    with pytest.raises(NotationError):
        pattern_of(text)


def test_a_group_of_one_stays_a_group_and_conditions_are_kept() -> None:
    assert texts("group(a) times(2)") == ("begin (begin 'a') 2 to 2 times ",)
    assert texts("(a optional)+ next b") == ("begin (begin 'a' optional) 1 or more times ", "next 'b'")
    (element,) = pattern_of("a or(b) where c").elements()
    assert element.condition.operator == "and"


def test_skip_strategies_are_read() -> None:
    for text in (
        "skipToFirst(b) throwExceptionOnMiss",
        'AfterMatchSkipStrategy.skipToFirst("b").throwExceptionOnMiss()',
    ):
        assert str(skip_of(text)) == "skip_to_first('b').throw_exception_on_miss()"
    assert str(skip_of(None)) == "no_skip()"
    for text in ("skipAll", "skipToFirst", "skipToNext(b)", "noSkip twice"):
        with pytest.raises(NotationError):
            skip_of(text)


def case(pattern: str = "a next b", **changes: Any) -> dict[str, Any]:
    events = [["a", 1], ["b", 2]]
    return {
        "pattern": pattern,
        "skip": "noSkip",
        "events": events,
        "matches": [[["b", "a"], 2]],
        "timeouts": [],
        **changes,
    }


def played(*cases: Any) -> list[Any]:
    return play(list(cases), StreamExecutionEnvironment.in_process)


def test_matches_by_element_and_events_with_keys_are_understood() -> None:
    by_element = case(matches=[[{"a": ["a"], "b": ["b"]}, 2]])
    keyed = case(events=[["a", 1, "k"], ["b", 2, "l"], ["b", 3, "k"]], matches=[[["a", "b"], 3]])
    named = case(events=[{"name": "a", "timestamp": 1}, {"name": "b", "timestamp": 2}])
    cases = [by_element, keyed, named]
    assert [found.agrees(each) for each, found in zip(cases, played(*cases), strict=True)] == [True] * 3


def test_a_case_that_fails_takes_no_other_with_it() -> None:
    # Nobody expects this one to fail when it runs, so it shares a job with the others.
    fails = case("a", skip="skipToFirst(a) throwExceptionOnMiss")
    found = played(case(), fails, case())
    assert [each.agrees(case()) for each in found] == [True, False, True]
    assert "starts with that event" in str(found[1])


def test_what_cannot_be_read_does_not_pass_as_an_error_that_was_expected() -> None:
    unreadable = {"pattern": "a follows b", "skip": "noSkip", "events": [], "raises": "MalformedPatternException"}
    for each in (unreadable, case(events=[["a"]]), {"pattern": "a"}, 7, {"pattern": "a", "events": []}):
        (found,) = played(each)
        assert "cannot be read" in str(found)
        assert not found.agrees(each)


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.conformance.cep", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_program_prints_a_line_for_each_case_and_a_sum(tmp_path: Path) -> None:
    path = tmp_path / "vectors.json"
    cases = [case(), case(matches=[], comparator="byName"), case("a nxt b"), case("a next a", raises="Malformed")]
    path.write_text(json.dumps({"cases": cases}))
    found = run(path)
    assert found.returncode == 1
    assert found.stdout.splitlines() == [
        "pass 0: a next b [noSkip]",
        "FAIL 1: a next b [noSkip]",
        '  events   [["a", 1], ["b", 2]]',
        "  expected matches [], timeouts []",
        '  found    matches [[["a", "b"], 2]], timeouts []',
        "  not understood, so left out: comparator",
        "FAIL 2: a nxt b [noSkip]",
        "  found    cannot be read: 'a nxt b': expected a setting or how the next element follows, found 'nxt'",
        "pass 3: a next a [noSkip]",
        "cep-vectors: 2 passed, 2 failed of 4",
    ]


def test_a_file_without_cases_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.json"
    path.write_text('{"case": 1}')
    found = run(path)
    assert found.returncode == 2
    assert "expected a list of cases" in found.stderr


def test_all_chosen_cases_pass_through_the_public_api() -> None:
    cases = json.loads(CHOSEN.read_text())["cases"]
    assert [number for number, found in enumerate(played(*cases)) if not found.agrees(cases[number])] == []
