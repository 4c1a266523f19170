"""Splits the notation of measured cases into words, numbers and signs, and reads calls such as `times(2, 10ms)`."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Dots, quotes and a semicolon separate words, so that `begin("a").next("b");` reads as `begin (a) next (b)`.
_TOKEN = re.compile(r"[\s.\"';]+|(?P<token>[^\W\d][\w-]*|\d+[a-z]*|[(){},+*?])")
_MILLIS = {"ms": 1, "millis": 1, "milliseconds": 1, "s": 1_000, "seconds": 1_000, "min": 60_000, "minutes": 60_000}
_AMOUNT = re.compile(r"(\d+)([a-z]*)")


class NotationError(ValueError):
    """A text that is no notation of a pattern, or of one that is not known here."""


class Tokens:
    """The tokens of a text that are still to be read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._left = list(reversed(list(_split(text))))

    @property
    def next(self) -> str | None:
        """The next token, None at the end."""
        return self._left[-1] if self._left else None

    @property
    def word(self) -> str:
        """The next token without regard to case and underscores; empty at the end."""
        return plain(self.next or "")

    def take(self) -> str:
        """Read a token."""
        if not self._left:
            raise NotationError(f"{self.text!r} ends too early")
        return self._left.pop()

    def take_if(self, wanted: str) -> bool:
        """Read a token if it is the one that is wanted."""
        if self.word != wanted:
            return False
        self.take()
        return True

    def expect(self, wanted: str) -> None:
        """Read a token that must be there."""
        if self.next != wanted:
            raise self.unexpected(f"expected {wanted!r}")
        self.take()

    def unexpected(self, wanted: str) -> NotationError:
        """What to raise for the next token."""
        return NotationError(f"{self.text!r}: {wanted}, found {self.next or 'the end'!r}")

    def arguments(self) -> list[list[str]]:
        """The arguments of a call, each as its tokens; none if no bracket comes."""
        if not self.take_if("("):
            return []
        found: list[list[str]] = [[]]
        depth = 1
        while depth:
            token = self.take()
            depth += (token == "(") - (token == ")")
            if token == "," and depth == 1:
                found.append([])
            elif depth:
                found[-1].append(token)
        return [argument for argument in found if argument]

    def skip_remark(self) -> None:
        """Read a remark in brackets, which may only stand at the end."""
        self.arguments()
        if self.next is not None:
            raise self.unexpected("expected the end after a remark in brackets")


def plain(word: str) -> str:
    """A word without regard to case and underscores: `followedBy` is `followed_by`."""
    return word.replace("_", "").lower()


def millis(argument: list[str]) -> int | None:
    """The milliseconds of an argument with a unit, such as `10ms` or `Duration.ofSeconds(1)`; None if it has none."""
    words = [plain(token).removeprefix("of") for token in argument if token not in "()"]
    units = [unit for unit in words if unit in _MILLIS]
    amounts = [found for word in words if (found := _AMOUNT.fullmatch(word))]
    if len(amounts) != 1:
        raise NotationError(f"{' '.join(argument)!r} is no length of time")
    number, unit = amounts[0].groups()
    if unit not in _MILLIS:
        if unit:
            raise NotationError(f"{' '.join(argument)!r}: the unit {unit!r} is not known")
        return int(number) * _MILLIS[units[0]] if units else None
    return int(number) * _MILLIS[unit]


def whole(argument: list[str]) -> int:
    """The number that an argument is."""
    if len(argument) != 1 or not argument[0].isdigit():
        raise NotationError(f"{' '.join(argument)!r} is no number")
    return int(argument[0])


def _split(text: str) -> Iterable[str]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise NotationError(f"{text!r}: {text[place]!r} has no meaning here")
        if found["token"]:
            yield found["token"]
        place = found.end()
