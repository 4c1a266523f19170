"""The notation of measured cases, such as `a followedBy b+ consecutive within(10)`, as patterns of the public API.

An element `x` takes events whose name starts with x; an event is a pair of name and time. Names of methods may also be
written as in Java or Python: `begin("a").followed_by("b").one_or_more()`. What is not known raises `NotationError`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.cep import AfterMatchSkipStrategy, Pattern, WithinType
from penstock.common.time import Duration
from penstock.runtime.operators.cep.elements import Element
from tests.conformance.cep.tokens import NotationError, Tokens, millis, plain, whole

__all__ = ["NotationError", "pattern_of", "skip_of"]

_PLAIN = {plain(name): name for name in ("optional", "greedy", "consecutive", "allow_combinations")}
_FOLLOWS = {plain(name): name for name in ("next", "followed_by", "followed_by_any", "not_next", "not_followed_by")}
_COUNTED = {plain(name): name for name in ("one_or_more", "times", "times_or_more")}
_CONDITIONS = {"where": "where", "or": "or_", "until": "until"}
_SKIPS = {
    plain(name): name for name in ("no_skip", "skip_to_next", "skip_past_last_event", "skip_to_first", "skip_to_last")
}


def pattern_of(text: str, skip: str | None = "noSkip") -> Pattern:
    """The pattern that a text stands for; a remark in brackets at its end is left out."""
    tokens = Tokens(text.replace("Pattern.begin", "begin"))
    pattern = _sequence(tokens, skip_of(skip))
    if tokens.next is not None:
        raise tokens.unexpected("expected a setting or how the next element follows")
    return pattern


def skip_of(text: str | None) -> AfterMatchSkipStrategy:
    """The skip strategy that a text stands for; none is `noSkip`."""
    tokens = Tokens(text or "noSkip")
    tokens.take_if("aftermatchskipstrategy")
    if tokens.word not in _SKIPS:
        raise tokens.unexpected("expected a skip strategy")
    name = _SKIPS[tokens.word]
    tokens.take()
    targets = [" ".join(argument) for argument in tokens.arguments()]
    if len(targets) != (name in ("skip_to_first", "skip_to_last")):
        raise NotationError(f"{text!r}: {name} with {len(targets)} names")
    strategy: AfterMatchSkipStrategy = getattr(AfterMatchSkipStrategy, name)(*targets)
    if tokens.take_if("throwexceptiononmiss"):
        tokens.arguments()
        strategy = strategy.throw_exception_on_miss()
    if tokens.next is not None:
        raise tokens.unexpected("expected the end of the skip strategy")
    return strategy


class _StartsWith:
    """Whether the name of an event starts with a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, event: Any) -> bool:
        return str(event[0]).startswith(self.text)


def _sequence(tokens: Tokens, skip: AfterMatchSkipStrategy | None) -> Pattern:
    tokens.take_if("begin")
    pattern = _element(tokens, lambda start: Pattern.begin(start, skip))
    while tokens.word in _FOLLOWS:
        follow = _FOLLOWS[plain(tokens.take())]
        pattern = _element(tokens, getattr(pattern, follow))
    return pattern


def _element(tokens: Tokens, add: Any) -> Pattern:
    started = _start(tokens)
    pattern: Pattern = add(started) if isinstance(started, Pattern) else add(started).where(_StartsWith(started))
    while tokens.next is not None and tokens.next != ")" and tokens.word not in _FOLLOWS:
        if tokens.next == "(":
            tokens.skip_remark()
        else:
            _set(tokens, pattern)
    return pattern


def _start(tokens: Tokens) -> str | Pattern:
    """The name of an element, or a group."""
    if tokens.word == "group":
        tokens.take()
        tokens.expect("(")
        return _closed(tokens, _sequence(tokens, None))
    if tokens.take_if("("):
        inner = _sequence(tokens, None)
        return _closed(tokens, inner.get_name() if _is_bare(inner) else inner)
    if tokens.next is None or not tokens.next[0].isalpha() or tokens.word in {**_FOLLOWS, **_COUNTED, **_PLAIN}:
        raise tokens.unexpected("expected the name of an element or a group")
    return tokens.take()


def _is_bare(pattern: Pattern) -> bool:
    """Whether it is one element with nothing but its name, as in `next(b)`."""
    (first, *more) = pattern.elements()
    return not more and replace(first, condition=None) == Element(first.name)


def _closed(tokens: Tokens, inner: Any) -> Any:
    tokens.expect(")")
    return inner


def _set(tokens: Tokens, pattern: Pattern) -> None:
    """Read a setting."""
    word = tokens.word
    if word in ("+", "*", "?", "{"):
        _set_by_sign(tokens, pattern)
    elif word in _PLAIN:
        tokens.take()
        tokens.arguments()
        getattr(pattern, _PLAIN[word])()
    elif word in _COUNTED:
        tokens.take()
        getattr(pattern, _COUNTED[word])(*_counts(tokens.arguments()))
    elif word in _CONDITIONS:
        tokens.take()
        getattr(pattern, _CONDITIONS[word])(_StartsWith(_name(tokens)))
    elif word == "within":
        tokens.take()
        _set_within(tokens, pattern)
    else:
        raise tokens.unexpected("expected a setting or how the next element follows")


def _set_by_sign(tokens: Tokens, pattern: Pattern) -> None:
    sign = tokens.take()
    if sign in "+*":
        pattern.one_or_more()
    if sign in "*?":
        pattern.optional()
    if sign == "{":
        least = whole([tokens.take()])
        if not tokens.take_if(","):
            pattern.times(least)
        elif tokens.next == "}":
            pattern.times_or_more(least)
        else:
            pattern.times(least, whole([tokens.take()]))
        tokens.expect("}")


def _counts(arguments: list[list[str]]) -> list[Any]:
    return [
        whole(argument) if (length := millis(argument)) is None else Duration.of_millis(length)
        for argument in arguments
    ]


def _name(tokens: Tokens) -> str:
    """A name, which may be in brackets."""
    if tokens.next != "(":
        return tokens.take()
    (argument,) = tokens.arguments() or [["()"]]
    return " ".join(argument)


def _set_within(tokens: Tokens, pattern: Pattern) -> None:
    length, *kinds = tokens.arguments() or [["()"]]
    found = millis(length)
    kind = kinds[0][-1] if kinds else WithinType.FIRST_AND_LAST.name
    if kind not in WithinType.__members__:
        raise NotationError(f"{tokens.text!r}: {kind!r} is no kind of within")
    pattern.within(whole(length) if found is None else found, WithinType[kind])
