"""Words for the reasons why operators of streams work on records one by one instead of on columns."""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["called_for_each", "name_of"]


def called_for_each(function: Any) -> str:
    """Return that a function of the program is called for each record.

    >>> called_for_each(len)
    'the Python function len() is called for each record'
    """
    return f"the Python function {name_of(function)}() is called for each record"


def name_of(function: Any) -> str:
    """Return what a program calls a function: that of a partial is the one inside, that of an object its class."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", None) or type(function).__name__)
