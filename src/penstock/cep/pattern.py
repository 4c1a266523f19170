"""Patterns to find in a stream, built element by element.

    Pattern.begin("small").where(col("amount") < 1).next("large").where(col("amount") > 500).within(600_000)

A meaningless pattern is refused by the call that makes it so.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from typing import Any

from penstock.cep.conditions import Condition, SubtypeCondition, checked_condition
from penstock.cep.described import described_elements
from penstock.common.constants import MAX_WATERMARK
from penstock.common.time import Duration, Time, to_millis
from penstock.errors import GraphError
from penstock.runtime.operators.cep.conditions import BooleanConditions
from penstock.runtime.operators.cep.elements import (
    ANY,
    NOT_FOLLOW,
    NOT_NEXT,
    RELAXED,
    STRICT,
    Element,
)
from penstock.runtime.operators.cep.skipping import AfterMatchSkipStrategy

__all__ = ["GroupPattern", "MalformedPatternError", "Pattern", "WithinType"]

Length = int | Time | Duration | timedelta


class MalformedPatternError(GraphError):
    """A pattern is invalid; the message says why."""


class WithinType(Enum):
    """What `within` measures."""

    FIRST_AND_LAST = "FIRST_AND_LAST"
    """The time from the first event of a match to its last."""
    PREVIOUS_AND_CURRENT = "PREVIOUS_AND_CURRENT"
    """The time from the event before to the one of this element."""


class Pattern:
    """A pattern; its methods configure the last element."""

    def __init__(
        self, element: Element, previous: Pattern | None, skip: AfterMatchSkipStrategy, group: Pattern | None = None
    ) -> None:
        """Made by `begin` and by the methods that add an element."""
        self._element = element
        self._previous = previous
        self._skip = skip
        self._group = group

    # ---- elements ----

    @staticmethod
    def begin(start: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern:
        """Start a pattern with a named element, or with a group."""
        skip = AfterMatchSkipStrategy.no_skip() if after_match_skip_strategy is None else after_match_skip_strategy
        if not isinstance(skip, AfterMatchSkipStrategy):
            raise MalformedPatternError(f"begin: expected an AfterMatchSkipStrategy, got {skip!r}.")
        return _with_element("begin", start, STRICT, None, skip)

    def next(self, following: str | Pattern) -> Pattern:
        """Add an element that must follow immediately."""
        return _with_element("next", following, STRICT, self, self._skip)

    def followed_by(self, following: str | Pattern) -> Pattern:
        """Add an element that must follow some time later; only the first matching event is taken."""
        return _with_element("followed_by", following, RELAXED, self, self._skip)

    def followed_by_any(self, following: str | Pattern) -> Pattern:
        """Add an element that must follow some time later; each matching event gives a match."""
        return _with_element("followed_by_any", following, ANY, self, self._skip)

    def not_next(self, name: str) -> Pattern:
        """Add an element that must not follow immediately."""
        return self._then_not("not_next", name, NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """Add an element that must not occur before the next one or, at the end of a pattern, within its time."""
        return self._then_not("not_followed_by", name, NOT_FOLLOW)

    def _then_not(self, method: str, name: str, contiguity: str) -> Pattern:
        if self._element.is_optional:
            raise MalformedPatternError(
                f"{method}: what must not come cannot stand behind {self.get_name()!r}, which may be left out. Use two "
                "patterns: one with it, one without it."
            )
        if isinstance(name, Pattern):
            raise MalformedPatternError(f"{method}: a group cannot be negated; pass a name.")
        return _with_element(method, name, contiguity, self, self._skip)

    # ---- conditions ----

    def where(self, condition: Condition) -> Pattern:
        """Add a condition, combined with earlier ones by and."""
        return self._combine("where", "and", condition)

    def or_(self, condition: Condition) -> Pattern:
        """Add a condition, combined with earlier ones by or."""
        return self._combine("or_", "or", condition)

    def subtype(self, subtype_class: type) -> Pattern:
        """Match only objects of a class."""
        if not isinstance(subtype_class, type):
            raise MalformedPatternError(f"subtype: expected a class, got {subtype_class!r}.")
        return self._combine("subtype", "and", SubtypeCondition(subtype_class))

    def _combine(self, method: str, operator: str, condition: Any) -> Pattern:
        self._refuse_group(method)
        condition = self._checked(method, condition)
        known = self._element.condition
        return self._set(condition=condition if known is None else BooleanConditions(operator, (known, condition)))

    def _checked(self, method: str, condition: Any) -> Any:
        try:
            return checked_condition(method, condition)
        except TypeError as error:
            raise MalformedPatternError(f"{self.get_name()!r}: {error}") from None

    def until(self, until_condition: Condition) -> Pattern:
        """End a loop at a matching event, which is not part of the match."""
        if self._element.until is not None:
            raise MalformedPatternError(f"until: {self.get_name()!r} already has an until condition.")
        if not self._element.is_loop:
            raise MalformedPatternError(
                f"until: {self.get_name()!r} is not a loop; call one_or_more() or times_or_more(n) first."
            )
        return self._set(until=self._checked("until", until_condition))

    # ---- quantifiers ----

    def one_or_more(self, window_time: Length | None = None) -> Pattern:
        """Match one or more events; `window_time` limits the time between two of them."""
        return self._quantify("one_or_more", 1, None, window_time)

    def times_or_more(self, times: int, window_time: Length | None = None) -> Pattern:
        """Match this many events or more; `window_time` limits the time between two of them."""
        return self._quantify("times_or_more", _count("times_or_more", times, 1), None, window_time)

    def times(
        self, from_times: int, to_times: int | Length | None = None, window_time: Length | None = None
    ) -> Pattern:
        """Match this many events, or from `least` to `most`; `window_time` limits the time between two of them."""
        if to_times is not None and not isinstance(to_times, int):
            to_times, window_time = None, to_times
        if to_times is None:
            least = _count("times", from_times, 1)
            return self._quantify("times", least, least, window_time)
        least, most = _count("times", from_times, 0), _count("times", to_times, 1)
        if most < max(least, 1):
            raise MalformedPatternError(f"times: the second number must not be below the first, got {least}, {most}.")
        self._quantify("times", max(least, 1), most, window_time)
        return self._set(is_optional=True) if least == 0 else self

    def _quantify(self, method: str, least: int, most: int | None, gap: Length | None) -> Pattern:
        self._refuse_not(method)
        if self._element.is_quantified:
            raise MalformedPatternError(f"{method}: {self.get_name()!r} already has a quantifier.")
        # As in Flink, a quantifier starts anew: optional() is to be called after it.
        fresh = {"is_optional": False, "inner": RELAXED}
        return self._set(
            least=least, most=most, is_quantified=True, gap=None if gap is None else _length(method, gap), **fresh
        )

    def optional(self) -> Pattern:
        """Make the element optional."""
        self._refuse_not("optional")
        if self._previous is not None and self._previous._element.is_greedy:
            raise MalformedPatternError(
                f"optional: {self.get_name()!r} comes after {self._previous.get_name()!r}, which is greedy: an element "
                "after a greedy one cannot be optional."
            )
        if self._element.is_optional:
            raise MalformedPatternError(f"optional: {self.get_name()!r} is already optional.")
        return self._set(is_optional=True)

    def greedy(self) -> Pattern:
        """Make a loop greedy: it takes every matching event."""
        self._refuse_group("greedy")
        self._refuse_not("greedy")
        if self._element.inner == ANY:
            raise MalformedPatternError(f"greedy: {self.get_name()!r} allows combinations, so it cannot be greedy.")
        self._refuse_single("greedy")
        return self._set(is_greedy=True)

    def consecutive(self) -> Pattern:
        """Require the events of a loop to follow each other immediately."""
        return self._set_inner("consecutive", STRICT)

    def allow_combinations(self) -> Pattern:
        """Allow a loop to also skip matching events."""
        return self._set_inner("allow_combinations", ANY)

    def _set_inner(self, method: str, inner: str) -> Pattern:
        self._refuse_single(method)
        if self._element.inner == inner:
            raise MalformedPatternError(f"{method}: it was called for {self.get_name()!r} before.")
        if self._element.inner != RELAXED:
            raise MalformedPatternError(
                f"{method}: {self.get_name()!r} can be consecutive or allow combinations, not both."
            )
        return self._set(inner=inner)

    # ---- time ----

    def within(self, window_time: Length, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Pattern:
        """Limit the time of a whole match (the smallest limit counts), or since the previous event."""
        if not isinstance(within_type, WithinType):
            raise MalformedPatternError(f"within: expected a WithinType, got {within_type!r}.")
        length = _length("within", window_time)
        if within_type is WithinType.FIRST_AND_LAST:
            return self._set(within_first=length)
        return self._set(within_previous=length)

    # ---- what it is ----

    def get_name(self) -> str:
        """Name of the last element; a group is called after its elements."""
        return self._element.name

    def get_previous(self) -> Pattern | None:
        """Return the pattern without its last element."""
        return self._previous

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """Return the skip strategy."""
        return self._skip

    def get_condition(self) -> Condition | None:
        """Return what `where`, `or_` and `subtype` have made for the last element; None: it takes every event."""
        condition: Condition | None = self._element.condition
        return condition

    def get_until_condition(self) -> Condition | None:
        """Return what ends the loop of the last element."""
        condition: Condition | None = self._element.until
        return condition

    def get_window_size(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Duration | None:
        """Return what `within` has set for the last element."""
        element = self._element
        is_whole = within_type is WithinType.FIRST_AND_LAST
        length = element.within_first if is_whole else element.within_previous
        return None if length is None else Duration.of_millis(length)

    def __repr__(self) -> str:
        return f"Pattern({', '.join(described_elements(self.elements()))})"

    def elements(self) -> tuple[Element, ...]:
        """Return the elements, as data."""
        return tuple(reversed([pattern._element for pattern in self._backwards()]))

    # ---- as data ----

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Pattern:
        """Build a pattern from plain data, as described in docs/cep.md. Nothing is evaluated or unpickled."""
        from penstock.cep.pattern_data import pattern_from_data

        return pattern_from_data(data)

    @staticmethod
    def from_json(text: str | bytes) -> Pattern:
        """Build a pattern from JSON text, see `from_dict`."""
        from penstock.cep.pattern_data import pattern_from_json

        return pattern_from_json(text)

    def to_dict(self) -> dict[str, Any]:
        """Return the pattern as plain data for JSON; raises if it has Python functions."""
        from penstock.cep.pattern_data import pattern_to_data

        return pattern_to_data(self)

    def _backwards(self) -> Iterator[Pattern]:
        pattern: Pattern | None = self
        while pattern is not None:
            yield pattern
            pattern = pattern._previous

    def _set(self, **settings: Any) -> Pattern:
        self._element = replace(self._element, **settings)
        return self

    def _refuse_not(self, method: str) -> None:
        if self._element.is_negative:
            raise MalformedPatternError(f"{method}: {self.get_name()!r} is negated, so it cannot have a quantifier.")

    def _refuse_group(self, method: str) -> None:
        if self._element.group:
            raise MalformedPatternError(f"{method}: not possible for a group; call it on the elements of the group.")

    def _refuse_single(self, method: str) -> None:
        if not self._element.is_quantified:
            raise MalformedPatternError(
                f"{method}: {self.get_name()!r} is taken once; call one_or_more(), times(...) or times_or_more(n)."
            )


class GroupPattern(Pattern):
    """A pattern whose last element is a group; quantifiers belong to the group as a whole."""


def _with_element(
    method: str, given: str | Pattern, contiguity: str, previous: Pattern | None, skip: AfterMatchSkipStrategy
) -> Pattern:
    if isinstance(given, Pattern):
        inner = given.elements()
        name = f"({' '.join(each.name for each in inner)})"
        return GroupPattern(Element(name, contiguity, group=inner), previous, skip, copy.copy(given))
    if not isinstance(given, str) or not given:
        raise MalformedPatternError(f"{method}: expected a name or a pattern as a group, got {given!r}.")
    return Pattern(Element(given, contiguity), previous, skip)


def _count(method: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise MalformedPatternError(f"{method}: expected a number of {least} or more, got {value!r}.")
    return value


def _length(method: str, length: Any) -> int:
    try:
        millis = to_millis(length)
    except TypeError:
        raise MalformedPatternError(
            f"{method}: expected milliseconds, a Duration, a Time or a timedelta, got {length!r}."
        ) from None
    if millis <= 0:
        raise MalformedPatternError(f"{method}: the time must be above 0 ms, got {millis} ms.")
    if millis > MAX_WATERMARK:
        raise MalformedPatternError(
            f"{method}: the time must fit into 64 bits, got {millis} ms; leave it out for no limit."
        )
    return millis


# ---- checks of a whole pattern ----


def check_pattern(pattern: Pattern) -> tuple[Element, ...]:
    """Refuse a pattern that has no meaning as a whole; its elements."""
    elements = pattern.elements()
    _check_names(elements, pattern.get_after_match_skip_strategy())
    _check_end(elements)
    return elements


def _leaves(elements: tuple[Element, ...]) -> Iterator[Element]:
    for element in elements:
        if element.group:
            yield from _leaves(element.group)
        else:
            yield element


def _check_names(elements: tuple[Element, ...], skip: AfterMatchSkipStrategy) -> None:
    names = [element.name for element in _leaves(elements)]
    for name in names:
        if names.count(name) > 1:
            raise MalformedPatternError(f"The pattern has two elements with the name {name!r}; names must be unique.")
    # As in Flink, elements of groups cannot be skipped to.
    targets = [element.name for element in elements if not element.group]
    if skip.pattern_name is not None and skip.pattern_name not in targets:
        raise MalformedPatternError(
            f"{skip}: the pattern has no element {skip.pattern_name!r} outside groups; it has {', '.join(targets)}."
        )


def windows_of(elements: tuple[Element, ...], *, is_group: bool = False) -> Iterator[int]:
    """The times of whole matches. As in Flink, that of the last element of a group has no effect."""
    for place, element in enumerate(elements, start=1):
        if element.within_first is not None and not (is_group and place == len(elements)):
            yield element.within_first
        yield from windows_of(element.group, is_group=True)


def _check_end(elements: tuple[Element, ...]) -> None:
    last = elements[-1]
    has_window = any(windows_of(elements)) or last.within_previous is not None
    if last.contiguity == NOT_FOLLOW and not has_window:
        raise MalformedPatternError(
            f"not_followed_by({last.name!r}) is the last element, so the pattern needs a time limit: call within(...)."
        )
