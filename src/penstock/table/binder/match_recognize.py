"""Binding of MATCH_RECOGNIZE: partition, order, row pattern, conditions and measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.cep.pattern import MalformedPatternError
from penstock.table.algebra.match_node import Match
from penstock.table.algebra.plan_node import PlanNode
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.match_expressions import MatchExpressionBinder, MatchRows
from penstock.table.binder.problems import near_names
from penstock.table.binder.queries import sort_direction
from penstock.table.binder.scopes import Scope
from penstock.table.binder.session import Session
from penstock.table.row_patterns import checked_row_pattern
from penstock.table.sql.nodes import (
    MatchClause,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternGroup,
    PatternPermutation,
    PatternRepetition,
)
from penstock.table.sql.places import place_of
from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.matches import MatchExpressions, MatchSkip, PatternElement
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import Literal

__all__ = ["bind_match"]

NOT_SUPPORTED: dict[type[exp.Expr], str] = {
    PatternAlternation: "Alternation (A | B) is not supported in PATTERN, as in Flink: use one variable whose "
    "condition has OR, or two queries and UNION ALL",
    PatternPermutation: "PERMUTE is not supported in PATTERN, as in Flink: write a query for each order, and UNION ALL",
    PatternExclusion: "Exclusion {- A -} is not supported in PATTERN, as in Flink: leave the variable out of MEASURES",
}


def bind_match(session: Session, source: PlanNode, clause: MatchClause) -> Match:
    """The plan of MATCH_RECOGNIZE over the rows of another one."""
    return _MatchBinder(session, source, clause).bind()


class _MatchBinder:
    def __init__(self, session: Session, source: PlanNode, clause: MatchClause) -> None:
        self.session = session
        self.problems = session.problems
        self.source = source
        self.clause = clause

    def bind(self) -> Match:
        self._refuse_unsupported()
        partition = tuple([self._column(each, "PARTITION BY") for each in self.clause.args.get("partition_by") or ()])
        order = self._order()
        elements = tuple(self._elements(self.clause.args["pattern"]))
        self._check_variables(elements)
        skip, within = self._skip(elements), self._within()
        self._check_pattern(elements, skip, within)
        rows = MatchRows(self.source, elements, order[0].index, self._only_defined(elements))
        names, measures = self._measures(rows, partition)
        return Match(
            self.source,
            partition,
            order,
            elements,
            tuple(self._definitions(rows)),
            measures,
            names,
            skip,
            within,
            place_of(self._word, self.session.problems.text),
        )

    @property
    def _word(self) -> exp.Expr:
        """The word MATCH_RECOGNIZE as a node."""
        word = exp.Var(this="MATCH_RECOGNIZE")
        word.meta.update(self.clause.meta)
        return word

    def _refuse_unsupported(self) -> None:
        rows = self.clause.args.get("rows")
        if rows is not None and rows.name.startswith("ALL"):
            raise self.problems.at(
                self._word, "ALL ROWS PER MATCH is not supported, as in Flink; ONE ROW PER MATCH is what there is"
            )
        for subset in self.clause.args.get("subset") or ():
            raise self.problems.at(
                subset,
                "SUBSET is not supported, as in Flink: a column without variable is that of any row of the match",
            )

    # ---- columns ----

    def _column(self, node: exp.Expr, clause: str) -> int:
        names = self.source.names
        if not isinstance(node, exp.Column) or len(node.parts) > 1:
            raise self.problems.at(
                node, f"{clause} of MATCH_RECOGNIZE takes columns; compute others in a subquery before it"
            )
        if node.name not in names:
            raise self.problems.at(node, f"There is no column '{node.name}' here.{near_names(node.name, names)}")
        return names.index(node.name)

    def _order(self) -> tuple[SortField, ...]:
        order = self.clause.args.get("order")
        if order is None:
            raise self.problems.at(
                self._word, "MATCH_RECOGNIZE needs ORDER BY a time attribute: a row time or processing time column"
            )
        fields = [sort_direction(each, self._column(each.this, "ORDER BY")) for each in order.expressions]
        first = fields[0]
        node = order.expressions[0]
        if self.source.types[first.index].time_attribute is None:
            raise self.problems.at(
                node,
                f"MATCH_RECOGNIZE must be ordered by a time attribute first, but '{node.this.name}' is "
                f"{self.source.types[first.index]}",
            )
        if first.descending:
            raise self.problems.at(node, "MATCH_RECOGNIZE must be ordered by time ascending: leave DESC out")
        return tuple(fields)

    # ---- the pattern ----

    def _elements(self, node: exp.Expr) -> Iterator[PatternElement]:
        if type(node) in NOT_SUPPORTED:
            raise self.problems.at(node, NOT_SUPPORTED[type(node)])
        if isinstance(node, PatternConcatenation):
            for each in node.expressions:
                yield from self._elements(each)
        elif isinstance(node, PatternGroup):
            yield from self._elements(node.this)
        elif isinstance(node, PatternRepetition):
            yield self._repeated(node)
        else:
            yield PatternElement(node.name)

    def _repeated(self, node: PatternRepetition) -> PatternElement:
        inner = node.this
        while isinstance(inner, PatternGroup):
            inner = inner.this
        if type(inner) in NOT_SUPPORTED:
            raise self.problems.at(node, NOT_SUPPORTED[type(inner)])
        if isinstance(inner, (PatternConcatenation, PatternRepetition)):
            raise self.problems.at(
                node, "A group of variables cannot be repeated, as in Flink; a quantifier is for one variable"
            )
        least, most = node.args["least"], node.args.get("most")
        if most is not None and (most < 1 or most < least):
            raise self.problems.at(
                node,
                f"{inner.name} is to come {least} to {most} times: the second number must be 1 or more, and not "
                "below the first",
            )
        element = PatternElement(inner.name, least, most, bool(node.args.get("is_reluctant")))
        if (least, most) == (0, 1) and element.is_reluctant:
            raise self.problems.at(node, f"The reluctant {element} is not supported, as in Flink; {inner.name}? is")
        return element

    def _check_variables(self, elements: tuple[PatternElement, ...]) -> None:
        pattern = self.clause.args["pattern"]
        seen: set[str] = set()
        for element in elements:
            if element.variable in seen:
                raise self.problems.at(
                    pattern, f"Variable {element.variable} is twice in PATTERN; each can be there once, as in Flink"
                )
            seen.add(element.variable)
        if all(each.least == 0 for each in elements):
            raise self.problems.at(
                pattern, "A match of this PATTERN could have no row at all; make one of its variables necessary"
            )
        last = elements[-1]
        if last.is_greedy:
            reluctant = replace(last, is_reluctant=True)
            raise self.problems.at(
                pattern,
                f"The last variable cannot be greedy, as in Flink: {last} would wait for a row that is not of it. "
                f"Write {reluctant}, or add a variable behind it",
            )

    def _skip(self, elements: tuple[PatternElement, ...]) -> MatchSkip:
        after = self.clause.args.get("after")
        if after is None:
            return MatchSkip()
        where, target = after.args["where"], after.this
        if target is None:
            return MatchSkip(where)
        if target.name not in [each.variable for each in elements]:
            hint = near_names(target.name, [each.variable for each in elements])
            raise self.problems.at(target, f"There is no pattern variable '{target.name}' in PATTERN.{hint}")
        first = elements[0]
        if first.variable == target.name and (where == "FIRST" or not first.is_quantified):
            raise self.problems.at(
                target, f"AFTER MATCH SKIP TO {where} {target.name} would begin again where the match began, for ever"
            )
        return MatchSkip(where, target.name)

    def _within(self) -> int | None:
        node = self.clause.args.get("within")
        if node is None:
            return None
        bound = ExpressionBinder(self.session, Scope(())).bind(node)
        if not isinstance(bound, Literal) or bound.type.kind is not Kind.INTERVAL_MILLIS:
            raise self.problems.at(self._word, "WITHIN takes an INTERVAL of days to seconds; months differ in length")
        if bound.value <= 0:
            raise self.problems.at(self._word, "WITHIN takes an INTERVAL above 0")
        return int(bound.value)

    def _check_pattern(self, elements: tuple[PatternElement, ...], skip: MatchSkip, within: int | None) -> None:
        try:
            checked_row_pattern(elements, skip, within)
        except MalformedPatternError as error:
            raise self.problems.at(self.clause.args["pattern"], f"PATTERN cannot be looked for. {error}") from None

    # ---- expressions ----

    def _only_defined(self, elements: tuple[PatternElement, ...]) -> tuple[str, ...]:
        known = [each.variable for each in elements]
        names: list[str] = []
        for item in self.clause.args["define"]:
            if item.alias in names:
                raise self.problems.at(item, f"DEFINE {item.alias} is there twice; join the conditions by AND")
            names.append(item.alias)
        if not set(names) & set(known):
            raise self.problems.at(
                self.clause.args["define"][0], f"DEFINE names no variable of PATTERN.{near_names(names[0], known)}"
            )
        return tuple([each for each in names if each not in known])

    def _definitions(self, rows: MatchRows) -> Iterator[tuple[str, MatchExpressions]]:
        for item in self.clause.args["define"]:
            binder = MatchExpressionBinder(self.session, rows, item.alias)
            bound = binder.expressions([binder.definition(item)])
            if item.alias not in rows.only_defined:
                yield item.alias, bound

    def _measures(self, rows: MatchRows, partition: tuple[int, ...]) -> tuple[tuple[str, ...], MatchExpressions]:
        binder = MatchExpressionBinder(self.session, rows)
        taken = [self.source.names[each] for each in partition]
        names: list[str] = []
        bound = []
        for item in self.clause.args.get("measures") or ():
            if item.alias in taken:
                raise self.problems.at(item, f"Column '{item.alias}' is there twice: give the measure another name")
            taken.append(item.alias)
            names.append(item.alias)
            bound.append(binder.measure(item))
        return tuple(names), binder.expressions(bound)
