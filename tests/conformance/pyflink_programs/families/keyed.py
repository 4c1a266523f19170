"""Keyed streams: reduce, the built-in aggregates, and what a key may be."""

from __future__ import annotations

from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of

TRIPLES = [("a", 3, 1), ("b", 1, 2), ("a", 1, 3), ("a", 2, 4), ("b", 1, 5), ("a", 1, 6)]


def triples(p: Any) -> Any:
    declared = p.Types.TUPLE([p.Types.STRING(), p.Types.INT(), p.Types.INT()])
    return p.env().from_collection(TRIPLES, declared).key_by(lambda v: v[0], p.Types.STRING())


def rows(p: Any) -> Any:
    declared = p.Types.ROW_NAMED(["word", "count", "at"], [p.Types.STRING(), p.Types.INT(), p.Types.INT()])
    values = [p.Row(word=word, count=count, at=at) for word, count, at in TRIPLES]
    return p.env().from_collection(values, declared).key_by(lambda row: row["word"], p.Types.STRING())


def lists(p: Any) -> Any:
    return p.env().from_collection([list(triple) for triple in TRIPLES]).key_by(lambda v: v[0])


def aggregate(kind: str, field: Any, stream: Any) -> Any:
    return lambda p: getattr(stream(p), kind)(*([] if field is None else [field]))


def count_by(key: Any, values: Any) -> Any:
    """How often each key has come so far: which keys are one and the same."""

    def build(p: Any) -> Any:
        class Count(p.KeyedProcessFunction):
            def open(self, runtime_context: Any) -> None:
                self.count = runtime_context.get_state(p.ValueStateDescriptor("count", p.Types.INT()))

            def process_element(self, value: Any, ctx: Any) -> Any:
                self.count.update((self.count.value() or 0) + 1)
                yield value, self.count.value()

        return p.env().from_collection(values(p)).key_by(key).process(Count())

    return build


def selector_class(p: Any) -> Any:
    class First(p.KeySelector):
        def get_key(self, value: Any) -> Any:
            return value[0]

    return p.env().from_collection(TRIPLES).key_by(First()).reduce(lambda a, b: (a[0], a[1] + b[1]))


def reduce_class(p: Any) -> Any:
    class Add(p.ReduceFunction):
        def reduce(self, first: Any, second: Any) -> Any:
            return (first[0], first[1] + second[1])

    return p.env().from_collection(TRIPLES).key_by(lambda v: v[0]).reduce(Add())


def keyed_map_state(p: Any) -> Any:
    class Numbered(p.MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.state = runtime_context.get_state(p.ValueStateDescriptor("n", p.Types.INT()))

        def map(self, value: Any) -> Any:
            self.state.update((self.state.value() or 0) + 1)
            return value[0], self.state.value()

    return p.env().from_collection(TRIPLES).key_by(lambda v: v[0]).map(Numbered())


def rekeyed(p: Any) -> Any:
    once = p.env().from_collection(TRIPLES).key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    return once.key_by(lambda v: v[1] % 2).reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]))


def current_keys(p: Any) -> Any:
    class Keys(p.KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ctx.get_current_key()

    return p.env().from_collection([("a", 1), ("b", 2)]).key_by(lambda v: v).process(Keys())


def keys_of(p: Any, *values: Any) -> list[Any]:
    return list(values)


PROGRAMS: list[Program] = programs_of(
    {
        **{
            f"{kind}_{shape}_{field}": aggregate(kind, field, stream)
            for kind in ("sum", "min", "max", "min_by", "max_by")
            for shape, field, stream in (("tuple", 1, triples), ("row", "count", rows), ("row", 1, rows))
        },
        "sum_of_first_field": aggregate("sum", None, lambda p: p.env().from_collection([1, 2]).key_by(lambda v: v % 2)),
        "sum_list_1": aggregate("sum", 1, lists),
        "sum_text": lambda p: triples(p).sum(0),
        "reduce": lambda p: triples(p).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])),
        "reduce_untyped": lambda p: lists(p).reduce(lambda a, b: [a[0], a[1] + b[1], b[2]]),
        "reduce_class": reduce_class,
        "selector_class": selector_class,
        "keyed_map_state": keyed_map_state,
        "keyed_filter": lambda p: triples(p).filter(lambda v: v[1] > 1),
        "keyed_flat_map": lambda p: triples(p).flat_map(lambda v: [v[0]] * v[1]),
        "rekeyed": rekeyed,
        "current_keys": current_keys,
        "key_tuple": count_by(lambda v: (v[0], v[1] % 2), lambda p: keys_of(p, ("a", 1), ("a", 3), ("a", 2), ("b", 1))),
        "key_none": count_by(lambda v: v, lambda p: keys_of(p, None, 1, None)),
        "key_bool": count_by(lambda v: v, lambda p: keys_of(p, True, False, True)),
        "key_text": count_by(lambda v: v, lambda p: keys_of(p, "a", "A", "a", "")),
        "key_list": count_by(lambda v: list(v), lambda p: keys_of(p, (1, 2), (1, 2), (2, 1))),
        "key_row": count_by(lambda v: v, lambda p: keys_of(p, p.Row(1, "a"), p.Row(1, "a"), p.Row(2, "a"))),
        "key_bytes": count_by(lambda v: v, lambda p: keys_of(p, b"a", b"b", b"a")),
    }
)
