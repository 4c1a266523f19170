"""Rows, types and times without a job to speak of: what their methods give."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def asked(question: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The answer as text, worked out while the program is built; the name of its error if there is one."""

    def build(p: Any) -> Any:
        try:
            answer = repr(question(p))
        except Exception as error:
            answer = type(error).__name__
        return p.env().from_collection([answer])

    return build


def named(p: Any) -> Any:
    return p.Row(x=1, y=p.Row(z="a"))


def fields_set(p: Any) -> Any:
    row = p.Row(1, "a")
    row.set_field_names(["x", "y"])
    return row.x, row["y"], row.get_fields_by_names(["y", "x"]), str(row)


def of_types(p: Any, t: Any) -> list[Any]:
    return [
        *(t.INT(), t.LONG(), t.SHORT(), t.BYTE(), t.BOOLEAN(), t.DOUBLE(), t.FLOAT(), t.STRING(), t.CHAR()),
        *(t.BIG_INT(), t.BIG_DEC(), t.SQL_DATE(), t.SQL_TIME(), t.SQL_TIMESTAMP(), t.INSTANT()),
        *(t.PICKLED_BYTE_ARRAY(), t.PRIMITIVE_ARRAY(t.INT()), t.BASIC_ARRAY(t.STRING()), t.OBJECT_ARRAY(t.LONG())),
        *(t.LIST(t.INT()), t.MAP(t.STRING(), t.INT()), t.TUPLE([t.INT(), t.STRING()])),
        *(t.ROW([t.INT(), t.STRING()]), t.ROW_NAMED(["x"], [t.ROW([t.INT()])])),
    ]


def stream_types(p: Any) -> Any:
    t = p.Types
    stream = p.env().from_collection([(1, "a")], t.TUPLE([t.INT(), t.STRING()]))
    kept = stream.filter(lambda v: True)
    keyed = stream.key_by(lambda v: v[1], t.STRING())
    return [
        str(each.get_type())
        for each in (stream, kept, stream.map(lambda v: v), stream.map(lambda v: 1, t.INT()), stream.union(stream))
    ] + [str(keyed.reduce(lambda a, b: a).get_type()), str(stream.project(1).get_type())]


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "row_negative_index": lambda p: p.Row(1, "a")[-1],
    "row_slice": lambda p: p.Row(1, "a", 2)[0:2],
    "row_no_such_field": lambda p: named(p)["none"],
    "row_no_such_attribute": lambda p: named(p).none,
    "row_index_beyond": lambda p: p.Row(1)[5],
    "row_as_dict": lambda p: named(p).as_dict()["x"],
    "row_as_dict_recursive": lambda p: named(p).as_dict(True),
    "row_as_dict_plain": lambda p: p.Row(1).as_dict(),
    "row_of_kind": lambda p: p.Row.of_kind(p.RowKind.UPDATE_AFTER, 1, 2).get_row_kind().name,
    "row_field_names": fields_set,
    "row_fields": lambda p: named(p).get_fields_by_names(["x"]),
    "row_mixed": lambda p: p.Row(1, x=2),
    "row_hash": lambda p: hash(p.Row(1, "a")) == hash(p.Row(1, "a")),
    "row_equals_tuple": lambda p: p.Row(1, "a") == (1, "a"),
    "row_named_equals_plain": lambda p: p.Row(x=1) == p.Row(1),
    "row_compared": lambda p: p.Row(1) < p.Row(2),
    "row_iterated": lambda p: list(named(p))[:1],
    "row_text_nested": lambda p: str(named(p)),
    "row_text_of_values": lambda p: str(p.Row(None, 1.5, decimal.Decimal("1.0"), datetime.date(2020, 1, 2), [1], b"a")),
    "row_set_unknown": lambda p: setattr(named(p), "other", 1),
    "row_template_again": lambda p: str(p.Row("name", "age")("Ann", 3)),
    "row_template_short": lambda p: str(p.Row("name", "age")("Ann")),
    "kind_text": lambda p: [str(kind) for kind in p.RowKind],
    "types_as_text": lambda p: [str(each) for each in of_types(p, p.Types)],
    "types_equal": lambda p: [
        p.Types.INT() == p.Types.INT(),
        p.Types.ROW([p.Types.INT()]) == p.Types.ROW([p.Types.INT()]),
        p.Types.ROW_NAMED(["x"], [p.Types.INT()]) == p.Types.ROW([p.Types.INT()]),
        p.Types.LIST(p.Types.INT()) == p.Types.LIST(p.Types.LONG()),
    ],
    "row_type_names": lambda p: p.Types.ROW([p.Types.INT(), p.Types.STRING()]).get_field_names(),
    "stream_types": stream_types,
    "time_of_day": lambda p: p.Time.days(1).to_milliseconds(),
    "instant": lambda p: str(p.Instant.of_epoch_milli(1500)),
    "instant_compared": lambda p: p.Instant.of_epoch_milli(1500) == p.Instant(1, 500_000_000),
    "window_text": lambda p: str(p.TimeWindow(1, 5)),
    "window_max": lambda p: p.TimeWindow(1, 5).max_timestamp(),
    "window_equal": lambda p: (p.TimeWindow(1, 5) == p.TimeWindow(1, 5), p.TimeWindow(1, 5) < p.TimeWindow(2, 5)),
    "window_intersects": lambda p: p.TimeWindow(1, 5).intersects(p.TimeWindow(5, 9)),
    "tag_text": lambda p: p.OutputTag("x", p.Types.INT()).tag_id,
    "tag_empty": lambda p: p.OutputTag("").tag_id,
    "configuration_text": lambda p: str(p.Configuration().set_string("a", "b")),
    "descriptor_name": lambda p: p.ValueStateDescriptor("n", p.Types.INT()).get_name(),
    "same_name_twice": lambda p: p.env().from_collection([1]).map(lambda v: v).name("x").get_name(),
}

PROGRAMS: list[Program] = programs_of({name: asked(question) for name, question in QUESTIONS.items()})
