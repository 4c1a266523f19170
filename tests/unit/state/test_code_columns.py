"""Bytes and groups of columns of keys: those that the codec gives key by key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.keys.code_columns import codes_of_columns
from penstock.keys.codec import encode_key, encode_keys
from penstock.keys.group_columns import column_key_groups, groups_of_columns, int_key_groups
from penstock.keys.groups import key_group

longs = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63), 0, 2**16, -1])
_TYPES: dict[Any, st.SearchStrategy[Any]] = {
    pa.int64(): longs,
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.just("x" * 300),
    pa.large_string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    pa.binary(): st.binary(max_size=4),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats() | st.sampled_from([1.0, -0.0]),
    pa.date32(): st.dates(),
}


@st.composite
def columns_of_keys(draw: st.DrawFn) -> list[pa.Array]:
    """One to three columns of the same length, with NULLs in some."""
    count = draw(st.integers(1, 6))
    columns = []
    for kind in draw(st.lists(st.sampled_from(list(_TYPES)), min_size=1, max_size=3)):
        values = _TYPES[kind] | st.none() if draw(st.booleans()) else _TYPES[kind]
        columns.append(pa.array(draw(st.lists(values, min_size=count, max_size=count)), kind))
    return columns


def _part(column: pa.Array) -> Any:
    is_whole = pa.types.is_signed_integer(column.type) and not column.null_count
    return column.to_numpy().astype(np.int64) if is_whole else column


@given(columns_of_keys())
def test_bytes_and_groups_of_tuples_are_those_of_each_key(columns: list[pa.Array]) -> None:
    keys = list(zip(*[column.to_pylist() for column in columns], strict=True))
    parts = [_part(column) for column in columns]
    codes = [encode_key(key) for key in keys]
    assert codes_of_columns(parts, is_tuple=True) == codes
    assert encode_keys(keys) == codes
    groups = [key_group(code, 128) for code in codes]
    assert groups_of_columns(parts, is_tuple=True, max_parallelism=128).tolist() == groups
    array = pa.StructArray.from_arrays(columns, names=[str(at) for at in range(len(columns))])
    found = column_key_groups(array, 128)
    assert found is not None and found.tolist() == groups


@given(columns_of_keys())
def test_bytes_and_groups_of_single_fields_are_those_of_each_key(columns: list[pa.Array]) -> None:
    codes = [encode_key(key) for key in columns[0].to_pylist()]
    parts = [_part(columns[0])]
    assert codes_of_columns(parts, is_tuple=False) == codes
    groups = [key_group(code, 32768) for code in codes]
    assert groups_of_columns(parts, is_tuple=False, max_parallelism=32768).tolist() == groups


@given(st.lists(longs, max_size=5))
def test_groups_of_numbers_are_those_of_each(numbers: list[int]) -> None:
    expected = [key_group(encode_key(number), 128) for number in numbers]
    assert int_key_groups(np.array(numbers, np.int64), 128).tolist() == expected


@given(st.lists(st.tuples(st.integers(), st.text(max_size=2) | st.none() | st.tuples(longs)), max_size=4))
def test_bytes_of_many_tuples_are_those_of_each(keys: list[Any]) -> None:
    mixed: list[Any] = [*keys, *[(), (1,), "a"][: len(keys)]]
    assert encode_keys(keys) == [encode_key(key) for key in keys]
    assert encode_keys(mixed) == [encode_key(key) for key in mixed]
