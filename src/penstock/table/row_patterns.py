"""Row patterns of MATCH_RECOGNIZE as patterns of `penstock.cep`: variables that follow each other strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.cep.compilation import compile_pattern
from penstock.cep.described import described_elements
from penstock.cep.pattern import check_pattern
from penstock.runtime.operators.cep.operator import PatternSpec
from penstock.vocabulary.sql.matches import MatchSkip, PatternElement

__all__ = ["checked_row_pattern", "pattern_spec"]


def checked_row_pattern(elements: Sequence[PatternElement], skip: MatchSkip, within_ms: int | None) -> Pattern:
    """The pattern without its conditions; raises `MalformedPatternError` for one that cannot be looked for."""
    first, *others = elements
    pattern = _repeated(Pattern.begin(first.variable, _strategy(skip)), first)
    for element in others:
        pattern = _repeated(pattern.next(element.variable), element)
    if within_ms is not None:
        pattern = pattern.within(within_ms)
    check_pattern(pattern)
    return pattern


def _repeated(pattern: Pattern, element: PatternElement) -> Pattern:
    if not element.is_quantified:
        return pattern
    if (element.least, element.most) == (0, 1):
        return pattern.optional()
    if element.most is not None:
        pattern = pattern.times(element.least, element.most)
    else:
        pattern = pattern.times_or_more(max(element.least, 1))
        pattern = pattern.optional() if element.least == 0 else pattern
    pattern = pattern.consecutive()
    return pattern.greedy() if element.is_greedy else pattern


class _SkipOfSql(AfterMatchSkipStrategy):
    """The same strategy, in the words of SQL."""

    def __str__(self) -> str:
        words = {"skip_to_next": "TO NEXT ROW", "skip_past_last_event": "PAST LAST ROW"}
        where = words.get(self.kind, f"TO {'FIRST' if self.kind == 'skip_to_first' else 'LAST'} {self.pattern_name}")
        return f"AFTER MATCH SKIP {where}"


def _strategy(skip: MatchSkip) -> AfterMatchSkipStrategy:
    if skip.variable is not None:
        # As the standard says: a match without a row to go on at is an error, and so is one that would go on for ever.
        return _SkipOfSql(f"skip_to_{skip.where.lower()}", skip.variable, is_miss_an_error=True)
    return _SkipOfSql("skip_past_last_event" if skip.where == "PAST LAST ROW" else "skip_to_next")


def pattern_spec(
    elements: Sequence[PatternElement],
    skip: MatchSkip,
    within_ms: int | None,
    conditions: Mapping[str, Any],
    *,
    is_processing_time: bool,
    comparator: Any,
) -> PatternSpec:
    """What the operator looks for; `conditions` are by variable."""
    pattern = checked_row_pattern(elements, skip, within_ms)
    with_conditions = tuple([replace(each, condition=conditions.get(each.name)) for each in pattern.elements()])
    return PatternSpec(
        compile_pattern(with_conditions),
        pattern.get_after_match_skip_strategy(),
        described_elements(with_conditions),
        is_processing_time,
        comparator,
    )
