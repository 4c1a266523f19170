"""MIN and MAX; with retraction, all values are counted in a view."""

from __future__ import annotations

from typing import Any

from penstock.common.typeinfo import Types
from penstock.vocabulary.sql.aggregates.code import CallCode, Compiling, nested
from penstock.vocabulary.sql.state_types import state_type

__all__ = ["extreme"]


def extreme(compiling: Compiling) -> CallCode:
    """MIN and MAX; NULL does not count."""
    sign = "<" if compiling.function == "MIN" else ">"
    best, value = compiling.slot("best", state_type(compiling.call.type)), compiling.argument
    name = best.name
    take = nested(f"{value} is not None and ({name} is None or {value} {sign} {name})", [f"{name} = {value}"])
    if not compiling.retracts:
        other = f"{name}_ is not None and ({name} is None or {name}_ {sign} {name})"
        return CallCode([best], take, None, name, nested(other, [f"{name} = {name}_"]))
    view = compiling.view("values", best.type, Types.LONG())
    pick = compiling.known("pick", min if sign == "<" else max)
    compiling.scope.update(count_up=count_up, count_down=count_down, remaining=remaining)
    accumulate = nested(
        f"{value} is not None",
        [
            f"count_up({view.name}, {value})",
            f"if {name} is None or {value} {sign} {name}:",
            f"    {name} = {value}",
        ],
    )
    retract = nested(
        f"{value} is not None and count_down({view.name}, {value}) and {value} == {name}",
        [f"{name} = remaining({view.name}, {pick})"],
    )
    merge = nested(f"{name}_ is not None and ({name} is None or {name}_ {sign} {name})", [f"{name} = {name}_"])
    return CallCode([best], accumulate, retract, name, merge, [view])


def count_up(view: Any, value: Any) -> None:
    """One more of a value; a value that was taken back before it came is then gone."""
    count = (view.held(value) or 0) + 1
    view.hold(value, count) if count else view.remove(value)


def count_down(view: Any, value: Any) -> bool:
    """One less of a value; whether none is left."""
    count = (view.held(value) or 0) - 1
    if count:
        view.hold(value, count)
        return count < 0
    view.remove(value)
    return True


def remaining(view: Any, pick: Any) -> Any:
    """The least or greatest value left."""
    return pick((value for value, count in view.held_items() if count > 0), default=None)
