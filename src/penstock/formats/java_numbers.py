"""Numbers as Java writes them."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["double_text", "float_text"]


def double_text(value: float, digits: str | None = None) -> str:
    """A float as Java writes a double; `digits` are the shortest that tell it apart, if not Python's."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign = "-" if str(value).startswith("-") else ""
    mantissa, _, power = (digits or repr(abs(value))).lower().lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(power or 0) + len(whole) - 1
    figures = (whole + fraction).lstrip("0")
    exponent -= len(whole + fraction) - len(figures) if figures else 0
    figures = figures.rstrip("0") or "0"
    if figures == "0":
        return sign + "0.0"
    if -3 <= exponent < 7:
        return sign + _plain(figures, exponent)
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{exponent}"


def _plain(figures: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + figures
    figures = figures.ljust(exponent + 2, "0")
    return f"{figures[: exponent + 1]}.{figures[exponent + 1 :]}"


def float_text(value: float) -> str:
    """A float as Java writes a number of 32 bits."""
    return double_text(value, str(abs(np.float32(value))) if math.isfinite(value) else None)
