"""Writing MATCH_RECOGNIZE back as Flink SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp, generator

from penstock.table.sql.nodes import (
    FinalOrRunning,
    MatchClause,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternGroup,
    PatternPermutation,
    PatternRepetition,
    SkipTo,
)
from penstock.vocabulary.sql.matches import PatternElement

__all__ = ["MATCH_WRITERS"]

Writer = Callable[[generator.Generator, Any], str]


def _joined(separator: str) -> Writer:
    return lambda self, node: separator.join(map(self.sql, node.expressions))


def _repetition(self: generator.Generator, node: PatternRepetition) -> str:
    is_reluctant = bool(node.args.get("is_reluctant"))
    return str(PatternElement(self.sql(node, "this"), node.args["least"], node.args.get("most"), is_reluctant))


def _skip_to(self: generator.Generator, node: SkipTo) -> str:
    where = node.args["where"]
    return f"AFTER MATCH SKIP {where}" if node.this is None else f"AFTER MATCH SKIP TO {where} {self.sql(node.this)}"


def _definition(self: generator.Generator, item: exp.Expr) -> str:
    return f"{self.sql(item, 'alias')} AS {self.sql(item, 'this')}"


def _match(self: generator.Generator, node: MatchClause) -> str:
    def listed(word: str, key: str) -> str:
        items = node.args.get(key) or ()
        return f"{word} {', '.join(map(self.sql, items))}" if items else ""

    within = self.sql(node, "within")
    parts = [
        listed("PARTITION BY", "partition_by"),
        self.sql(node, "order").strip(),
        listed("MEASURES", "measures"),
        self.sql(node, "rows"),
        self.sql(node, "after"),
        f"PATTERN ({self.sql(node, 'pattern')})",
        within and f"WITHIN {within}",
        f"DEFINE {', '.join(_definition(self, each) for each in node.args['define'])}",
    ]
    alias = self.sql(node, "alias")
    # The generator puts the clause right behind a table or a subquery.
    return f" MATCH_RECOGNIZE ({' '.join(filter(None, parts))})" + (f" AS {alias}" if alias else "")


MATCH_WRITERS: dict[type[exp.Expr], Writer] = {
    MatchClause: _match,
    SkipTo: _skip_to,
    FinalOrRunning: lambda self, node: f"{node.args['word']} {self.sql(node, 'this')}",
    PatternConcatenation: _joined(" "),
    PatternAlternation: _joined(" | "),
    PatternPermutation: lambda self, node: f"PERMUTE({_joined(', ')(self, node)})",
    PatternGroup: lambda self, node: f"({self.sql(node, 'this')})",
    PatternExclusion: lambda self, node: f"{{- {self.sql(node, 'this')} -}}",
    PatternRepetition: _repetition,
}
