"""Where something is in a text of SQL, and error messages that show it: the line, and a caret under the place."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

__all__ = ["Place", "place_of", "shown"]


@dataclass(frozen=True)
class Place:
    """A stretch of a text, from character `start` up to and with `end`, both counted from 0."""

    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line it begins in, counted from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The column it begins in, counted from 1."""
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1


def shown(message: str, place: Place | None) -> str:
    """The message, with its line and column, the line itself and a caret under the place.

    >>> print(shown("There is no column b", Place("SELECT a,\\n  b FROM t", 12, 12)))
    There is no column b (line 2, column 3):
      b FROM t
      ^
    """
    if place is None:
        return message
    line = place.text.splitlines()[place.line - 1] if place.text else ""
    length = max(1, min(place.end + 1 - place.start, len(line) - place.column + 1))
    under = "".join("\t" if each == "\t" else " " for each in line[: place.column - 1]) + "^" * length
    return f"{message} (line {place.line}, column {place.column}):\n{line}\n{under}"


def place_of(node: exp.Expr, text: str) -> Place | None:
    """Where a node was read from, by the first and last of its names that know it; None if none does."""
    starts, ends = [], []
    for each in node.walk():
        meta = each.meta if each._meta else {}
        if "start" in meta:
            starts.append(meta["start"])
            ends.append(meta["end"])
    return Place(text, min(starts), max(ends)) if starts else None
