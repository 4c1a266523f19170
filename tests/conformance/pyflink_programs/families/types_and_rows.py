"""Declared types: what becomes of values on their way through an exchange and to the program."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def declared(value: Any, type_of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Values from a collection, mapped with a declared type behind an exchange."""

    def build(p: Any) -> Any:
        given = value(p) if callable(value) else value
        kind = type_of(p.Types)
        return p.env().from_collection([0]).map(lambda _: given, kind).rebalance().map(lambda v: v, kind)

    return build


VALUES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "int": (5, lambda t: t.INT()),
    "int_negative": (-(2**31), lambda t: t.INT()),
    "long": (2**40, lambda t: t.LONG()),
    "short": (300, lambda t: t.SHORT()),
    "byte": (-5, lambda t: t.BYTE()),
    "boolean": (True, lambda t: t.BOOLEAN()),
    "double": (1.1, lambda t: t.DOUBLE()),
    "double_of_int": (1, lambda t: t.DOUBLE()),
    "float": (1.1, lambda t: t.FLOAT()),
    "float_exact": (2.5, lambda t: t.FLOAT()),
    "string": ("ä€", lambda t: t.STRING()),
    "char": ("x", lambda t: t.CHAR()),
    "none_string": (None, lambda t: t.STRING()),
    "none_int": (None, lambda t: t.INT()),
    "big_int": (2**90, lambda t: t.BIG_INT()),
    "big_dec": (decimal.Decimal("1.50"), lambda t: t.BIG_DEC()),
    "date": (datetime.date(2024, 2, 29), lambda t: t.SQL_DATE()),
    "time": (datetime.time(12, 30, 1, 5000), lambda t: t.SQL_TIME()),
    "timestamp": (datetime.datetime(2024, 2, 29, 1, 2, 3, 456000), lambda t: t.SQL_TIMESTAMP()),
    "bytes": (b"ab", lambda t: t.PRIMITIVE_ARRAY(t.BYTE())),
    "int_array": ([1, 2], lambda t: t.PRIMITIVE_ARRAY(t.INT())),
    "basic_array": ([1, None], lambda t: t.BASIC_ARRAY(t.INT())),
    "object_array": (["a", "b"], lambda t: t.OBJECT_ARRAY(t.STRING())),
    "list": ([1, 2], lambda t: t.LIST(t.LONG())),
    "map": ({"a": 1}, lambda t: t.MAP(t.STRING(), t.INT())),
    "tuple": ((1, "a"), lambda t: t.TUPLE([t.INT(), t.STRING()])),
    "tuple_nested": ((1, (2, "b")), lambda t: t.TUPLE([t.INT(), t.TUPLE([t.INT(), t.STRING()])])),
    "row": (lambda p: p.Row(1, "a"), lambda t: t.ROW([t.INT(), t.STRING()])),
    "row_of_tuple": ((1, "a"), lambda t: t.ROW([t.INT(), t.STRING()])),
    "row_named": (lambda p: p.Row(x=1, y="a"), lambda t: t.ROW_NAMED(["x", "y"], [t.INT(), t.STRING()])),
    "row_named_of_plain": (lambda p: p.Row(1, "a"), lambda t: t.ROW_NAMED(["x", "y"], [t.INT(), t.STRING()])),
    "row_named_other_order": (lambda p: p.Row(y="a", x=1), lambda t: t.ROW_NAMED(["x", "y"], [t.INT(), t.STRING()])),
    "row_nested": (
        lambda p: p.Row(1, p.Row("a", 2.5)),
        lambda t: t.ROW([t.INT(), t.ROW_NAMED(["s", "d"], [t.STRING(), t.DOUBLE()])]),
    ),
    "row_with_none": (lambda p: p.Row(None, "a"), lambda t: t.ROW([t.INT(), t.STRING()])),
    "row_too_short": (lambda p: p.Row(1), lambda t: t.ROW([t.INT(), t.STRING()])),
    "int_of_text": ("5", lambda t: t.INT()),
    "string_of_int": (5, lambda t: t.STRING()),
    "pickled": ({"any": [1, {2}]}, lambda t: t.PICKLED_BYTE_ARRAY()),
    "instant": (lambda p: p.Instant.of_epoch_milli(1500), lambda t: t.INSTANT()),
}


def row_by_position(p: Any) -> Any:
    kind = p.Types.ROW_NAMED(["x", "y"], [p.Types.STRING(), p.Types.INT()])
    stream = p.env().from_collection([1]).map(lambda _: p.Row(y=1, x="a"), kind)
    return stream.key_by(lambda row: row["x"]).map(lambda row: (row[0], row["y"], len(row)))


def row_text(p: Any) -> Any:
    rows = [p.Row(1, "a"), p.Row(x=1, y="a"), p.Row()]
    return p.env().from_collection([0]).flat_map(lambda _: [(str(row), repr(row)) for row in rows])


def row_questions(p: Any) -> Any:
    def asked(_: Any) -> Any:
        named, plain = p.Row(x=1, y="a"), p.Row(1, "a")
        yield "in", "x" in named, "z" in named
        yield "equal", named == p.Row(y="a", x=1), plain == p.Row(1, "a"), plain == p.Row("a", 1)
        yield "values", named.x, named["y"], plain[1], list(plain), len(named)
        yield "dict", named.as_dict()
        named.set_row_kind(p.RowKind.DELETE)
        yield "kind", named.get_row_kind().name, named == p.Row(x=1, y="a")

    return p.env().from_collection([0]).flat_map(asked)


def row_set_field(p: Any) -> Any:
    def changed(_: Any) -> Any:
        row = p.Row(x=1, y="a")
        row["x"] = 5
        row.y = "b"
        return row, row.x

    return p.env().from_collection([0]).map(changed)


def row_template(p: Any) -> Any:
    def made(_: Any) -> Any:
        person = p.Row("name", "age")
        return person("Ann", 3)

    return p.env().from_collection([0]).map(made)


def row_kind_kept(p: Any) -> Any:
    def deleted(_: Any) -> Any:
        row = p.Row(1)
        row.set_row_kind(p.RowKind.DELETE)
        return row

    kind = p.Types.ROW([p.Types.INT()])
    return p.env().from_collection([0]).map(deleted, kind).rebalance().map(lambda row: row.get_row_kind().name)


def keys_by_declared_rows(p: Any) -> Any:
    kind = p.Types.ROW_NAMED(["x", "y"], [p.Types.STRING(), p.Types.INT()])

    class Count(p.KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(p.ValueStateDescriptor("count", p.Types.INT()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            yield value, self.count.value(), ctx.get_current_key()["y"]

    def key(value: int) -> Any:
        return [p.Row(x="a", y=1), p.Row(y=1, x="a"), p.Row("a", 1)][value]

    return p.env().from_collection([0, 1, 2]).key_by(key, kind).process(Count())


PROGRAMS: list[Program] = programs_of(
    {
        **{name: declared(value, type_of) for name, (value, type_of) in VALUES.items()},
        "row_by_position": row_by_position,
        "row_text": row_text,
        "row_questions": row_questions,
        "row_set_field": row_set_field,
        "row_template": row_template,
        "row_kind_kept": row_kind_kept,
        "keys_by_declared_rows": keys_by_declared_rows,
    }
)
