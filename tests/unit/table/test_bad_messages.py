"""Messages that formats of tables cannot read: errors that say what is wrong with which message."""

from __future__ import annotations

import pytest

from penstock.errors import SqlError
from penstock.table.connectors.row_formats import row_format
from penstock.table.sql import parse_type

ROWS = parse_type("ROW<id BIGINT, name STRING>")


@pytest.mark.parametrize(
    ("form", "message", "reason"),
    [
        ("debezium-json", b'{"before": null, "after": {"id": 1}}', "its 'op' is None, and not one of c, r, u, d"),
        ("debezium-json", b'{"op": "x", "after": {"id": 1}}', "its 'op' is 'x'"),
        ("debezium-json", b'{"op": "u", "before": null, "after": {"id": 1}}', "no 'before'; with PostgreSQL"),
        ("debezium-json", b'{"op": "c"}', "no 'after'"),
        ("debezium-json", b'{"payload": 7}', "its 'op' is None"),
        ("debezium-json", b"[1]", "it is no JSON object"),
        ("json", b"[1]", "it is no JSON object"),
        ("json", b'{"id": 1', "JSONDecodeError"),
        ("csv", b"1,a,b", "A CSV line has 3 fields"),
        ("csv", b"x,a", "ValueError"),
        ("raw", b"\xff", "UnicodeDecodeError"),
    ],
)
def test_what_is_wrong_with_a_message_is_told(form: str, message: bytes, reason: str) -> None:
    type_ = parse_type("ROW<name STRING>") if form == "raw" else ROWS
    with pytest.raises(SqlError) as caught:
        row_format(form, type_, {}, "t").decode(message)
    text = str(caught.value)
    assert text.startswith(f"A message cannot be read as {form}: ")
    assert reason in text
    assert repr(message) in text
    assert (f"'{form}.ignore-parse-errors' = 'true'" in text) == (form != "raw")


def test_avro_that_is_cut_short_is_told() -> None:
    form = row_format("avro", ROWS, {}, "t")
    whole = form.encode((0, 12345, "some words"))
    assert form.decode(whole) == [(0, 12345, "some words")]
    for length in range(len(whole)):
        with pytest.raises(SqlError, match="A message cannot be read as avro: it ends too early"):
            form.decode(whole[:length])


def test_bad_messages_are_left_out_if_asked() -> None:
    form = row_format("debezium-json", ROWS, {"debezium-json.ignore-parse-errors": "true"}, "t")
    assert form.decode(b'{"after": {"id": 1}}') == []
