"""Code of aggregates in the loops of operators, and their views on keyed state or in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.operators.table.operator import KeyedTableOperator
from penstock.runtime.operators.table.small_views import SmallView
from penstock.vocabulary.sql.aggregates.code import Slot, View
from penstock.vocabulary.sql.aggregates.compilation import AggregateCode, compiled_aggregates
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.typed_expressions import AggregateCall

__all__ = [
    "MemoryView",
    "bind_views",
    "folding_lines",
    "indented",
    "memory_views",
    "merging_lines",
    "valuing_lines",
    "with_row_count",
]

_ROW_COUNT = Slot("row_count", Types.LONG(), "0")


def with_row_count(
    calls: Sequence[AggregateCall], input_types: Sequence[LogicalType], *, retracts: bool
) -> AggregateCode:
    """The code of calls and, where rows are taken back, a slot `row_count` that tells when none is left."""
    code = compiled_aggregates(calls, input_types, retracts=retracts)
    if retracts:
        code.slots.append(_ROW_COUNT)
        code.accumulate.append("row_count += 1")
        code.retract.append("row_count -= 1")
        if code.merge is not None:
            code.merge.append("row_count += row_count_")
    return code


def bind_views(operator: KeyedTableOperator, code: AggregateCode, *, starts_small: bool = False) -> list[Any]:
    """Let the code use state of the operator for its views: maps, that are one value each while they are small."""
    made: list[Any] = []
    for view in code.views:
        state: Any = operator.map_state(f"_{view.name}", view.key_type, view.value_type)
        if starts_small and operator.state_ttl_ms == 0 and SmallView.can_be(view):
            state = SmallView(operator, view, state)
        code.scope[view.name] = state
        made.append(state)
    return made


def indented(lines: Sequence[str], depth: int) -> list[str]:
    """Lines, so deep inside of others."""
    return ["    " * depth + line for line in lines]


class MemoryView:
    """A view in memory, for aggregates that are computed at once from rows that are kept."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[Any, Any] = {}

    def held(self, key: Any) -> Any:
        """The value of a key, or None."""
        return self._entries.get(key)

    def hold(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        self._entries[key] = value

    def remove(self, key: Any) -> None:
        """Remove a key; an absent one is fine."""
        self._entries.pop(key, None)

    def held_items(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of key and value."""
        return iter(list(self._entries.items()))

    def clear(self) -> None:
        """Remove all keys."""
        self._entries.clear()


def memory_views(views: Sequence[View], scope: dict[str, Any]) -> list[MemoryView]:
    """Let code use views in memory."""
    made = [MemoryView() for _ in views]
    scope.update({view.name: held for view, held in zip(views, made, strict=True)})
    return made


def folding_lines(code: AggregateCode, retracts: bool) -> list[str]:
    """The text of `fold`: an accumulator (None: a new one) with a row added or taken back, by its kind."""
    folded = code.accumulate
    if retracts:
        folded = ["if row[0] & 1:", *indented(code.retract, 1), "else:", *indented(code.accumulate, 1)]
    return [
        "def fold(accumulator, row):",
        f"    {code.names} = {code.initial} if accumulator is None else accumulator",
        *indented(folded, 1),
        f"    return {code.names}",
    ]


def merging_lines(code: AggregateCode) -> list[str]:
    """The text of `merge`: one accumulator of several."""
    return [
        "def merge(accumulators):",
        f"    {code.names} = accumulators[0]",
        "    for other in accumulators[1:]:",
        f"        {code.others} = other",
        *indented(code.merge or [], 2),
        f"    return {code.names}",
    ]


def valuing_lines(code: AggregateCode) -> list[str]:
    """The text of `values`: the results of an accumulator."""
    return ["def values(accumulator):", f"    {code.names} = accumulator", f"    return ({code.results})"]
