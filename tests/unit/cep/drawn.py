"""Patterns and events for hypothesis, of the kinds that the brute-force matcher covers."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.unit.cep.brute_force import Event, Part

_FOLLOWS = st.sampled_from(["next", "followed_by", "followed_by_any"])


@st.composite
def parts(draw: st.DrawFn) -> list[Part]:
    """Up to four elements; what must not come stands alone between two that are taken once."""
    names = draw(st.permutations(["a", "b", "c", "d"]))
    made: list[Part] = []
    for position, name in enumerate(names[: draw(st.integers(1, 4))]):
        if 0 < position < 3 and _is_plain(made[-1]) and draw(st.integers(0, 5)) == 0:
            made.append(Part(name, draw(st.sampled_from(["not_next", "not_followed_by"]))))
        else:
            made.append(_element(draw, name, made))
    if made[-1].is_negative:
        made.pop()
    return made


def _is_plain(part: Part) -> bool:
    return not part.is_negative and part.most == 1 and not part.is_optional


def _element(draw: st.DrawFn, name: str, before: list[Part]) -> Part:
    follows = draw(_FOLLOWS) if before else "next"
    kind = draw(st.sampled_from(["once", "once", "range", "loop"]))
    after_greedy = bool(before) and before[-1].is_greedy
    is_optional = not after_greedy and draw(st.integers(0, 3)) == 0
    # What must not come before an element that may be left out goes on to the next one.
    is_optional = is_optional and not (before and before[-1].is_negative)
    if kind == "once":
        return Part(name, follows, is_optional=is_optional)
    least = draw(st.integers(1, 2))
    most = None if kind == "loop" else least + draw(st.integers(0, 1)) if least > 1 else least + 1
    inner = draw(st.sampled_from(["next", "followed_by", "followed_by_any"]))
    until = draw(st.sampled_from([None, None, "x"])) if kind == "loop" else None
    is_greedy = until is None and least != most and inner != "followed_by_any" and draw(st.booleans())
    return Part(name, follows, least, most, inner, is_optional, is_greedy, until)


@st.composite
def events(draw: st.DrawFn, size: int = 8) -> list[Event]:
    """Events with distinct names and rising times."""
    time, made = 0, []
    for number, letter in enumerate(draw(st.lists(st.sampled_from("abcdx"), max_size=size))):
        time += draw(st.integers(0, 3))
        made.append((f"{letter}{number}", time))
    return made


windows = st.one_of(st.none(), st.integers(2, 12))
