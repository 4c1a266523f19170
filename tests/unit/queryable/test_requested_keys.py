"""Keys in requests become the bytes that state goes by, without a class being looked up or anything unpickled."""

from __future__ import annotations

import enum
import json
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from penstock.checkpoint.described_state import described_keys
from penstock.common import Row, Types
from penstock.errors import KeyEncodingError, QueryError
from penstock.keys.codec import encode_key
from penstock.keys.plain_decoding import plain_key, read_plain_key
from penstock.queryable.client import sent_key
from penstock.queryable.requested_keys import key_from_text, requested_key
from penstock.state.serializers import schema_of


class Colour(enum.Enum):
    RED = 1


@dataclass(frozen=True)
class Place:
    city: str
    street: int
    note: str = field(default="", compare=False)


class Pair(NamedTuple):
    left: str
    right: int


TYPED = [
    (Types.STRING(), "a", "a"),
    (Types.STRING(), "1", "1"),
    (Types.LONG(), 5, 5),
    (Types.BOOLEAN(), True, True),
    (Types.DOUBLE(), 1.5, 1.5),
    (Types.DOUBLE(), 2, 2.0),
    (Types.BIG_DEC(), "1.10", Decimal("1.1")),
    (Types.SQL_DATE(), "2026-05-01", date(2026, 5, 1)),
    (Types.SQL_TIME(), "10:11:12", time(10, 11, 12)),
    (Types.SQL_TIMESTAMP(), "2026-05-01T10:00:00", datetime(2026, 5, 1, 10)),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "aGk=", b"hi"),
    (Types.TUPLE([Types.STRING(), Types.LONG()]), ["a", 1], ("a", 1)),
    (Types.ROW([Types.STRING(), Types.LONG()]), ["a", 1], Row("a", 1)),
    (Types.ROW_NAMED(["x", "y"], [Types.STRING(), Types.LONG()]), {"x": "a", "y": 1}, Row(x="a", y=1)),
    (Types.ROW_NAMED(["x", "y"], [Types.STRING(), Types.LONG()]), ["a", 1], Row(x="a", y=1)),
]


@pytest.mark.parametrize(("declared", "given", "key"), TYPED, ids=lambda value: str(value)[:30])
def test_json_becomes_a_key_of_the_declared_type(declared: Any, given: Any, key: Any) -> None:
    assert requested_key(given, schema_of(declared)) == encode_key(key)


@pytest.mark.parametrize("key", [Place("Bern", 7), Place("Bern", 7, "ignored")])
def test_a_dataclass_is_asked_for_by_its_fields(key: Place) -> None:
    from penstock.common.state_type import checked_state_type

    class Edge:
        pass

    schema = schema_of(checked_state_type("place", Place))
    key_class = [Place.__module__, Place.__qualname__, ["city", "street"]]
    code = requested_key({"city": "Bern", "street": 7, "note": ""}, schema, key_class)
    assert code == encode_key(key)
    shown, end = read_plain_key(code, 0, {(key_class[0], key_class[1]): key_class[2]})
    assert shown == {"city": "Bern", "street": 7} and end == len(code)
    with pytest.raises(KeyEncodingError, match="without the class"):
        plain_key(code)


UNTYPED = [
    "a", 1, 2.5, True, None, ("a", 1), (("a",), None), date(2026, 5, 1), datetime(2026, 5, 1, 1, tzinfo=UTC),
    datetime(2026, 5, 1, 1), time(1, 2), timedelta(seconds=90), Decimal("1.25"), b"bytes", UUID(int=7), Colour.RED,
    frozenset({1, 2}),
]  # fmt: skip


@pytest.mark.parametrize("key", UNTYPED, ids=repr)
def test_what_a_client_sends_of_a_python_key_is_that_key(key: Any) -> None:
    sent = json.loads(json.dumps(sent_key(key)))
    assert requested_key(sent, None) == encode_key(key)


