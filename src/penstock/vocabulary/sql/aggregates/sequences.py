"""Aggregates that keep values in the order they came: FIRST_VALUE, LAST_VALUE, LISTAGG, ARRAY_AGG, COLLECT, LAG."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import Types
from penstock.errors import PenstockError
from penstock.vocabulary.sql.aggregates.code import CallCode, Compiling, nested
from penstock.vocabulary.sql.aggregates.extremes import count_down, count_up
from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.scalar.calendar_values import zone_named
from penstock.vocabulary.sql.scalar.casts import cast_function
from penstock.vocabulary.sql.scalar.kinds import CHARACTERS
from penstock.vocabulary.sql.state_types import state_type

__all__ = ["array_agg", "collect", "edge_value", "json_arrayagg", "json_objectagg", "lag", "listagg", "single_value"]


def edge_value(compiling: Compiling) -> CallCode:
    """FIRST_VALUE and LAST_VALUE: the first or last value that is not NULL."""
    is_first = compiling.function == "FIRST_VALUE"
    if compiling.retracts:
        return _ordered(compiling, compiling.known("edge", _first_value if is_first else _last_value))
    held = compiling.slot("value", state_type(compiling.argument_type))
    name, value = held.name, compiling.argument
    condition = f"{value} is not None and {name} is None" if is_first else f"{value} is not None"
    other = f"{name} is None" if is_first else f"{name}_ is not None"
    return CallCode([held], nested(condition, [f"{name} = {value}"]), None, name, nested(other, [f"{name} = {name}_"]))


def listagg(compiling: Compiling) -> CallCode:
    """LISTAGG: texts with a separator between them, a comma unless there is a second argument."""
    separator = compiling.arguments[1] if len(compiling.arguments) > 1 else "','"
    if compiling.retracts:
        code = _ordered(compiling, "")
        joined = compiling.known("joined", _joined)
        if len(compiling.arguments) > 1:
            last = compiling.slot("separator", Types.STRING(), "','")
            code.slots.append(last)
            code.accumulate = [f"{last.name} = {separator}", *code.accumulate]
            separator = last.name
        code.value = f"{joined}({code.views[1].name}, {separator})"
        return code
    text, value = compiling.slot("text", Types.STRING()), compiling.argument
    name = text.name
    add = f"{name} = {value} if {name} is None else {name} + {separator} + {value}"
    known = nested(f"{value} is not None", [add])
    # Which separator the other one has used is not known any more; Flink has the same limit.
    merge = nested(f"{name}_ is not None", [f"{name} = {name}_ if {name} is None else {name} + ',' + {name}_"])
    return CallCode([text], known, None, name, merge if separator == "','" else None)


def array_agg(compiling: Compiling) -> CallCode:
    """ARRAY_AGG: all values in a tuple, NULL among them unless the options say IGNORE NULLS; NULL if there are none."""
    ignores_null = "IGNORE NULLS" in compiling.call.options
    if compiling.retracts:
        return _ordered(compiling, compiling.known("all_values", _all_values), keeps_null=not ignores_null)
    values = compiling.slot("values", FrozenListTypeInfo(state_type(compiling.argument_type)))
    name, value = values.name, compiling.argument
    add = [f"{name} = ({value},) if {name} is None else (*{name}, {value})"]
    merge = nested(f"{name}_ is not None", [f"{name} = {name}_ if {name} is None else {name} + {name}_"])
    return CallCode([values], nested(f"{value} is not None", add) if ignores_null else add, None, name, merge)


def collect(compiling: Compiling) -> CallCode:
    """COLLECT: how often each value came."""
    view = compiling.view("values", state_type(compiling.argument_type), Types.LONG())
    compiling.scope.update(count_up=count_up, count_down=count_down)
    counts, value = compiling.known("counts", _counts), compiling.argument
    return CallCode(
        [],
        nested(f"{value} is not None", [f"count_up({view.name}, {value})"]),
        nested(f"{value} is not None", [f"count_down({view.name}, {value})"]),
        f"{counts}({view.name})",
        [],
        [view],
    )


def lag(compiling: Compiling) -> CallCode:
    """LAG(value, offset, default): the value so many rows before; only in OVER."""
    window = compiling.slot("window", FrozenListTypeInfo(state_type(compiling.argument_type)), "()")
    offset = compiling.arguments[1] if len(compiling.arguments) > 1 else "1"
    default = _default_of(compiling) if len(compiling.arguments) > 2 else "None"
    back = compiling.slot("back", Types.LONG(), "1")
    instead = compiling.slot("instead", state_type(compiling.argument_type))
    name = window.name
    return CallCode(
        [window, back, instead],
        [
            f"{back.name} = {offset}",
            f"{instead.name} = {default}",
            f"{name} = (*{name}, {compiling.argument})[-1 - {back.name}:]",
        ],
        None,
        f"({name}[0] if len({name}) > {back.name} else {instead.name})",
    )


def _default_of(compiling: Compiling) -> str:
    """The default of LAG as a value of the type of the others."""
    target, source = compiling.argument_type, compiling.call.argument_types[2]
    given = compiling.arguments[2]
    is_text = source.kind in CHARACTERS and target.kind in CHARACTERS
    cast = None if is_text or source.kind is Kind.NULL else cast_function(source, target, zone_named("UTC"))
    if cast is None:
        return given
    return f"(None if {given} is None else {compiling.known('as_value', cast)}({given}))"


def single_value(compiling: Compiling) -> CallCode:
    """SINGLE_VALUE: the one value of a scalar subquery, which must not have more."""
    held, counted = (
        compiling.slot("value", state_type(compiling.argument_type)),
        compiling.slot("seen", Types.LONG(), "0"),
    )
    refuse = compiling.known("refuse", _refuse_second)
    name, n = held.name, counted.name
    return CallCode(
        [held, counted],
        [f"if {n} > 0:", f"    {refuse}()", f"{name} = {compiling.argument}", f"{n} += 1"],
        [f"{name} = None", f"{n} -= 1"],
        name,
        [f"if {n} and {n}_:", f"    {refuse}()", f"if {n}_:", f"    {name} = {name}_", f"{n} += {n}_"],
    )


def json_objectagg(compiling: Compiling) -> CallCode:
    """JSON_OBJECTAGG of texts as keys and values that are JSON texts already, by JSON_STRING."""
    view = compiling.view("members", Types.STRING(), Types.STRING())
    skips_null = "ABSENT ON NULL" in compiling.call.options
    name = compiling.known("json_object", _json_object)
    key, value = compiling.arguments
    remember = compiling.known("member", _member)
    code = [f"{remember}({view.name}, {key}, {value})"]
    add = nested(f"{value} is not None", code) if skips_null else code
    return CallCode([], add, [f"{view.name}.remove({key})"], f"{name}({view.name})", [], [view])


def json_arrayagg(compiling: Compiling) -> CallCode:
    """JSON_ARRAYAGG of values that are JSON texts already; NULL is left out unless the options keep it."""
    keeps_null = "NULL ON NULL" in compiling.call.options
    return _ordered(compiling, compiling.known("json_array", _json_array), keeps_null=keeps_null)


def _ordered(compiling: Compiling, value_of: str, *, keeps_null: bool = False) -> CallCode:
    """Values by the number of their arrival, and numbers by value, so that the earliest of equal ones is taken back."""
    number = compiling.slot("next", Types.LONG(), "0")
    element, value = state_type(compiling.argument_type), compiling.argument
    orders = compiling.view("orders", element, FrozenListTypeInfo(Types.LONG()))
    values = compiling.view("arrived", Types.LONG(), element)
    add, take = compiling.known("put_in_order", _put_in_order), compiling.known("take_earliest", _take_earliest)
    put = [f"{add}({orders.name}, {values.name}, {number.name}, {value})", f"{number.name} += 1"]
    back = [f"{take}({orders.name}, {values.name}, {value})"]
    condition = f"{value} is not None"
    return CallCode(
        [number],
        put if keeps_null else nested(condition, put),
        back if keeps_null else nested(condition, back),
        f"{value_of}({values.name})",
        None,
        [orders, values],
    )


def _put_in_order(orders: Any, values: Any, number: int, value: Any) -> None:
    orders.hold(value, (*(orders.held(value) or ()), number))
    values.hold(number, value)


def _take_earliest(orders: Any, values: Any, value: Any) -> None:
    numbers = orders.held(value)
    if numbers:
        orders.hold(value, numbers[1:]) if len(numbers) > 1 else orders.remove(value)
        values.remove(numbers[0])


def _first_value(values: Any) -> Any:
    return next((value for _, value in islice(values.held_items(), 1)), None)


def _last_value(values: Any) -> Any:
    found = None
    for _, found in values.held_items():  # noqa: B007 - the last one is wanted
        pass
    return found


def _all_values(values: Any) -> tuple[Any, ...] | None:
    return tuple([value for _, value in values.held_items()]) or None


def _joined(values: Any, separator: str) -> str | None:
    found = [value for _, value in values.held_items()]
    return separator.join(found) if found else None


def _counts(values: Any) -> dict[Any, int]:
    return {value: count for value, count in values.held_items() if count > 0}


def _member(members: Any, key: str, value: str | None) -> None:
    if key is None:
        raise PenstockError("JSON_OBJECTAGG was given NULL as a key: leave such rows out with FILTER or WHERE.")
    members.hold(key, "null" if value is None else value)


def _json_object(members: Any) -> str:
    return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{value}" for key, value in members.held_items()) + "}"


def _json_array(values: Any) -> str:
    return "[" + ",".join("null" if value is None else value for _, value in values.held_items()) + "]"


def _refuse_second() -> None:
    raise PenstockError("A scalar subquery gave more than one row: make it give one, with LIMIT 1 or an aggregate.")
