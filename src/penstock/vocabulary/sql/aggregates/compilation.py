"""Aggregate calls of an operator as one piece of code over one accumulator.

An operator puts the lines into a loop of its own. In them `row` is a row with its kind in front; the slots are
local variables, `names` in the order of the accumulator; views are variables too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.common.typeinfo import TypeInformation, Types
from penstock.vocabulary.sql.aggregates import sequences, sums
from penstock.vocabulary.sql.aggregates.code import CallCode, Compiler, Compiling, Slot, View, nested
from penstock.vocabulary.sql.aggregates.extremes import extreme
from penstock.vocabulary.sql.aggregates.result_types import AggregateError
from penstock.vocabulary.sql.aggregates.user import user_aggregate
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.state_types import state_type
from penstock.vocabulary.sql.typed_expressions import AggregateCall
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

__all__ = ["AggregateCode", "compiled_aggregates"]

_COMPILERS: dict[str, Compiler] = {
    "COUNT": sums.count,
    "ROW_NUMBER": sums.count,
    "SUM": sums.sum_,
    "SUM0": sums.sum_from_zero,
    "$SUM0": sums.sum_from_zero,
    "AVG": sums.average,
    "MIN": extreme,
    "MAX": extreme,
    "FIRST_VALUE": sequences.edge_value,
    "LAST_VALUE": sequences.edge_value,
    "SINGLE_VALUE": sequences.single_value,
    "LISTAGG": sequences.listagg,
    "COLLECT": sequences.collect,
    "ARRAY_AGG": sequences.array_agg,
    **dict.fromkeys(("STDDEV_POP", "STDDEV_SAMP", "STDDEV", "VAR_POP", "VAR_SAMP", "VARIANCE"), sums.deviation),
    "JSON_OBJECTAGG": sequences.json_objectagg,
    "JSON_ARRAYAGG": sequences.json_arrayagg,
    "LAG": sequences.lag,
    USER_FUNCTION: user_aggregate,
}


@dataclass
class AggregateCode:
    """Lines that accumulate, retract and merge all calls of an operator, and what they work on."""

    slots: list[Slot] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    accumulate: list[str] = field(default_factory=list)
    retract: list[str] = field(default_factory=list)
    merge: list[str] | None = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> str:
        """The slots as the text of a tuple; also what to unpack an accumulator into."""
        return _tuple_text([slot.name for slot in self.slots])

    @property
    def others(self) -> str:
        """The slots of an accumulator that is merged."""
        return _tuple_text([slot.name + "_" for slot in self.slots])

    @property
    def initial(self) -> str:
        """The text of a new accumulator."""
        return _tuple_text([slot.initial for slot in self.slots])

    @property
    def results(self) -> str:
        """The values of all calls, with a comma after each."""
        return "".join(f"{value}, " for value in self.values)

    def state_type(self) -> TypeInformation:
        """The type of the accumulator as state."""
        return Types.TUPLE([slot.type for slot in self.slots])


def compiled_aggregates(
    calls: Sequence[AggregateCall], input_types: Sequence[LogicalType], *, retracts: bool, in_over: bool = False
) -> AggregateCode:
    """Compile aggregate calls; with `retracts`, rows may be taken back too. `in_over`: of OVER, not of groups."""
    made = AggregateCode()
    groups: dict[Any, list[tuple[AggregateCall, CallCode]]] = {}
    for number, call in enumerate(calls):
        types = call.argument_types or tuple([input_types[at] for at in call.arguments])
        call = replace(call, argument_types=types)
        code = _compiled(call, number, retracts, made.scope, in_over)
        made.slots += code.slots
        made.views += code.views
        made.values.append(code.value)
        _add_merge(made, call, code)
        is_distinct = call.is_distinct and bool(call.arguments)
        # Where nothing is taken back, one view tells for each filter whether a value has been seen.
        is_shared = is_distinct and not retracts
        place = (call.arguments, None if is_shared else call.filter) if is_distinct else (number,)
        chosen = None if is_shared else call.filter
        groups.setdefault((is_distinct, chosen, place), []).append((call, code))
    used = sorted({at for call in calls for at in (*call.arguments, *(() if call.filter is None else (call.filter,)))})
    loads = [f"x{at} = row[{at + 1}]" for at in used]
    made.accumulate += loads
    made.retract += loads
    for number, ((is_distinct, chosen, _), members) in enumerate(groups.items()):
        _add_group(made, members, chosen, is_distinct=is_distinct, number=number, retracts=retracts)
    return made


def _compiled(call: AggregateCall, number: int, retracts: bool, scope: dict[str, Any], in_over: bool) -> CallCode:
    compiler = _COMPILERS.get(call.function)
    if compiler is None:
        raise AggregateError(f"The aggregate function {call.function} is not supported here.")
    code = compiler(Compiling(call, number, retracts, scope, tuple([f"x{at}" for at in call.arguments]), in_over))
    if retracts and code.retract is None:
        name = call.options[0] if call.function == USER_FUNCTION else call.function
        raise AggregateError(
            f"{name} cannot take rows back, but its input updates or leaves its window"
            f"{': give it a method retract(accumulator, ...)' if call.function == USER_FUNCTION else ''}."
        )
    return code


def _add_merge(made: AggregateCode, call: AggregateCall, code: CallCode) -> None:
    # What two accumulators have counted of one value cannot be told apart once it is in views of both.
    if made.merge is None or code.merge is None or call.is_distinct or code.views:
        made.merge = None
    else:
        made.merge += code.merge


def _add_group(
    made: AggregateCode,
    members: list[tuple[AggregateCall, CallCode]],
    chosen: int | None,
    *,
    is_distinct: bool,
    number: int,
    retracts: bool,
) -> None:
    """Add the code of calls that look at the same values: those of a DISTINCT share what tells the values apart."""
    accumulate = [line for _, code in members for line in code.accumulate]
    retract = [line for _, code in members for line in code.retract or ()]
    if is_distinct:
        call = members[0][0]
        view = View(f"distinct{number}", _key_type(call), Types.LONG())
        made.views.append(view)
        if retracts:
            accumulate, retract = _distinct_lines(view, call, accumulate, retract)
        else:
            accumulate, retract = _seen_lines(view, members), []
    if chosen is not None:
        accumulate, retract = nested(f"x{chosen}", accumulate), nested(f"x{chosen}", retract)
    made.accumulate += accumulate
    made.retract += retract


def _key_type(call: AggregateCall) -> TypeInformation:
    types = [state_type(each) for each in call.argument_types]
    return types[0] if len(types) == 1 else Types.TUPLE(types)


def seen_views(calls: Sequence[AggregateCall]) -> dict[tuple[int, ...], tuple[str, list[int | None]]]:
    """The views of DISTINCT calls where nothing is taken back: by arguments, the name and the filter of each bit."""
    groups: dict[Any, list[AggregateCall]] = {}
    for number, call in enumerate(calls):
        is_distinct = call.is_distinct and bool(call.arguments)
        place = (True, call.arguments) if is_distinct else (False, number)
        groups.setdefault(place, []).append(call)
    return {
        arguments: (f"distinct{number}", _filters_of(members))
        for number, ((is_distinct, arguments), members) in enumerate(groups.items())
        if is_distinct
    }


def _filters_of(calls: Sequence[AggregateCall]) -> list[int | None]:
    return list(dict.fromkeys(call.filter for call in calls))


def _value_text(call: AggregateCall) -> str:
    arguments = [f"x{at}" for at in call.arguments]
    return arguments[0] if len(arguments) == 1 else f"({', '.join(arguments)})"


def _seen_lines(view: View, members: list[tuple[AggregateCall, CallCode]]) -> list[str]:
    """The view has a bit for each filter of the calls: whether a row with the value has passed it."""
    value = _value_text(members[0][0])
    filters = _filters_of([call for call, _ in members])
    lines = [f"seen = bits = {view.name}.held({value}) or 0"]
    for place, chosen in enumerate(filters):
        accumulate = [line for call, code in members if call.filter == chosen for line in code.accumulate]
        test = f"not seen & {1 << place}" + ("" if chosen is None else f" and x{chosen}")
        lines += nested(test, [f"bits |= {1 << place}", *accumulate])
    return [*lines, *nested("bits != seen", [f"{view.name}.hold({value}, bits)"])]


def _distinct_lines(
    view: View, call: AggregateCall, accumulate: list[str], retract: list[str]
) -> tuple[list[str], list[str]]:
    value = _value_text(call)
    seen = f"{view.name}.held({value})"
    up = [
        f"seen = {seen}",
        f"{view.name}.hold({value}, 1 if seen is None else seen + 1)",
        *nested("seen is None", accumulate),
    ]
    down = [
        f"seen = {seen}",
        "if seen == 1:",
        f"    {view.name}.remove({value})",
        *("    " + line for line in retract),
        "elif seen is not None:",
        f"    {view.name}.hold({value}, seen - 1)",
    ]
    return up, down


def _tuple_text(parts: list[str]) -> str:
    return "(" + "".join(f"{part}, " for part in parts) + ")"