@pytest.mark.parametrize("key", [date(2026, 5, 1), Decimal("1.25"), b"bytes", "text", 5])
def test_what_a_client_sends_fits_declared_types_too(key: Any) -> None:
    types = {date: Types.SQL_DATE(), Decimal: Types.BIG_DEC(), bytes: Types.PRIMITIVE_ARRAY(Types.BYTE())}
    declared = types.get(type(key), Types.STRING() if isinstance(key, str) else Types.LONG())
    assert requested_key(json.loads(json.dumps(sent_key(key))), schema_of(declared)) == encode_key(key)


@pytest.mark.parametrize(
    ("text", "declared", "key"),
    [
        ("alice", Types.STRING(), "alice"),
        ("42", Types.STRING(), "42"),
        ('"42"', Types.STRING(), "42"),
        ("42", Types.LONG(), 42),
        ("42", None, 42),
        ('"42"', None, "42"),
        ("alice", None, "alice"),
        ('["a", 1]', None, ("a", 1)),
        ("null", Types.STRING(), "null"),
    ],
)
def test_texts_are_json_or_bare_words(text: str, declared: Any, key: Any) -> None:
    assert key_from_text(text, None if declared is None else schema_of(declared)) == encode_key(key)


MISFITS: list[tuple[Any, Any]] = [
    (Types.LONG(), "five"),
    (Types.LONG(), True),
    (Types.STRING(), 5),
    (Types.SQL_DATE(), "tomorrow"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "not base64!"),
    (Types.TUPLE([Types.STRING(), Types.LONG()]), ["a"]),
    (Types.TUPLE([Types.STRING(), Types.LONG()]), "a"),
    (Types.ROW_NAMED(["x"], [Types.LONG()]), {"y": 1}),
    (Types.BIG_DEC(), "9" * 2000),
    (Types.BIG_DEC(), "1e999999999"),
    (None, {"a": 1}),
    (None, {"$date": "x"}),
    (None, {"$decimal": "9" * 5000}),
    (None, {"$enum": "os"}),
    (None, {"$uuid": 5}),
    (None, {"$seconds": "x"}),
    (None, {"$seconds": 1e300}),
    (None, {"$set": [[1], {"$list": [2]}, 3, 4, {"$row": 5}]}),
]


@pytest.mark.parametrize(("declared", "given"), MISFITS, ids=lambda value: str(value)[:30])
def test_other_keys_are_refused_in_a_sentence(declared: Any, given: Any) -> None:
    with pytest.raises(QueryError, match="is not one of this state"):
        requested_key(given, None if declared is None else schema_of(declared))


def test_deep_nesting_is_refused() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(QueryError):
        requested_key(deep, None)


def test_naming_a_class_imports_nothing() -> None:
    """`$enum` is bytes and nothing else: a module that is named in a request is not imported."""
    assert "this" not in sys.modules
    code = requested_key({"$enum": ["this", "Anything", "X"]}, None)
    assert plain_key(code) == "X"
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    "key",
    [
        1, -5, 2**70, "a" * 300, b"x", None, 1.5, (1, ("a", None)), [1, 2], frozenset({1}), {"a": (1,)}, date(2026, 1,
        1), Row(1, 2), Row(x=1, y="z"),
    ],
    ids=repr,
)  # fmt: skip
def test_plain_keys_are_read_to_their_end(key: Any) -> None:
    code = encode_key(key)
    assert read_plain_key(code + b"rest", 0)[1] == len(code)


@pytest.mark.parametrize("data", [b"", b"\x09\xff\xff\xff\xff\xff", b"\x09\x01" * 80 + b"\x01", b"\xee"])
def test_damaged_key_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(KeyEncodingError):
        plain_key(data)


def test_key_types_of_a_plan_are_described() -> None:
    from penstock.datastream import StreamExecutionEnvironment
    from penstock.graph import JobSettings
    from penstock.graph.compilation import compile_plan
    from tests.unit.queryable.jobs import Keeps

    environment = StreamExecutionEnvironment.in_process()
    stream = environment.from_collection([("a", 1)])
    stream.key_by(lambda record: record[0], Types.STRING()).process(Keeps()).uid("typed").print()
    stream.key_by(lambda record: record[0]).process(Keeps()).uid("untyped").print()
    plan = compile_plan(environment.graph, JobSettings())
    assert described_keys(plan) == {"typed": {"key": {"type": "STRING"}}}
