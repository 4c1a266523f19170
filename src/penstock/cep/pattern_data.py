"""Patterns as plain data, fit for JSON: `Pattern.from_dict`, `from_json` and `to_dict`; docs/cep.md has the form.

Data are read by the calls that a program would make, so what these refuse is refused, with the place in the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from penstock.cep.condition_data import condition_from_data, condition_to_data, only_keys, refuse
from penstock.cep.pattern import MalformedPatternError, Pattern, WithinType, check_pattern
from penstock.runtime.operators.cep.elements import (
    ANY,
    NOT_FOLLOW,
    NOT_NEXT,
    RELAXED,
    STRICT,
    Element,
)
from penstock.runtime.operators.cep.skipping import AfterMatchSkipStrategy

MAX_STATES = 10_000
"""A pattern from outside may not be larger: its automaton has to be made in a running job."""

_FOLLOWS = {
    STRICT: "next",
    RELAXED: "followed_by",
    ANY: "followed_by_any",
    NOT_NEXT: "not_next",
    NOT_FOLLOW: "not_followed_by",
}
_STRATEGIES = ("no_skip", "skip_to_next", "skip_past_last_event")
_STRATEGIES_WITH_ELEMENT = ("skip_to_first", "skip_to_last")
_MARKS = ("consecutive", "allow_combinations", "greedy", "optional")
_ELEMENT_KEYS = {
    *("name", "group", "follows", "where", "until", "times", "gap_ms", "within_previous_ms"),
    *_MARKS,
}


# ---- to data ----


def pattern_to_data(pattern: Pattern, functions: list[Any] | None = None) -> dict[str, Any]:
    """A pattern as data; equal patterns give equal data. For `functions` see `condition_to_data`."""
    elements = pattern.elements()
    data: dict[str, Any] = {"elements": _elements_data(elements, "elements", functions)}
    windows = [each.within_first for each in elements if each.within_first is not None]
    if windows:
        data["within_ms"] = min(windows)
    skip = pattern.get_after_match_skip_strategy()
    if skip.pattern_name is not None:
        data["after_match"] = {"strategy": skip.kind, "element": skip.pattern_name}
        if skip.is_miss_an_error:
            data["after_match"]["throw_exception_on_miss"] = True
    elif skip.is_skip_strategy():
        data["after_match"] = skip.kind
    return data


def _elements_data(elements: tuple[Element, ...], place: str, functions: list[Any] | None) -> list[dict[str, Any]]:
    return [
        dict(_element_items(element, f"{place}[{number}]", functions, is_first=not number))
        for number, element in enumerate(elements)
    ]


def _element_items(
    element: Element, place: str, functions: list[Any] | None, *, is_first: bool
) -> Iterator[tuple[str, Any]]:
    if element.group:
        yield "group", _elements_data(element.group, f"{place}.group", functions)
    else:
        yield "name", element.name
    if not is_first:
        yield "follows", _FOLLOWS[element.contiguity]
    if element.condition is not None:
        yield "where", condition_to_data(element.condition, f"{place}.where", functions)
    if element.is_quantified:
        yield "times", _times_data(element)
        yield from ([("gap_ms", element.gap)] if element.gap is not None else [])
    if element.until is not None:
        yield "until", condition_to_data(element.until, f"{place}.until", functions)
    marks = (element.inner == STRICT, element.inner == ANY, element.is_greedy, element.is_optional)
    yield from [(mark, True) for mark, is_set in zip(_MARKS, marks, strict=True) if is_set]
    if element.within_previous is not None:
        yield "within_previous_ms", element.within_previous


def _times_data(element: Element) -> Any:
    if element.most is None:
        return {"least": element.least}
    return element.least if element.least == element.most else {"least": element.least, "most": element.most}


# ---- from data ----


def pattern_from_json(text: str | bytes) -> Pattern:
    """The pattern that a text of JSON stands for."""
    return pattern_from_data(json_data(text, "Pattern.from_json"))


def json_data(text: Any, what: str) -> Any:
    """The data of a text of JSON, or a complaint."""
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedPatternError(f"{what}: no JSON: {error}.") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def pattern_from_data(data: Any, functions: tuple[Any, ...] = ()) -> Pattern:
    """The pattern that data stand for; `functions` are Python functions that conditions name by number."""
    if not isinstance(data, dict):
        raise refuse("pattern", f"expected a dict with the key elements, got {data!r}")
    only_keys(data, {"elements", "within_ms", "after_match"}, "pattern")
    try:
        pattern = _sequence(data.get("elements"), "elements", functions, _strategy(data.get("after_match")))
    except RecursionError:
        raise refuse("elements", "the pattern is nested too deeply") from None
    if "within_ms" in data:
        _placed("within_ms", pattern.within, _whole(data["within_ms"], "within_ms"))
    elements = check_pattern(pattern)
    if sum(map(_size, elements)) > MAX_STATES:
        raise refuse("elements", f"the pattern has more than {MAX_STATES} repetitions in all; use a loop")
    return pattern


def _size(element: Element) -> int:
    """About how many states it becomes."""
    return (element.most or element.least + 1) * (sum(map(_size, element.group)) if element.group else 1)


def _strategy(data: Any) -> AfterMatchSkipStrategy:
    if data is None:
        return AfterMatchSkipStrategy.no_skip()
    if isinstance(data, str) and data in _STRATEGIES:
        return AfterMatchSkipStrategy(data)
    if not isinstance(data, dict) or data.get("strategy") not in _STRATEGIES_WITH_ELEMENT:
        raise refuse(
            "after_match",
            f"expected one of {', '.join(_STRATEGIES)}, or a dict with a strategy of "
            f"{', '.join(_STRATEGIES_WITH_ELEMENT)} and an element, got {data!r}",
        )
    only_keys(data, {"strategy", "element", "throw_exception_on_miss"}, "after_match")
    if not isinstance(data.get("element"), str):
        raise refuse("after_match.element", f"expected the name of an element, got {data.get('element')!r}")
    is_error = _flag(data, "throw_exception_on_miss", "after_match")
    return AfterMatchSkipStrategy(data["strategy"], data["element"], is_error)


def _sequence(data: Any, place: str, functions: tuple[Any, ...], skip: AfterMatchSkipStrategy | None) -> Pattern:
    if not isinstance(data, list) or not data:
        raise refuse(place, f"expected a list of elements, got {data!r}")
    pattern: Pattern | None = None
    for number, each in enumerate(data):
        here = f"{place}[{number}]"
        if not isinstance(each, dict):
            raise refuse(here, f"expected an element such as {{'name': 'a'}}, got {each!r}")
        only_keys(each, _ELEMENT_KEYS, here)
        pattern = _begun(pattern, each, here, functions, skip)
        _set_conditions(pattern, each, here, functions)
    assert pattern is not None
    return pattern


def _begun(
    before: Pattern | None,
    data: dict[str, Any],
    place: str,
    functions: tuple[Any, ...],
    skip: AfterMatchSkipStrategy | None,
) -> Pattern:
    """The pattern with one element more; it has its name or group."""
    if ("name" in data) == ("group" in data):
        raise refuse(place, "an element needs either a name or a group")
    start = _sequence(data["group"], f"{place}.group", functions, None) if "group" in data else data["name"]
    follows = data.get("follows")
    if before is None:
        if follows is not None:
            raise refuse(f"{place}.follows", "the first element cannot have 'follows'")
        return _placed(place, Pattern.begin, start, skip)
    if not isinstance(follows, str) or follows not in _FOLLOWS.values():
        raise refuse(f"{place}.follows", f"expected one of {', '.join(_FOLLOWS.values())}, got {follows!r}")
    return _placed(place, getattr(before, follows), start)


def _set_conditions(pattern: Pattern, data: dict[str, Any], place: str, functions: tuple[Any, ...]) -> None:
    if "where" in data:
        _placed(place, pattern.where, condition_from_data(data["where"], f"{place}.where", functions))
    if "times" in data:
        _set_times(pattern, data, place)
    elif "gap_ms" in data:
        raise refuse(f"{place}.gap_ms", "gap_ms needs times")
    if "until" in data:
        _placed(place, pattern.until, condition_from_data(data["until"], f"{place}.until", functions))
    for mark in _MARKS:
        if _flag(data, mark, place):
            _placed(place, getattr(pattern, mark))
    if "within_previous_ms" in data:
        length = _whole(data["within_previous_ms"], f"{place}.within_previous_ms")
        _placed(place, pattern.within, length, WithinType.PREVIOUS_AND_CURRENT)


def _set_times(pattern: Pattern, data: dict[str, Any], place: str) -> None:
    gap = _whole(data["gap_ms"], f"{place}.gap_ms") if "gap_ms" in data else None
    times, here = data["times"], f"{place}.times"
    if not isinstance(times, dict):
        _placed(place, pattern.times, _whole(times, here), None, gap)
        return
    only_keys(times, {"least", "most"}, here)
    least = _whole(times.get("least"), f"{here}.least")
    if times.get("most") is None:
        _placed(place, pattern.times_or_more, least, gap)
    else:
        _placed(place, pattern.times, least, _whole(times["most"], f"{here}.most"), gap)


def _placed(place: str, call: Any, *given: Any) -> Pattern:
    """Make a call of the API; what it refuses is at a place."""
    try:
        made: Pattern = call(*given)
    except MalformedPatternError as error:
        raise MalformedPatternError(f"{place}: {error}") from None
    return made


def _whole(value: Any, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise refuse(place, f"expected a whole number, got {value!r}")
    return value


def _flag(data: dict[str, Any], key: str, place: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise refuse(f"{place}.{key}", f"expected true or false, got {value!r}")
    return value
