"""Rows packed column by column: the bytes that the serializer gives row by row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.plain_data import pack_untagged
from penstock.common.typeinfo import Types
from penstock.state.serializers import serializer_for
from penstock.state.serializers.row_columns import RowPacker, array_head

_EDGES = [edge + step for power in (5, 7, 8, 15, 16, 31, 32) for edge in (2**power, -(2**power)) for step in (-1, 0, 1)]
_LONG = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([*_EDGES, 0, 2**63 - 1, -(2**63)])
_LENGTHS = st.sampled_from([0, 1, 31, 32, 33, 255, 256, 65_535, 65_536])
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | _LENGTHS.map("x".__mul__)
_FIELDS: list[tuple[Any, Any, st.SearchStrategy[Any]]] = [
    (pa.int64(), Types.LONG(), _LONG),
    (pa.int32(), Types.LONG(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int8(), Types.LONG(), st.integers(-128, 127)),
    (pa.string(), Types.STRING(), _TEXT),
    (pa.large_string(), Types.STRING(), _TEXT),
    (pa.bool_(), Types.BOOLEAN(), st.booleans()),
    (pa.float64(), Types.DOUBLE(), st.floats(allow_nan=False)),
    (pa.float32(), Types.DOUBLE(), st.floats(allow_nan=False, width=32)),
    (pa.binary(), Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=4) | _LENGTHS.map(bytes)),
    (pa.decimal128(10, 2), Types.BIG_DEC(), st.sampled_from([Decimal("1.25"), Decimal("-0.01")])),
]


@st.composite
def rows_as_columns(draw: st.DrawFn) -> tuple[Any, list[pa.Array]]:
    count = draw(st.integers(0, 5))
    chosen = draw(st.lists(st.sampled_from(_FIELDS), min_size=1, max_size=5))
    if draw(st.integers(0, 9)) == 0:
        chosen = chosen * 18  # more fields than a short array has
    columns = []
    for kind, _, values in chosen:
        values = values | st.none() if draw(st.booleans()) else values
        first = draw(st.integers(0, 2))  # columns may be slices of others
        drawn = draw(st.lists(values, min_size=count + first, max_size=count + first))
        columns.append(pa.array(drawn, kind)[first:])
    return Types.TUPLE([declared for _, declared, _ in chosen]), columns


@given(rows_as_columns())
def test_bytes_are_those_of_each_row(drawn: tuple[Any, list[pa.Array]]) -> None:
    row_type, columns = drawn
    packer, serializer = RowPacker(row_type), serializer_for(row_type, "rows")
    rows = list(zip(*[column.to_pylist() for column in columns], strict=True))
    found = packer.packed(columns, packer.head).to_pylist()
    assert found == [serializer.dumps(row) for row in rows]
    assert [serializer.loads(data) for data in found] == rows


def test_numbers_and_lengths_where_the_form_changes() -> None:
    lengths = [length + step for length in (0, 31, 255, 65_535) for step in (0, 1)]
    columns = [pa.array([*_EDGES, None]), pa.array([*["x" * each for each in lengths], None])]
    columns += [columns[1].cast(pa.binary()), pa.array([2**63 - 1, -(2**63), 0, None])]
    declared = [Types.LONG(), Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.LONG()]
    for column, kind in zip(columns, declared, strict=True):
        packer, serializer = RowPacker(Types.TUPLE([kind])), serializer_for(Types.TUPLE([kind]), "rows")
        expected = [serializer.dumps((value,)) for value in column.to_pylist()]
        assert packer.packed([column], packer.head).to_pylist() == expected


@pytest.mark.parametrize("count", [0, 1, 15, 16, 65_535, 65_536])
def test_heads_of_arrays_are_those_of_lists(count: int) -> None:
    assert pack_untagged((None,) * count) == array_head(count) + b"\xc0" * count
