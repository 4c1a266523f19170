"""Values as the error messages of connectors show them: short, however large they are."""

from __future__ import annotations

from typing import Any

_SHOWN_MAX = 200


def shortened(value: Any) -> str:
    """Show a value in an error message without flooding it."""
    return clipped(repr(value))


def clipped(text: str) -> str:
    """Cut a text that may hold a whole record to a readable length."""
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}... ({len(text)} characters)"
