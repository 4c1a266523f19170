"""Events that no partial match minds, told by conditions on the event alone, and the operator that leaves them out.

An event is inert if, whatever state a partial match is in, it is passed over and the match stays as it is, and if it
begins none. Where only how far time has come matters, and not the moments, such events need not reach the pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.common.sealed_functions import has_plain_attributes
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.expression_columns import evaluated
from penstock.runtime.operators.cep.automaton import Automaton
from penstock.runtime.operators.cep.conditions import BooleanConditions, attributes_asked, parts_of, test_of
from penstock.runtime.operators.cep.decisions import Decisions, held_states, minds_time_of_events
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.expressions import Expression

Mask = npt.NDArray[np.bool_]

MOST_CONDITIONS = 8
"""With more, only the first ones are asked: the number of answers doubles with each."""


@dataclass(frozen=True)
class InertEvents:
    """Conditions, and which answers to them make an event inert: by number, the first answer in the lowest bit.

    `attributes`: what the conditions read of an event by name.
    """

    conditions: tuple[Any, ...]
    is_inert: tuple[bool, ...]
    attributes: frozenset[str] = frozenset()


def inert_events(automaton: Automaton, *, is_ordered: bool) -> InertEvents | None:
    """Which events of a pattern are inert, as far as conditions tell that can be asked early; None: none of them.

    Expressions can be, and functions that only compute. Expressions alone are tried first: they are asked of columns.
    """
    asked = {place: attributes_asked(condition) for place, condition in enumerate(automaton.conditions)}
    of_columns = [place for place in asked if _is_of_columns(automaton.conditions[place])]
    for numbers in (of_columns, [place for place, read in asked.items() if read is not None]):
        found = inert_answers(automaton, numbers[:MOST_CONDITIONS], is_ordered=is_ordered)
        if any(found):
            chosen = numbers[:MOST_CONDITIONS]
            attributes = frozenset().union(*[asked[number] or () for number in chosen])
            return InertEvents(tuple([automaton.conditions[number] for number in chosen]), found, attributes)
    return None


def may_have_inert_events(automaton: Automaton, *, is_ordered: bool) -> bool:
    """Whether a pattern of this shape has inert events, whatever kind its conditions are of."""
    numbers = list(range(min(len(automaton.conditions), MOST_CONDITIONS)))
    return any(inert_answers(automaton, numbers, is_ordered=is_ordered))


def inert_answers(automaton: Automaton, numbers: list[int], *, is_ordered: bool) -> tuple[bool, ...]:
    """For all answers to some conditions, the first one in the lowest bit, whether they make an event inert."""
    if minds_time_of_events(automaton, is_ordered=is_ordered):
        return (False,) * (1 << len(numbers))
    decisions, states = Decisions(automaton), held_states(automaton)

    def is_inert(answers: int) -> bool:
        known = {number: bool(answers >> place & 1) for place, number in enumerate(numbers)}
        return not any(each.has_effect for state in states for each in decisions.possible(state, known))

    return tuple([is_inert(answers) for answers in range(1 << len(numbers))])


def _is_of_columns(condition: Any) -> bool:
    return all(isinstance(part, Expression) for part in parts_of(condition))


class InertEventFilter(StreamOperator):
    """Leaves inert events out, before the exchange. Where a condition cannot be told, all events go on.

    So do events that may be late, for the pattern counts those. What is late behind the exchange is behind this
    operator's own watermark too, unless the input was idle and the others went on without it.

    It is there whenever the shape of the pattern allows it, so that the plan does not depend on how conditions are
    written, which may change between two runs of a job. Whether they can be asked early is found out here.
    """

    kind = "pattern filter"
    state_identity = "InertEventFilter"

    def __init__(self, automaton: Automaton, *, is_ordered: bool) -> None:
        self.automaton = automaton
        self.is_ordered = is_ordered

    def open(self) -> None:
        """Compile the conditions."""
        inert = inert_events(self.automaton, is_ordered=self.is_ordered)
        self._conditions = () if inert is None else inert.conditions
        self._attributes = frozenset() if inert is None else inert.attributes
        self._are_of_columns = all(map(_is_of_columns, self._conditions))
        self._tests: list[Callable[[Any], Any]] = [test_of(condition).call for condition in self._conditions]
        self._goes_on = np.array([True] if inert is None else [not each for each in inert.is_inert])

    def refusal(self) -> str | None:
        """Refuse conditions that are functions."""
        inert = inert_events(self.automaton, is_ordered=self.is_ordered)
        asked = () if inert is None else inert.conditions
        of_rows = [each for each in asked if not _is_of_columns(each)]
        return "a condition of the pattern is a Python function" if of_rows else None

    def emits_columns(self) -> bool:
        """Return that events that go on leave as they came."""
        return True

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Filter objects."""
        # An event without a timestamp is refused by the pattern.
        are_timed = timestamps is not None and None not in timestamps
        chosen = self._chosen([self._answers(test, values) for test in self._tests]) if are_timed else None
        if chosen is None or not values:
            self.output.emit(values, timestamps)
            return
        times = cast("list[int]", timestamps)
        if min(times) <= self.watermark:
            chosen = chosen | (np.fromiter(times, np.int64, len(times)) <= self.watermark)
        goes_on = chosen.tolist()
        self.output.emit(list(compress(values, goes_on)), list(compress(times, goes_on)))

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Filter columns."""
        if not self._are_of_columns:
            self.row_records += len(block)
        asked = zip(self._conditions, self._tests, strict=True)
        chosen = self._chosen(
            [
                _mask(each, block) if _is_of_columns(each) else self._answers(test, block.values())
                for each, test in asked
            ]
        )
        if chosen is not None and timestamps is not None:
            chosen = chosen | (timestamps <= self.watermark)
        if chosen is None or timestamps is None or chosen.all():
            self.output.emit(block, timestamps)
        elif chosen.any():
            self.output.emit(block.filter(chosen), timestamps[chosen])

    def _answers(self, test: Callable[[Any], Any], values: list[Any]) -> Mask | None:
        names = self._attributes
        if names and not all([has_plain_attributes(each, names) for each in set(map(type, values))]):
            return None
        try:
            return np.fromiter(map(bool, map(test, values)), np.bool_, len(values))
        except Exception:
            # The pattern may never ask this condition of this event; if it does, it tells what is wrong.
            return None

    def _chosen(self, masks: list[Mask | None]) -> Mask | None:
        """The events that go on; None: all of them."""
        if not masks or any(mask is None for mask in masks):
            return None
        answers = np.zeros(1, np.uint8)
        for place, mask in enumerate(masks):
            assert mask is not None
            answers = answers | (mask.view(np.uint8) << np.uint8(place))
        return self._goes_on[answers]


def _mask(condition: Any, block: ColumnBlock) -> Mask | None:
    """For which records a condition holds; None where it cannot be told."""
    if isinstance(condition, BooleanConditions):
        parts = [_mask(part, block) for part in condition.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return (np.logical_and if condition.operator == "and" else np.logical_or).reduce(known)  # type: ignore[no-any-return]
    found = evaluated(condition, block)
    if found is None or not pa.types.is_boolean(found.type):
        return None
    mask: Mask = (found.fill_null(False) if found.null_count else found).to_numpy(zero_copy_only=False)
    return mask
