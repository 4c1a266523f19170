"""Patterns and their updates as plain data: there and back, and what is refused with which place."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

import pytest
from hypothesis import given, settings

from penstock.cep import AfterMatchSkipStrategy, MalformedPatternError, Pattern, PatternUpdate, WithinType
from penstock.cep.described import described_elements
from penstock.datastream.expressions import col, lit
from tests.unit.cep import brute_force, drawn
from tests.unit.cep.core import Core, shown


def whole() -> Pattern:
    group = Pattern.begin("x").where(col("kind") == "x").next("y")
    begun = Pattern.begin("a", AfterMatchSkipStrategy.skip_to_last("a").throw_exception_on_miss())
    begun = begun.where((col("amount") > 1) & ~(col("country") == "DE")).or_(col(1).is_null())
    begun = begun.times(2, 4, 50).greedy().not_followed_by("n").where(abs(col("a") * col("b")) >= 3)
    begun = begun.followed_by_any(group).times_or_more(2).allow_combinations().until(col("end"))
    return begun.followed_by("z").within(20, WithinType.PREVIOUS_AND_CURRENT).optional().within(600)


def test_a_pattern_goes_to_json_and_back() -> None:
    text = json.dumps(whole().to_dict())
    again = Pattern.from_json(text)
    assert again.to_dict() == whole().to_dict()
    assert described_elements(again.elements()) == described_elements(whole().elements())
    assert again.get_after_match_skip_strategy() == whole().get_after_match_skip_strategy()


@pytest.mark.parametrize(
    "constant",
    [
        *(True, 7, 2**70, 1.5, "text", None, b"\x00\xff", decimal.Decimal("1.50"), datetime.date(2026, 1, 2)),
        *(datetime.time(3, 4), datetime.datetime(2026, 1, 2, 3), datetime.timedelta(days=1, microseconds=1)),
    ],
)
def test_constants_keep_value_and_type(constant: Any) -> None:
    pattern = Pattern.begin("a").where(col("f") == lit(constant))
    again = Pattern.from_json(json.dumps(pattern.to_dict()))
    (element,) = again.elements()
    found = element.condition.operands[1].value
    assert (type(found), found) == (type(constant), constant)


def test_conditions_in_short_forms() -> None:
    larger = {"op": ">", "args": [{"field": 0}, 5]}
    known = {"field": "c", "op": "in", "value": ["DE", "FR"]}
    data = {"elements": [{"name": "a", "where": {"and": [known, larger]}}]}
    core = Core(Pattern.from_dict(data))
    for time, event in enumerate([{"c": "DE", 0: 9}, {"c": "IT", 0: 9}, {"c": "FR", 0: 5}]):
        core.offer(event, time)
    assert [match["a"][0] for match, _ in core.matches] == [{"c": "DE", 0: 9}]


@settings(max_examples=50, deadline=None)
@given(drawn.parts(), drawn.events(), drawn.windows)
def test_a_pattern_that_was_data_matches_the_same(
    parts: list[brute_force.Part], events: list[Any], window: int | None
) -> None:
    pattern = as_expressions(parts, window)
    again = Pattern.from_json(json.dumps(pattern.to_dict()))
    pairs = [(event[0][0], event[1]) for event in events]
    expected, found = Core(pattern).play(pairs), Core(again).play(pairs)
    assert shown(found.matches) == shown(expected.matches)
    assert shown(found.timeouts) == shown(expected.timeouts)
    functions = brute_force.pattern_of(parts, window, Pattern.begin)
    assert len(found.matches) == len(Core(functions).play(events).matches)


def as_expressions(parts: list[brute_force.Part], window: int | None, skip: str = "no_skip") -> Pattern:
    """A drawn pattern whose conditions are expressions on the first field."""
    data: list[dict[str, Any]] = []
    for number, part in enumerate(parts):
        element: dict[str, Any] = {"name": part.name, "where": {"field": 0, "op": "==", "value": part.name}}
        element |= {"follows": part.follows} if number else {}
        if part.most != 1:
            element["times"] = {"least": part.least, "most": part.most}
            element |= {"next": {"consecutive": True}, "followed_by_any": {"allow_combinations": True}}.get(
                part.inner, {}
            )
        if part.until is not None:
            element["until"] = {"field": 0, "op": "==", "value": part.until}
        data.append({**element, "greedy": part.is_greedy, "optional": part.is_optional})
    return Pattern.from_dict({"elements": data, "after_match": skip} | ({"within_ms": window} if window else {}))


A = {"name": "a"}
WRONG: list[tuple[Any, str]] = [
    (None, r"pattern: expected a dict"),
    ({"elements": []}, r"elements: expected a list of elements"),
    ({"elements": [A], "whithin_ms": 5}, r"pattern: 'whithin_ms' is not allowed here; expected after_match, elements"),
    ({"elements": [A], "within_ms": 0}, r"within_ms: .*above 0"),
    ({"elements": [A], "within_ms": "5"}, r"within_ms: expected a whole number, got '5'"),
    ({"elements": ["a"]}, r"elements\[0\]: expected an element"),
    ({"elements": [{"name": "a", "group": [A]}]}, r"elements\[0\]: an element needs either a name or a group"),
    ({"elements": [{"name": ""}]}, r"elements\[0\]: begin: expected a name"),
    ({"elements": [{"name": "a", "follows": "next"}]}, r"elements\[0\].follows: the first element cannot have"),
    ({"elements": [A, {"name": "b"}]}, r"elements\[1\].follows: expected one of next, followed_by"),
    ({"elements": [A, {"name": "b", "follows": ["next"]}]}, r"elements\[1\].follows: expected one of"),
    ({"elements": [A, {"name": "a", "follows": "next"}]}, r"two elements with the name 'a'"),
    ({"elements": [{**A, "times": True}]}, r"elements\[0\].times: expected a whole number, got True"),
    ({"elements": [{**A, "times": {"least": 3, "most": 2}}]}, r"elements\[0\]: times: the second number"),
    ({"elements": [{**A, "gap_ms": 2}]}, r"elements\[0\].gap_ms: .*needs times"),
    ({"elements": [{**A, "greedy": True}]}, r"elements\[0\]: greedy: 'a' is taken once"),
    ({"elements": [{**A, "optional": "yes"}]}, r"elements\[0\].optional: expected true or false, got 'yes'"),
    ({"elements": [{**A, "times": 10**9}]}, r"elements: the pattern has more than 10000 repetitions"),
    ({"elements": [{"group": [{**A, "times": 200}], "times": 200}]}, r"more than 10000 repetitions"),
    ({"elements": [{"group": [A], "where": {"field": "x"}}]}, r"elements\[0\]: where: not possible for a group"),
    ({"elements": [{"group": [{**A, "times": 0}]}]}, r"elements\[0\].group\[0\]: times"),
    ({"elements": [A], "after_match": "skip"}, r"after_match: expected one of no_skip"),
    ({"elements": [A], "after_match": {"strategy": "skip_to_last", "element": "b"}}, r"no element 'b'"),
]
WRONG_CONDITIONS: list[tuple[Any, str]] = [
    ([], r"where: expected a condition such as"),
    (True, r"where: a condition must refer to the event"),
    ({"value": 5}, r"where: a condition must refer to the event"),
    ({}, r"where: expected one of the keys field, value, op"),
    ({"python": 0}, r"where: 'python' is not allowed here"),
    ({"field": "a", "op": ">"}, r"where.op: '>' takes 2 operands, got 1"),
    ({"field": "a", "op": "is_null", "value": 1}, r"where.op: 'is_null' takes 1 operands, got 2"),
    ({"field": "a", "op": "=>", "value": 1}, r"where.op: no operator '=>'; there are \+"),
    ({"field": "a", "op": ">", "valu": 1}, r"where: 'valu' is not allowed here"),
    ({"field": "a", "op": ["x"], "value": 1}, r"where.op: no operator \['x'\]"),
    ({"op": ">", "args": 3}, r"where.args: expected a list"),
    ({"field": None, "op": ">", "value": 1}, r"where.field: col: a field is a name or a position"),
    ({"field": "a", "op": "==", "value": {"b": 1}}, r"where.value: expected a number"),
    ({"field": "a", "op": "in", "value": []}, r"where.value: 'in' needs a list"),
    ({"field": "a", "op": "==", "value": "x", "type": "decimal"}, r"where.value: 'x' is no decimal"),
    ({"field": "a", "op": "==", "value": "x", "type": "int"}, r"where.type: no type 'int'"),
    ({"and": [{"field": "a"}, {"not": {"field": "b", "op": "?"}}]}, r"where.and\[1\].not.op: no operator '\?'"),
    ({"or": []}, r"where.or: expected a list of conditions"),
]


@pytest.mark.parametrize(("data", "message"), WRONG)
def test_what_is_no_pattern_is_refused_with_its_place(data: Any, message: str) -> None:
    with pytest.raises(MalformedPatternError, match=message):
        Pattern.from_dict(data)


@pytest.mark.parametrize(("data", "message"), WRONG_CONDITIONS)
def test_what_is_no_condition_is_refused_with_its_place(data: Any, message: str) -> None:
    with pytest.raises(MalformedPatternError, match=r"elements\[0\]\." + message):
        Pattern.from_dict({"elements": [{"name": "a", "where": data}]})


def test_a_deep_nest_is_refused() -> None:
    condition: Any = {"field": "a"}
    for _ in range(100_000):
        condition = {"not": condition}
    with pytest.raises(MalformedPatternError, match="nested too deeply"):
        Pattern.from_dict({"elements": [{"name": "a", "where": condition}]})
    with pytest.raises(MalformedPatternError, match="no JSON"):
        Pattern.from_json('{"elements": ' + "[" * 100_000)


def test_texts_that_are_no_json_are_refused() -> None:
    with pytest.raises(MalformedPatternError, match=r"no JSON: .*column 2"):
        Pattern.from_json("{elements}")
    with pytest.raises(MalformedPatternError, match="'elements' is there twice"):
        Pattern.from_json('{"elements": [], "elements": []}')


def test_a_python_function_is_no_data() -> None:
    with pytest.raises(MalformedPatternError, match=r"elements\[0\].where: the condition .* is a Python function"):
        Pattern.begin("a").where(lambda event: True).to_dict()


def test_updates_as_data() -> None:
    put = PatternUpdate.put("fraud", Pattern.begin("a").where(col("amount") > 5))
    assert PatternUpdate.from_json(json.dumps(put.to_dict())) == put
    assert PatternUpdate.from_dict({"remove": "fraud"}) == PatternUpdate.remove("fraud")
    assert PatternUpdate.remove("fraud").to_dict() == {"remove": "fraud"}


def test_a_pattern_may_change_after_it_was_put() -> None:
    pattern = Pattern.begin("a")
    put = PatternUpdate.put("p", pattern)
    pattern.times(3)
    assert put == PatternUpdate.put("p", Pattern.begin("a"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (5, "expected {'put': id"),
        ({"id": "x"}, "expected {'put': id"),
        ({"put": ""}, "the id of a pattern must be a non-empty string"),
        ({"remove": 5}, "the id of a pattern must be a non-empty string"),
        ({"put": "x", "patern": {}}, "update of pattern 'x': 'patern' is not allowed here"),
        ({"remove": "x", "pattern": {}}, "update of pattern 'x': 'pattern' is not allowed here"),
        ({"put": "x", "pattern": {"elements": [{}]}}, r"update of pattern 'x': elements\[0\]: an element needs"),
    ],
)
def test_wrong_updates_are_refused_with_their_id(data: Any, message: str) -> None:
    with pytest.raises(MalformedPatternError, match=message):
        PatternUpdate.from_dict(data)
