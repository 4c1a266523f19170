"""Payloads and channel numbers of exchange rows come back as they went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.runtime import rows

INT64 = st.integers(MIN_WATERMARK, MAX_WATERMARK)


@settings(max_examples=60)
@given(values=st.lists(st.one_of(st.none(), st.text(), st.binary(), st.floats(allow_nan=False))), data=st.data())
def test_a_block_comes_back(values: list[Any], data: st.DataObject) -> None:
    size = len(values)
    stamps = data.draw(
        st.one_of(
            st.none(),
            st.lists(INT64, min_size=size, max_size=size),
            st.lists(st.one_of(st.none(), INT64), min_size=size, max_size=size),
        )
    )
    keys = data.draw(st.one_of(st.none(), st.lists(st.text(), min_size=size, max_size=size)))
    assert rows.decode_block(rows.encode_block(values, stamps, keys)) == rows.Block(values, stamps, keys)


def test_values_of_a_class_inside_a_function_travel_too() -> None:
    @dataclass
    class Local:
        number: int

    block = rows.decode_block(rows.encode_block([Local(3)], None, None))
    assert block.values[0].number == 3


@given(INT64)
def test_a_watermark_comes_back(watermark: int) -> None:
    assert rows.decode_number(rows.encode_number(watermark)) == watermark


@given(st.integers(0, 2**15 - 1), st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1))
def test_a_channel_number_fits_64_bits_and_comes_back(vertex: int, edge: int, subtask: int) -> None:
    number = rows.channel(vertex, edge, subtask)
    assert 0 <= number < 2**63
    assert rows.sender_of(number) == (vertex, edge, subtask)
