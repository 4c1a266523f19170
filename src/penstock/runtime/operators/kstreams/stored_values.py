"""Keys and values as stores keep them: plain data, and nobody else's.

What is on disk names no class of ours: a value with its timestamp is a plain pair, a windowed key a plain tuple.
Most values are texts and numbers; a look at their class costs far less than a copy.
"""

from __future__ import annotations

from typing import Any

from penstock.common.own_copies import ATOMS, own_copy
from penstock.vocabulary.kstreams.records import ValueAndTimestamp, Window, Windowed

_WINDOWED = "kstreams windowed"


def owned(value: Any) -> Any:
    """The value, or a copy of it if it can be changed."""
    return value if value.__class__ in ATOMS else own_copy(value)


def stored_value(value: Any) -> Any:
    """A value as it is kept."""
    if value.__class__ is ValueAndTimestamp:
        held, timestamp = value
        return (held if held.__class__ in ATOMS else own_copy(held), timestamp)
    return owned(value)


def given_pair(stored: Any) -> ValueAndTimestamp | None:
    """A value with its timestamp, as it is given out; None if there is none."""
    if stored is None:
        return None
    value, timestamp = stored
    return ValueAndTimestamp(value if value.__class__ in ATOMS else own_copy(value), timestamp)


def stored_key(key: Any) -> Any:
    """A key as it is kept."""
    if key.__class__ in ATOMS:
        return key
    if key.__class__ is Windowed:
        return (_WINDOWED, own_copy(key.key), key.window.start, key.window.end)
    return own_copy(key)


def given_key(stored: Any) -> Any:
    """A key as it is given out."""
    if stored.__class__ is tuple and len(stored) == 4 and stored[0] == _WINDOWED:
        return Windowed(stored[1], Window(stored[2], stored[3]))
    return stored
