"""Keyed state of each kind: a script of calls for one key, and what each of them gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def descriptors(p: Any) -> dict[str, Any]:
    class Text(p.AggregateFunction):
        def create_accumulator(self) -> Any:
            return 0

        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator + value

        def get_result(self, accumulator: Any) -> Any:
            return f"<{accumulator}>"

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a + acc_b

    long = p.Types.LONG()
    return {
        "value": ("get_state", p.ValueStateDescriptor("s", long)),
        "value_untyped": ("get_state", p.ValueStateDescriptor("s", p.Types.PICKLED_BYTE_ARRAY())),
        "list": ("get_list_state", p.ListStateDescriptor("s", long)),
        "map": ("get_map_state", p.MapStateDescriptor("s", p.Types.STRING(), long)),
        "reducing": ("get_reducing_state", p.ReducingStateDescriptor("s", lambda a, b: a + b, long)),
        "aggregating": ("get_aggregating_state", p.AggregatingStateDescriptor("s", Text(), long)),
    }


def scripted(kind: str, steps: list[tuple[Any, ...]]) -> Callable[[Any], Any]:
    """Each step is the name of a method and its arguments; the result is what they gave, in order."""

    def build(p: Any) -> Any:
        class Script(p.KeyedProcessFunction):
            def open(self, runtime_context: Any) -> None:
                getter, descriptor = descriptors(p)[kind]
                self.state = getattr(runtime_context, getter)(descriptor)

            def process_element(self, value: Any, ctx: Any) -> Any:
                name, *arguments = value[1]
                given = getattr(self.state, name)(*arguments)
                if name in ("items", "keys", "values") or (name == "get" and kind == "list" and given is not None):
                    given = list(given)
                    given = sorted(given) if kind == "map" else given
                yield name, given

        values = [("k", step) for step in steps]
        return p.env().from_collection(values).key_by(lambda v: v[0]).process(Script())

    return build


def apart(p: Any) -> Any:
    """State is that of the key."""

    class Add(p.KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_list_state(p.ListStateDescriptor("seen", p.Types.INT()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.seen.add(value[1])
            yield value[0], list(self.seen)

    values = [("a", 1), ("b", 2), ("a", 3), ("b", 4)]
    return p.env().from_collection(values).key_by(lambda v: v[0]).process(Add())


def changed_in_place(kind: str) -> Callable[[Any], Any]:
    """A value that is changed after it was read, kept or sent on."""

    def build(p: Any) -> Any:
        class Change(p.KeyedProcessFunction):
            def open(self, runtime_context: Any) -> None:
                self.state = runtime_context.get_state(p.ValueStateDescriptor("s", p.Types.PICKLED_BYTE_ARRAY()))

            def process_element(self, value: Any, ctx: Any) -> Any:
                counts = self.state.value() or {"n": 0}
                counts["n"] += value[1]
                if kind == "updated":
                    self.state.update(counts)
                elif kind == "before":
                    self.state.update(counts)
                    counts["n"] += 100
                elif self.state.value() is None:
                    self.state.update(counts)
                yield counts

        values = [("a", 1), ("a", 2), ("a", 3)]
        return p.env().from_collection(values).key_by(lambda v: v[0]).process(Change())

    return build


def yielded_thrice(p: Any) -> Any:
    def change(value: Any) -> Any:
        for _ in range(3):
            value["n"] += 1
            yield value

    return p.env().from_collection([{"n": 0}]).flat_map(change)


def two_consumers(p: Any) -> Any:
    def bump(value: Any) -> Any:
        value["n"] += 1
        return value

    stream = p.env().from_collection([{"n": 0}]).map(lambda value: value)
    return stream.map(bump).union(stream.map(lambda value: ("other", value["n"])))


PROGRAMS: list[Program] = [
    *programs_of(
        {
            "value_script": scripted("value", [("value",), ("update", 3), ("value",), ("clear",), ("value",)]),
            "value_update_none": scripted("value", [("update", 3), ("update", None), ("value",)]),
            "value_untyped_script": scripted("value_untyped", [("update", [1, "a"]), ("value",)]),
            "list_script": scripted(
                "list",
                [("get",), ("add", 1), ("add_all", [2, 3]), ("get",), ("update", [9]), ("get",), ("clear",), ("get",)],
            ),
            "list_update_empty": scripted("list", [("add", 1), ("update", []), ("get",)]),
            "map_script": scripted(
                "map",
                [
                    *(("is_empty",), ("put", "x", 1), ("put", "y", 2), ("put", "z", 3), ("get", "x"), ("get", "none")),
                    *(("contains", "y"), ("remove", "y"), ("contains", "y"), ("keys",), ("values",), ("items",)),
                    *(("is_empty",), ("clear",), ("is_empty",), ("items",)),
                ],
            ),
            "map_put_all": scripted("map", [("put_all", {"one": 1, "two": 2}), ("items",)]),
            "map_overwrite": scripted("map", [("put", "x", 1), ("put", "x", 2), ("items",)]),
            "map_remove_absent": scripted("map", [("remove", "x"), ("is_empty",)]),
            "reducing_script": scripted("reducing", [("get",), ("add", 1), ("add", 5), ("get",), ("clear",), ("get",)]),
            "aggregating_script": scripted(
                "aggregating", [("get",), ("add", 1), ("add", 5), ("get",), ("clear",), ("get",), ("add", 2), ("get",)]
            ),
            "apart": apart,
            "changed_and_updated": changed_in_place("updated"),
            "changed_before_update": changed_in_place("before"),
            "changed_without_update": changed_in_place("not"),
            "yielded_thrice": yielded_thrice,
        }
    ),
    *programs_of({"two_consumers": two_consumers}, is_ordered=False),
]
