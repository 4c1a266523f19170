"""Words for the reasons why rows are not worked on as columns: short clauses that name a column or a function.

`refusal` functions return such a clause, or None where columns are taken. `names` are the names of the columns, where
they are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["MINI_BATCH", "RETRACTED", "TIME_TO_LIVE", "Names", "column_text", "first_refusal", "kind_text"]

Names = Sequence[str]

RETRACTED = "rows may be updated or deleted"
TIME_TO_LIVE = "its state has a time to live (table.exec.state.ttl)"
MINI_BATCH = "mini-batches are on (table.exec.mini-batch.enabled)"


def column_text(place: int, names: Names = ()) -> str:
    """Return what a column is called in a reason.

    >>> column_text(1, ["id", "tags"]), column_text(1, ["id", "$f0"]), column_text(1)
    ('column tags', 'a computed column', 'column number 2')
    """
    if place >= len(names):
        return f"column number {place + 1}"
    return "a computed column" if names[place].startswith("$") else f"column {names[place]}"


def kind_text(type_: LogicalType) -> str:
    """Return the root of a type with its article, such as `an ARRAY`."""
    word = type_.kind.value
    return f"{'an' if word[0] in 'AEIOU' else 'a'} {word}"


def first_refusal(*reasons: str | None) -> str | None:
    """Return the first reason that there is."""
    return next((each for each in reasons if each is not None), None)
