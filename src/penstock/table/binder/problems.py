"""Errors of queries: the place in the text with a caret, the reason, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.sql.places import place_of, shown

__all__ = ["Problems", "near_names"]


class Problems:
    """Makes errors about one text of SQL."""

    def __init__(self, text: str = "") -> None:
        self.text = text

    def at(self, node: exp.Expr | None, message: str) -> SqlValidationError:
        """An error about a part of the query."""
        place = place_of(node, self.text) if node is not None and self.text else None
        line, column = (place.line, place.column) if place is not None else (0, 0)
        return SqlValidationError(shown(message, place), line, column)


def near_names(name: str, known: Iterable[str]) -> str:
    """A hint that names what may have been meant; all names if there are few and none is near."""
    names = sorted(set(known))
    by_small_letters = {each.lower(): each for each in names}
    near = [by_small_letters[each] for each in get_close_matches(name.lower(), by_small_letters, n=3, cutoff=0.6)]
    if near:
        return f" Did you mean {' or '.join(near)}?"
    return f" There are: {', '.join(names[:20])}." if names else ""
