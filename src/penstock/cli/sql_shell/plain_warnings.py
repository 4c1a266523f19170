"""Warnings as a line for the person at the shell, without the place in Penstock that gave them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def plain_warnings(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell the texts of warnings while the block lasts, each as often as it is given."""

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        tell(f"Warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield
