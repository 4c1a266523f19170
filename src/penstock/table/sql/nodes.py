"""Nodes of a parsed query that sqlglot has no class for.

A node holds its parts by name; `node.args` and `node.this` read them as with sqlglot's own.
"""

from __future__ import annotations

from sqlglot import exp

__all__ = [
    "BoundTable",
    "BoundValue",
    "CastTo",
    "DefaultArgument",
    "FinalOrRunning",
    "IntervalPrecision",
    "MapConstructor",
    "MatchClause",
    "ModelArgument",
    "PatternAlternation",
    "PatternConcatenation",
    "PatternExclusion",
    "PatternGroup",
    "PatternPermutation",
    "PatternRepetition",
    "SkipTo",
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


class MatchClause(exp.MatchRecognize):
    """`MATCH_RECOGNIZE (...)`: measures and definitions are aliases, the pattern is a tree of the nodes below."""

    arg_types = {**exp.MatchRecognize.arg_types, "within": False, "subset": False}


class SkipTo(exp.Expression):
    """`AFTER MATCH SKIP ...`: `where` is PAST LAST ROW, TO NEXT ROW, FIRST or LAST; the latter of variable `this`."""

    arg_types = {"where": True, "this": False}


class FinalOrRunning(exp.Expression):
    """`FINAL LAST(A.price)`: `word` is FINAL or RUNNING."""

    arg_types = {"this": True, "word": True}


class PatternConcatenation(exp.Expression):
    """`A B`: row patterns one after the other. A pattern variable is an identifier."""

    arg_types = {"expressions": True}


class PatternAlternation(exp.Expression):
    """`A | B`."""

    arg_types = {"expressions": True}


class PatternPermutation(exp.Expression):
    """`PERMUTE (A, B)`."""

    arg_types = {"expressions": True}


class PatternGroup(exp.Expression):
    """`(A B)`: a row pattern in brackets."""

    arg_types = {"this": True}


class PatternExclusion(exp.Expression):
    """`{- A -}`."""

    arg_types = {"this": True}


class PatternRepetition(exp.Expression):
    """`A{2,3}?`: `least` to `most` times; without `most` there is no end."""

    arg_types = {"this": True, "least": True, "most": False, "is_reluctant": False}


class BoundTable(exp.Expression):
    """A plan in place of a table: what the Table API builds queries on. `plan` is its node of the algebra."""

    arg_types = {"plan": True, "alias": False}


class BoundValue(exp.Expression):
    """A constant whose type is known already; `literal` is the typed expression."""

    arg_types = {"literal": True}


class CastTo(exp.Expression):
    """A cast to a type that is known already: `type` is a LogicalType."""

    arg_types = {"this": True, "to": True, "is_try": False}
