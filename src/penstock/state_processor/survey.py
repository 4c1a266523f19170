"""What the entries of a state have in common, found by reading all of them once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from penstock.keys.codec import decode_key
from penstock.state.declarations import SchemasByRole
from penstock.state_processor.entries import Entries, EntryReader
from penstock.state_processor.shapes import NOTHING, OPAQUE, Shape, merged, shape_of_all
from penstock.state_processor.slices import Slice
from penstock.state_processor.value_forms import PICKLE_FORM

VOID, TIME, NUMBER, OTHER = "void", "time", "number", "other"
_TIME_BYTES, _NUMBER_BYTES = 16, 8
_CUSTOM = 0x01  # in front of the bytes of a user's own windows


@dataclass(frozen=True)
class Survey:
    """Shapes of keys, of keys of maps and of pickled values; forms of values; kinds of namespaces.

    `is_stamped` tells whether there are entries that tell their last access, `is_exact` whether columns show all that
    values of a declared type hold.
    """

    keys: Shape = NOTHING
    map_keys: Shape = NOTHING
    values: Shape = NOTHING
    forms: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    is_stamped: bool = False
    entries: int = 0
    is_exact: bool = True


def survey_slice(part: Slice, state: str, kind: str, written: SchemasByRole) -> Survey:
    """Read the entries of a state in one piece; fit to run in any process that reaches it."""
    reader = EntryReader(state, kind, written)
    found = merged_surveys(
        Survey(
            keys=_shape_of_keys(entries.keys),
            map_keys=shape_of_all(entries.seconds) if kind == "map" else NOTHING,
            values=shape_of_all(_pickled_values(entries)),
            forms=frozenset(entries.forms),
            namespaces=frozenset(map(kind_of_namespace, set(entries.namespaces))),
            is_stamped=any(stamp is not None for stamp in entries.stamps),
            entries=len(entries.keys),
        )
        for entries in reader.read(part.blocks(state, kind))
    )
    return replace(found, is_exact=reader.is_exact)


def merged_surveys(surveys: Iterable[Survey]) -> Survey:
    """What all pieces have in common."""
    found = list(surveys)
    return Survey(
        keys=merged(each.keys for each in found),
        map_keys=merged(each.map_keys for each in found),
        values=merged(each.values for each in found),
        forms=frozenset().union(*(each.forms for each in found)),
        namespaces=frozenset().union(*(each.namespaces for each in found)),
        is_stamped=any(each.is_stamped for each in found),
        entries=sum(each.entries for each in found),
        is_exact=all(each.is_exact for each in found),
    )


def _pickled_values(entries: Entries) -> list[Any]:
    if set(entries.forms) <= {PICKLE_FORM}:
        return entries.values
    return [value for value, form in zip(entries.values, entries.forms, strict=True) if form == PICKLE_FORM]


def kind_of_namespace(namespace: bytes) -> str:
    """Whether a namespace is none, a time window, a number (of a count window) or something else."""
    if not namespace:
        return VOID
    if len(namespace) == _TIME_BYTES and namespace[0] != _CUSTOM:
        return TIME
    return NUMBER if len(namespace) == _NUMBER_BYTES else OTHER


def _shape_of_keys(codes: list[bytes]) -> Shape:
    shape = shape_of_all(list(map(decode_key, dict.fromkeys(codes))))
    # A key is never null in a column, so that one that was forgotten can be told from None.
    return OPAQUE if shape.has_none else shape
