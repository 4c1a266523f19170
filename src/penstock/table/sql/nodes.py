"""Nodes of a parsed query that sqlglot has no class for.

A node holds its parts by name; `node.args` and `node.this` read them as with sqlglot's own.
"""

from __future__ import annotations

from sqlglot import exp

__all__ = [
    "DefaultArgument",
    "IntervalPrecision",
    "MapConstructor",
    "ModelArgument",
    "TableArgument",
    "TemporalLiteral",
]


class TableArgument(exp.Expression):
    """`TABLE t PARTITION BY k ORDER BY ts`: an argument of a table function."""

    arg_types = {"this": True, "partition_by": False, "order": False}


class ModelArgument(exp.Expression):
    """`MODEL m`: an argument of a table function."""

    arg_types = {"this": True}


class DefaultArgument(exp.Expression):
    """`DEFAULT` in place of an argument."""

    arg_types = {}


class MapConstructor(exp.Expression):
    """`MAP[k1, v1, k2, v2]`: keys and values in turn."""

    arg_types = {"expressions": False}


class TemporalLiteral(exp.Expression):
    """`TIMESTAMP '2020-01-01 00:00:00.123'`: its precision, 3, follows from its digits; a cast would give 6."""

    arg_types = {"this": True, "to": True}


class IntervalPrecision(exp.Expression):
    """`DAY(3)`: a unit with the precision of its leading field."""

    arg_types = {"this": True, "expression": True}
