"""How a row of a changelog looks inside the runtime: a tuple that begins with its kind.

The kind is a small number, so that a block of rows can be Arrow columns with the kinds as their first one. The numbers
are those of Flink's `RowKind`.
"""

from __future__ import annotations

INSERT = 0
UPDATE_BEFORE = 1
UPDATE_AFTER = 2
DELETE = 3

SHORT_NAMES = ("+I", "-U", "+U", "-D")

KIND_COLUMN = "$kind"
"""The name of the column of kinds, where rows travel as columns."""

ADDS = (True, False, True, False)
"""By kind: whether the row adds something to the table (or takes it back)."""

REVERSED = (DELETE, UPDATE_AFTER, UPDATE_BEFORE, INSERT)
"""By kind: the kind of the row that undoes it."""
