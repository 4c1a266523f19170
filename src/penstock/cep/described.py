"""The elements of a pattern in words, for messages and to tell whether a pattern has changed."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.runtime.operators.cep.elements import ANY, STRICT, Element


def described_elements(elements: tuple[Element, ...]) -> tuple[str, ...]:
    """Return a text for each element; two patterns with the same texts have the same automaton.

    The texts are kept with partial matches, so their wording stays.
    """
    return tuple([" ".join(_words(element, is_first=not number)) for number, element in enumerate(elements)])


def _words(element: Element, *, is_first: bool) -> Iterator[str]:
    yield "begin" if is_first else element.contiguity
    yield f"({', '.join(described_elements(element.group))})" if element.group else repr(element.name)
    if element.is_quantified:
        most = "or more" if element.most is None else f"to {element.most}"
        yield f"{element.least} {most} times"
        yield {STRICT: "consecutive", ANY: "in all combinations"}.get(element.inner, "")
        yield from (["greedy"] if element.is_greedy else [])
        yield from (["until a condition"] if element.until is not None else [])
        yield from ([f"{element.gap} ms apart"] if element.gap is not None else [])
    if element.is_optional:
        yield "optional"
    if element.condition is None and not element.group:
        yield "any event"
    if element.within_first is not None:
        yield f"within {element.within_first} ms"
    if element.within_previous is not None:
        yield f"within {element.within_previous} ms of the event before"
