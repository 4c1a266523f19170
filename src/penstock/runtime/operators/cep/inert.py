"""Events that no partial match minds, told by conditions on columns alone, and the operator that leaves them out.

An event is inert if, whatever state a partial match is in, it is passed over and the match stays as it is, and if it
begins none. Where only how far time has come matters, and not the moments, such events need not reach the pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.expression_columns import evaluated
from penstock.runtime.operators.cep.automaton import Automaton
from penstock.runtime.operators.cep.conditions import BooleanConditions, parts_of, test_of
from penstock.runtime.operators.cep.decisions import Decisions, held_states, minds_time_of_events
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.expressions import Expression

MOST_CONDITIONS = 8
"""With more, only the first ones are asked: the number of answers doubles with each."""


@dataclass(frozen=True)
class InertEvents:
    """Conditions, and which answers to them make an event inert: by number, the first answer in the lowest bit."""

    conditions: tuple[Any, ...]
    is_inert: tuple[bool, ...]


def inert_events(automaton: Automaton, *, is_ordered: bool) -> InertEvents | None:
    """Which events of a pattern are inert, as far as conditions on columns tell; None if that is none of them."""
    numbers = [place for place, each in enumerate(automaton.conditions) if _is_of_columns(each)][:MOST_CONDITIONS]
    found = inert_answers(automaton, numbers, is_ordered=is_ordered)
    return InertEvents(tuple([automaton.conditions[number] for number in numbers]), found) if any(found) else None


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
    """Leaves inert events out, before the exchange. Where a condition cannot be told, all events go on."""

    kind = "pattern filter"

    def __init__(self, inert: InertEvents) -> None:
        self.inert = inert

    def open(self) -> None:
        """Compile the conditions."""
        self._tests: list[Callable[[Any], Any]] = [test_of(condition).call for condition in self.inert.conditions]
        self._goes_on = ~np.array(self.inert.is_inert)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Filter objects."""
        try:
            masks = [np.fromiter(map(bool, map(test, values)), np.bool_, len(values)) for test in self._tests]
        except Exception:
            # The pattern may never ask this condition of this event; if it does, it tells what is wrong.
            self.output.emit(values, timestamps)
            return
        chosen = self._chosen(masks).tolist()
        kept = list(compress(values, chosen))
        self.output.emit(kept, None if timestamps is None else list(compress(timestamps, chosen)))

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Filter columns."""
        masks = [_mask(condition, block) for condition in self.inert.conditions]
        known = [mask for mask in masks if mask is not None]
        if len(known) < len(masks):
            self.output.emit(block, timestamps)
            return
        chosen = self._chosen(known)
        if chosen.all():
            self.output.emit(block, timestamps)
        elif chosen.any():
            self.output.emit(block.filter(chosen), None if timestamps is None else timestamps[chosen])

    def _chosen(self, masks: list[npt.NDArray[np.bool_]]) -> npt.NDArray[np.bool_]:
        answers = np.zeros(len(masks[0]), np.uint8)
        for place, mask in enumerate(masks):
            answers |= mask.view(np.uint8) << np.uint8(place)
        return self._goes_on[answers]


def _mask(condition: Any, block: ColumnBlock) -> npt.NDArray[np.bool_] | None:
    """For which records a condition holds; None where only the objects can tell."""
    if isinstance(condition, BooleanConditions):
        parts = [_mask(part, block) for part in condition.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return (np.logical_and if condition.operator == "and" else np.logical_or).reduce(known)  # type: ignore[no-any-return]
    found = evaluated(condition, block)
    if found is None or not pa.types.is_boolean(found.type):
        return None
    mask: npt.NDArray[np.bool_] = (found.fill_null(False) if found.null_count else found).to_numpy(zero_copy_only=False)
    return mask
