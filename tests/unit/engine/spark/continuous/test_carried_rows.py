"""Rows between tasks of continuous mode: nothing is lost or held back, and each channel keeps its order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.spark.continuous.carried_rows import contents_of, first_fillers, rows_of, sender_of, to_carried
from penstock.engine.spark.continuous.pipelined import ROWS_TOGETHER, SENT_AT_ONCE_BYTES, SESSION_CONFIG
from penstock.runtime.rows import ExchangeRow

INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
ROWS = st.builds(ExchangeRow, st.integers(0, 3), INT, INT, LONG, LONG, st.integers(-1, 7), st.binary(max_size=40))


@given(outgoing=st.lists(ROWS, min_size=1, max_size=12), hop=st.integers(0, 100))
def test_what_is_packed_comes_out_in_the_order_of_each_target(outgoing: list[ExchangeRow], hop: int) -> None:
    batch = to_carried(outgoing, hop)
    contents = contents_of(batch)
    assert {sender_of(content) for content in contents} == {hop}
    found = [row for content in contents for row in rows_of(content)]
    for target in range(4):
        assert [row for row in found if row.target == target] == [row for row in outgoing if row.target == target]
    targets = batch.column(0).to_pylist()
    assert set(targets) == {row.target for row in outgoing}
    assert len(contents) == len(set(targets)), "one row for each target, whatever there is for it"


@given(st.data())
def test_whatever_the_order_of_arrival_no_content_is_held_back(data: st.DataObject) -> None:
    contents = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    waiting = [_sent_to_one_target(hop, count) for hop, count in enumerate(contents)]
    arrived: list[bytes] = []
    while senders := [each for each in waiting if each]:
        arrived.append(data.draw(st.sampled_from(senders)).pop(0))
        if _has_all_fillers(arrived):
            assert _contents(_handed_to_python(arrived)) == _contents(arrived)
    assert _has_all_fillers(arrived)


def test_fillers_are_large_enough_to_be_sent_at_once() -> None:
    assert ROWS_TOGETHER == 2
    assert len(_column(first_fillers(1))[0]) >= SENT_AT_ONCE_BYTES
    buffer = int(SESSION_CONFIG["spark.shuffle.streaming.networkBufferSize"])
    assert buffer * 0.9 < SENT_AT_ONCE_BYTES <= len(_column(first_fillers(3))[2]) < buffer
    assert contents_of(first_fillers(3)) == []
    assert first_fillers(3).column(0).to_pylist() == [0, 1, 2]


def _sent_to_one_target(hop: int, contents: int) -> list[bytes]:
    """What a task sends to a target, from its beginning."""
    row = ExchangeRow(0, 1, 0, hop, 0, 0, b"x")
    sent = _column(first_fillers(1)) if hop == 0 else []
    for number in range(contents):
        sent += _column(to_carried([row._replace(seq=number)], hop))
    return sent


def _handed_to_python(rows: list[bytes]) -> Iterator[bytes]:
    """What Spark hands on of the rows that have come: full batches, if another row has come behind them."""
    for first in range(0, len(rows), ROWS_TOGETHER):
        if first + ROWS_TOGETHER < len(rows):
            yield from rows[first : first + ROWS_TOGETHER]


def _has_all_fillers(rows: list[bytes]) -> bool:
    """Whether the first filler has come, and that of each content."""
    return len(rows) == 2 * len(_contents(rows)) + 1


def _contents(rows: Iterable[bytes]) -> list[bytes]:
    return [row for row in rows if sender_of(row) >= 0]


def _column(batch: pa.RecordBatch) -> list[bytes]:
    found: list[bytes] = batch.column(1).to_pylist()
    return found
