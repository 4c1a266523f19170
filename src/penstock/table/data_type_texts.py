"""Types as programs give them: a LogicalType, a text, or a type from DataTypes."""

from __future__ import annotations

from typing import Any

from penstock.errors import SqlError
from penstock.table.sql import parse_type
from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["declared_type"]


def declared_type(given: Any) -> LogicalType:
    """The type that is meant."""
    if isinstance(given, LogicalType):
        return given
    if isinstance(given, str):
        return parse_type(given)
    inner = getattr(given, "logical_type", None)
    if isinstance(inner, LogicalType):
        return inner
    raise SqlError(f"Expected a type such as DataTypes.INT() or 'INT', got {given!r}.")
