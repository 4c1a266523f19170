"""`SqlDialect`: the grammars that Flink knows; Penstock has the first."""

from __future__ import annotations

from enum import Enum

__all__ = ["SqlDialect"]


class SqlDialect(Enum):
    """A grammar of SQL."""

    DEFAULT = 0
    HIVE = 1
