"""Writing a parsed query back as Flink SQL."""

from __future__ import annotations

from sqlglot import exp, generator

from penstock.table.sql.nodes import (
    DefaultArgument,
    IntervalPrecision,
    MapConstructor,
    ModelArgument,
    TableArgument,
    TemporalLiteral,
)
from penstock.table.sql.writing_matches import MATCH_WRITERS

__all__ = ["FlinkGenerator"]


def _trim(self: generator.Generator, node: exp.Expr) -> str:
    parts = [node.text("position") or "BOTH", self.sql(node, "expression"), "FROM", self.sql(node, "this")]
    return f"TRIM({' '.join(filter(None, parts))})"


def _position(self: generator.Generator, node: exp.Expr) -> str:
    return f"POSITION({self.sql(node, 'substr')} IN {self.sql(node, 'this')})"


def _table_argument(self: generator.Generator, node: exp.Expr) -> str:
    keys, order = node.args.get("partition_by"), node.args.get("order")
    text = "TABLE " + self.sql(node, "this")
    if keys:
        text += f" PARTITION BY ({', '.join(map(self.sql, keys))})"
    if order:
        text += f" ORDER BY ({', '.join(map(self.sql, order.expressions))})"
    return text


class FlinkGenerator(generator.Generator):
    """The words of Flink for the nodes of its grammar."""

    TYPE_MAPPING = {
        **generator.Generator.TYPE_MAPPING,
        exp.DType.TEXT: "STRING",
        exp.DType.BLOB: "BYTES",
        exp.DType.STRUCT: "ROW",
        exp.DType.TIMESTAMPLTZ: "TIMESTAMP_LTZ",
        exp.DType.LIST: "MULTISET",
        exp.DType.HLLSKETCH: "BITMAP",
    }
    STRUCT_DELIMITER = ("<", ">")
    TABLE_HINTS = True
    QUERY_HINTS = True
    INTERVAL_ALLOWS_PLURAL_FORM = True
    SINGLE_STRING_INTERVAL = False
    NVL2_SUPPORTED = False
    TRANSFORMS = {
        **generator.Generator.TRANSFORMS,
        TableArgument: _table_argument,
        MapConstructor: lambda self, node: f"MAP[{self.expressions(node, flat=True)}]",
        ModelArgument: lambda self, node: "MODEL " + self.sql(node, "this"),
        DefaultArgument: lambda self, node: "DEFAULT",
        IntervalPrecision: lambda self, node: f"{self.sql(node, 'this')}({self.sql(node, 'expression')})",
        TemporalLiteral: lambda self, node: f"{self.sql(node, 'to')} {self.sql(node, 'this')}",
        **MATCH_WRITERS,
        exp.Struct: lambda self, node: f"ROW({self.expressions(node, flat=True)})",
        exp.Array: lambda self, node: f"ARRAY[{self.expressions(node, flat=True)}]",
        exp.Version: lambda self, node: f"FOR SYSTEM_TIME AS OF {self.sql(node, 'expression')}",
        exp.StrPosition: _position,
        exp.Trim: _trim,
        exp.CurrentTimestamp: lambda self, node: "CURRENT_TIMESTAMP",
        exp.CurrentDate: lambda self, node: "CURRENT_DATE",
        exp.CurrentTime: lambda self, node: "CURRENT_TIME",
        exp.TryCast: lambda self, node: f"TRY_CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})",
    }

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """A call; those of JSON hold their commas and clauses as words."""
        if not expression.name.startswith("JSON_"):
            return super().anonymous_sql(expression)
        parts = [*expression.expressions, *(expression.args.get("clauses") or [])]
        text = " ".join(map(self.sql, parts)).replace(" ,", ",")
        return f"{expression.name}({text})"

    def table_sql(self, expression: exp.Table, sep: str = " AS ") -> str:
        """A table with its hints before its alias, and MATCH_RECOGNIZE behind it."""
        match = expression.args.get("match")
        hints = [each for each in expression.args.get("hints") or [] if isinstance(each, exp.Hint)]
        if not hints:
            return super().table_sql(expression, sep) + (self.sql(match) if match else "")
        bare = expression.copy()
        for name in ("hints", "alias", "match"):
            bare.set(name, None)
        alias = self.sql(expression, "alias")
        text = super().table_sql(bare, sep) + "".join(map(self.sql, hints)) + (f"{sep}{alias}" if alias else "")
        return text + (self.sql(match) if match else "")
