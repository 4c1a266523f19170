"""Why operators of tables cannot work on columns: types of columns and keys, expressions, sides of joins."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.refusals import Names, column_text, kind_text
from penstock.vocabulary.sql.scalar import arrow_type

__all__ = ["keys_refusal", "types_refusal"]

_KEY_KINDS = frozenset(
    [
        *(Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.CHAR, Kind.VARCHAR),
        *(Kind.BINARY, Kind.VARBINARY, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ),
    ]
)
"""Types whose values are equal in Arrow exactly if they are in Python."""


def types_refusal(types: Sequence[LogicalType], names: Names = ()) -> str | None:
    """Name the first column whose values are not flat: Arrow has no column of its internal values."""
    for at, each in enumerate(types):
        if arrow_type(each) is None:
            return f"{column_text(at, names)} is {kind_text(each)}"
    return None


def keys_refusal(types: Sequence[LogicalType], keys: Sequence[int], names: Names = ()) -> str | None:
    """Name the first of the fields `keys` for which Arrow and Python may not mean the same by equal values."""
    for at in keys:
        if types[at].kind not in _KEY_KINDS:
            return f"the key, {column_text(at, names)}, is {kind_text(types[at])}"
    return None
