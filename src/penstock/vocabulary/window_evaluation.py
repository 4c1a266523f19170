"""What functions that evaluate windows have in common, for type checkers.

`reduce` and `aggregate` of keyed and of whole streams are written once, and still refuse the functions of the other.
"""

from __future__ import annotations

from typing import Generic

from penstock.common.type_variables import IN_contra, K_co, OUT_co, SORT_contra, W_contra

__all__ = ["WindowEvaluation", "WindowsOfAll", "WindowsOfKey"]


class WindowsOfKey(Generic[K_co]):
    """In a type: windows of a keyed stream, whose functions are handed the key."""


class WindowsOfAll:
    """In a type: windows of a whole stream."""


class WindowEvaluation(Generic[IN_contra, OUT_co, SORT_contra, W_contra]):
    """A function that evaluates windows of one sort or the other."""
