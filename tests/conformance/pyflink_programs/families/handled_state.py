"""Keyed state as programs handle it: brackets, loops, rows, tuples and None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def with_state(
    describe: Callable[[Any], tuple[str, Any]], use: Callable[[Any, Any, Any], Any], values: list[Any]
) -> Callable[[Any], Any]:
    """A keyed function with one state; `use(p, state, value)` is what it emits."""

    def build(p: Any) -> Any:
        class Uses(p.KeyedProcessFunction):
            def open(self, runtime_context: Any) -> None:
                getter, descriptor = describe(p)
                self.state = getattr(runtime_context, getter)(descriptor)

            def process_element(self, value: Any, ctx: Any) -> Any:
                yield use(p, self.state, value)

        return p.env().from_collection([("k", value) for value in values]).key_by(lambda v: v[0]).process(Uses())

    return build


def long_map(p: Any) -> Any:
    return "get_map_state", p.MapStateDescriptor("s", p.Types.STRING(), p.Types.LONG())


def brackets(p: Any, state: Any, value: Any) -> Any:
    state["x"] = value[1]
    state[f"n{value[1]}"] = 0
    found = ("x" in state, "none" in state, state["x"], sorted(state))
    del state["x"]
    return found, "x" in state, sorted(state.items())


def removed_in_a_loop(p: Any, state: Any, value: Any) -> Any:
    for number in range(3):
        state.put(f"{value[1]}-{number}", number)
    for key in list(state.keys()):
        if key.endswith("1"):
            state.remove(key)
    return sorted(state.items())


def none_in_map(p: Any, state: Any, value: Any) -> Any:
    state.put("x", None)
    return state.contains("x"), state.get("x"), list(state.items())


def looped_list(p: Any, state: Any, value: Any) -> Any:
    state.add(value[1])
    return [number + 1 for number in state], list(state.get())


def rows_in_list(p: Any, state: Any, value: Any) -> Any:
    state.add(p.Row(f"t{value[1]}", value[1]))
    return [row["n"] for row in state.get()]


def tuple_keys(p: Any, state: Any, value: Any) -> Any:
    state.put(("a", value[1] % 2), value[1])
    return sorted(state.items())


def list_of(type_of: Callable[[Any], Any]) -> Callable[[Any], tuple[str, Any]]:
    return lambda p: ("get_list_state", p.ListStateDescriptor("s", type_of(p.Types)))


THREE = [1, 2, 3]
ROWS = list_of(lambda t: t.ROW_NAMED(["s", "n"], [t.STRING(), t.INT()]))
LONGS = list_of(lambda t: t.LONG())

PROGRAMS: list[Program] = programs_of(
    {
        "map_brackets": with_state(long_map, brackets, THREE),
        "map_removed_in_a_loop": with_state(long_map, removed_in_a_loop, THREE),
        "map_none": with_state(long_map, none_in_map, THREE),
        "map_tuple_keys": with_state(
            lambda p: (
                "get_map_state",
                p.MapStateDescriptor("s", p.Types.TUPLE([p.Types.STRING(), p.Types.INT()]), p.Types.LONG()),
            ),
            tuple_keys,
            THREE,
        ),
        "list_looped": with_state(LONGS, looped_list, THREE),
        "list_of_rows": with_state(ROWS, rows_in_list, THREE),
        "list_add_none": with_state(LONGS, lambda p, state, value: state.add(None), THREE),
    }
)
