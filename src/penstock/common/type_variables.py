"""The type variables of the public classes, so that editors and type checkers know what is in a stream.

All of them stand for `Any` where a program says nothing: `class Parse(MapFunction)` and `DataStream` without brackets
are as good as ever, and are checked less. A name that ends in `_co` is of what a class hands out: a stream of `bool` is
a stream of `int`. One that ends in `_contra` is of what a class only takes: a sink of `object` is a sink of `str`.
"""

from __future__ import annotations

from typing import Any

# `default` came with Python 3.13.
from typing_extensions import TypeVar

__all__ = [
    "ACC",
    "SORT",
    "A",
    "B",
    "IN1_contra",
    "IN2_contra",
    "IN_contra",
    "K",
    "KEY_contra",
    "K_co",
    "OUT_co",
    "R",
    "S",
    "SORT_contra",
    "S_co",
    "T",
    "T1_co",
    "T2_co",
    "T_co",
    "T_contra",
    "V",
    "V_co",
    "W_co",
    "W_contra",
]

T = TypeVar("T", default=Any)
"""Elements that go in and come out."""
T_co = TypeVar("T_co", covariant=True, default=Any)
T_contra = TypeVar("T_contra", contravariant=True, default=Any)
T1_co = TypeVar("T1_co", covariant=True, default=Any)
"""The elements of the first of two streams."""
T2_co = TypeVar("T2_co", covariant=True, default=Any)
"""The elements of the second of two streams."""

IN_contra = TypeVar("IN_contra", contravariant=True, default=Any)
"""The elements that a function takes."""
IN1_contra = TypeVar("IN1_contra", contravariant=True, default=Any)
IN2_contra = TypeVar("IN2_contra", contravariant=True, default=Any)
OUT_co = TypeVar("OUT_co", covariant=True, default=Any)
"""The elements that a function makes."""
ACC = TypeVar("ACC", default=Any)
"""An accumulator."""

K = TypeVar("K", default=Any)
"""A key: of a stream, or of a map."""
K_co = TypeVar("K_co", covariant=True, default=Any)
KEY_contra = TypeVar("KEY_contra", contravariant=True, default=Any)
V = TypeVar("V", default=Any)
"""A value of a map, or of a declared type."""
V_co = TypeVar("V_co", covariant=True, default=Any)
W_co = TypeVar("W_co", covariant=True, default=Any)
"""A window."""
W_contra = TypeVar("W_contra", contravariant=True, default=Any)
SORT = TypeVar("SORT", default=Any)
"""Which windows a function evaluates: those of a key, or of a whole stream."""
SORT_contra = TypeVar("SORT_contra", contravariant=True, default=Any)

# Of methods: what another argument is of, and what the result is of.
A = TypeVar("A", default=Any)
B = TypeVar("B", default=Any)
R = TypeVar("R", default=Any)
S = TypeVar("S", default=Any)
"""State."""
S_co = TypeVar("S_co", covariant=True, default=Any)
