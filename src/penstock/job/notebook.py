"""A line in the cell of a notebook that changes while a job runs; needs nothing that a notebook does not bring."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from typing import Any

ShowLine = Callable[[str], None]


def notebook_line() -> ShowLine | None:
    """A function that shows a text in place of the one before; None where this is no notebook."""
    ipython = _notebook()
    if ipython is None:
        return None
    shown: list[Any] = []

    def show(text: str) -> None:
        content = {"text/plain": text, "text/html": f"<code>{escape(text)}</code>"}
        if shown:
            shown[0].update(content, raw=True)
        else:
            shown.append(ipython.display.display(content, raw=True, display_id=True))

    return show


def show_link(address: str, text: str) -> bool:
    """Show a link in the cell that runs; returns whether this is a notebook."""
    ipython = _notebook()
    if ipython is None:
        return False
    page = f'<a href="{escape(address)}" target="_blank" rel="noopener">{escape(text)}</a>'
    ipython.display.display({"text/plain": f"{text}: {address}", "text/html": page}, raw=True)
    return True


def _notebook() -> Any:
    """IPython, if it runs this process as the kernel of a notebook; else None."""
    # A program that is run by a notebook's kernel has it loaded: nothing is imported for others.
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return ipython if shell is not None and hasattr(shell, "kernel") else None
