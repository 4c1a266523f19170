"""Conditions that are expressions, against the declared type of the events."""

from __future__ import annotations

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.expression_types import check_fields
from penstock.runtime.operators.cep.automaton import Automaton
from penstock.runtime.operators.cep.conditions import parts_of
from penstock.vocabulary.expressions import Expression


def check_expressions(automaton: Automaton, input_type: TypeInformation | None) -> None:
    """Refuse fields that the events do not have, where their type tells."""
    for condition in automaton.conditions:
        for part in parts_of(condition):
            if isinstance(part, Expression):
                check_fields("where", part, input_type)
