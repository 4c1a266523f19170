"""What operators of tables share: rows in and out, typed state with a time to live, code made of expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from penstock.common.time import Time
from penstock.common.typeinfo import TypeInformation
from penstock.runtime.context import OperatorContext
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.timed import TimedOperator
from penstock.runtime.output import Output
from penstock.state.keyed import KeyedStateBackend
from penstock.state.list_state import KeyedListState
from penstock.state.map_state import KeyedMapState
from penstock.state.timers import InternalTimers
from penstock.state.value_states import KeyedValueState
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.typed_expressions import AggregateCall
from penstock.vocabulary.sql.user_functions import USER_FUNCTION, FunctionContext, UserFunction, user_functions_in
from penstock.vocabulary.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

__all__ = ["ROW_FORM", "KeyedTableOperator", "Row", "TableOperator", "defined", "described_calls", "type_texts"]

Row = tuple[Any, ...]
"""A row: its kind, then its fields."""

ROW_FORM = "tuple"
"""The form of rows that travel as columns: kinds first, then the fields, with Arrow's types of internal values."""


class UserFunctionHolder(StreamOperator):
    """An operator with user functions somewhere in its data: they are opened and closed with it."""

    user_functions: Sequence[UserFunction] = ()

    def setup(self, context: OperatorContext, output: Output) -> None:
        """Set up the operator, then open its user functions."""
        self.user_functions = user_functions_in(tuple(vars(self).values()))
        super().setup(context, output)
        for each in self.user_functions:
            self.guarded(partial(each.function.open, self.function_context()), f"in open() of {each.name}")

    def function_context(self) -> FunctionContext:
        """What user functions see in `open()`."""
        runtime = self.runtime_context()
        return FunctionContext(
            self.context.metrics,
            self.context.job_parameters,
            runtime.get_task_name(),
            runtime.get_task_name_with_subtasks(),
            self.context.parallelism,
            self.context.max_parallelism,
            self.context.subtask,
            self.context.attempt,
        )

    def close(self) -> None:
        """Close the user functions."""
        for each in self.user_functions:
            self.close_function(each.function)
        super().close()


class TableOperator(UserFunctionHolder):
    """An operator on rows `(kind, *fields)`.

    Operators of tables are made of plain data: numbers of fields, counted from 0 with the kind apart, typed
    expressions, types. Results have no timestamps: the time of a row is in its rowtime column.
    """


class KeyedTableOperator(UserFunctionHolder, TimedOperator):
    """An operator on rows with keyed state. Where its input is keyed by nothing, all rows have one key."""

    state_ttl_ms: int = 0
    """How long an idle entry of the state is kept; 0: for ever."""

    @property
    def backend(self) -> KeyedStateBackend:
        """The keyed state."""
        assert self.context.backend is not None
        return self.context.backend

    @property
    def timers(self) -> InternalTimers:
        """The timers."""
        assert self.context.timers is not None
        return self.context.timers

    def value_state(self, name: str, type_info: TypeInformation, ttl_ms: int | None = None) -> KeyedValueState:
        """State of one value for each key."""
        return self.backend.get_value_state(self._expiring(ValueStateDescriptor(name, type_info), ttl_ms))

    def map_state(
        self, name: str, key_type: TypeInformation, value_type: TypeInformation, ttl_ms: int | None = None
    ) -> KeyedMapState:
        """State of a map for each key."""
        return self.backend.get_map_state(self._expiring(MapStateDescriptor(name, key_type, value_type), ttl_ms))

    def list_state(self, name: str, element_type: TypeInformation, ttl_ms: int | None = None) -> KeyedListState:
        """State of a list for each key."""
        return self.backend.get_list_state(self._expiring(ListStateDescriptor(name, element_type), ttl_ms))

    def _expiring(self, descriptor: StateDescriptor[Any], ttl_ms: int | None) -> StateDescriptor[Any]:
        ttl = self.state_ttl_ms if ttl_ms is None else ttl_ms
        if ttl > 0:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(ttl)).build())
        return descriptor


def defined(lines: Iterable[str], name: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function of a source text. Nothing in it comes from outside: fields have numbers there, not their names."""
    exec("\n".join(lines), scope)
    made: Callable[..., Any] = scope[name]
    return made


def described_calls(calls: Iterable[AggregateCall]) -> list[str]:
    """Aggregate calls as texts for a layout: what decides about the accumulator."""
    return [
        f"{_name(call)}({'DISTINCT ' if call.is_distinct else ''}{', '.join(map(str, call.argument_types))}) "
        f"{'' if call.filter is None else 'FILTER '}{call.type}"
        for call in calls
    ]


def _name(call: AggregateCall) -> str:
    return str(call.options[0]) if call.function == USER_FUNCTION else call.function


def type_texts(types: Iterable[LogicalType]) -> list[str]:
    """Types as texts for a layout."""
    return [str(each.as_plain_time().with_nullable(True)) for each in types]
