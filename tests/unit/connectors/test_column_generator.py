"""Generators of columns: any cut gives the same records, and what the function returns is checked."""

from __future__ import annotations

import itertools
import pickle
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.column_block import ColumnBlock
from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.connectors.generated.numbered import DataGenerator
from penstock.connectors.source import SplitSource
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.errors import ConfigurationError, SourceError

of_columns = DataGeneratorSource.of_columns


@dataclass
class Trade:
    user: int
    price: float


@dataclass
class Rounded:
    price: float

    def __post_init__(self) -> None:
        self.price = round(self.price)


def drawn(numbers: Any, rng: Any) -> dict[str, Any]:
    return {"number": numbers, "x": rng.random(), "y": rng.random()}


def drawn_one(number: int, rng: random.Random) -> Row:
    return Row(number=number, x=rng.random(), y=rng.random())


def records(source: SplitSource, split: int, splits: int, start: int, stop: int) -> list[Any]:
    chunks = [values for values, _ in source.read(split, splits, start, stop)]
    return list(itertools.chain.from_iterable(c.values() if isinstance(c, ColumnBlock) else c for c in chunks))


@settings(max_examples=30, deadline=None)
@given(count=st.integers(0, 40), splits=st.integers(1, 4), cuts=st.lists(st.integers(0, 40), max_size=3))
def test_any_cut_gives_what_a_generator_of_single_records_gives(count: int, splits: int, cuts: list[int]) -> None:
    source, single = of_columns(drawn, count, seed=5), DataGenerator(drawn_one, count, seed=5)
    for split in range(splits):
        end = source.split_end(split, splits)
        assert end == single.split_end(split, splits)
        bounds = itertools.pairwise([0, *sorted(min(cut, end or 0) for cut in cuts), end or 0])
        pieces = [records(source, split, splits, low, high) for low, high in bounds]
        assert list(itertools.chain.from_iterable(pieces)) == records(single, split, splits, 0, end or 0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Row(user=1, price=0.5)),
        ({"row_format": "tuple"}, (1, 0.5)),
        ({"row_format": "dict"}, {"user": 1, "price": 0.5}),
        ({"type_info": Types.ROW_NAMED(["price", "user"], [Types.DOUBLE(), Types.INT()])}, Row(price=0.5, user=1)),
        ({"type_info": Trade}, Trade(1, 0.5)),
    ],
)
def test_records_are_what_is_declared(options: dict[str, Any], expected: Any) -> None:
    source = pickle.loads(pickle.dumps(of_columns(trades, 3, **options)))
    (made,) = records(source, 0, 1, 1, 2)
    assert made == expected and type(made) is type(expected)
    assert source.is_bounded() and (source.produced_type() is not None) is ("type_info" in options)


def trades(numbers: Any) -> dict[str, Any]:
    return {"user": numbers, "price": numbers / 2}


def test_single_values_and_record_batches() -> None:
    assert records(of_columns(lambda numbers: {"x": numbers}, 3, Types.LONG()), 0, 1, 0, 3) == [0, 1, 2]
    batch = of_columns(lambda numbers: pa.record_batch({"x": numbers}), 3, row_format="value")
    assert records(batch, 0, 1, 0, 3) == [0, 1, 2]
    coded = of_columns(lambda numbers: {"x": pa.array(["a"] * len(numbers)).dictionary_encode()}, 2)
    assert records(coded, 0, 1, 0, 2) == [Row(x="a"), Row(x="a")]
    pairs = of_columns(trades, 2, Types.TUPLE([Types.INT(), Types.FLOAT()]))
    assert records(pairs, 0, 1, 0, 2) == [(0, 0.0), (1, 0.5)]


@pytest.mark.parametrize(
    ("function", "type_info", "message"),
    [
        (lambda numbers: {"a": numbers[:-1]}, None, r"'a' .* has 2 values for 3 records: return one for each"),
        (lambda numbers: numbers, None, "must return a dict of arrays or a RecordBatch, it returned array"),
        (lambda numbers: {}, None, "must return a dict of arrays"),
        (lambda numbers: {"a": object()}, None, "'a' .* is not an Arrow array"),
        (lambda numbers: {"a": numbers + 2**40}, Types.ROW_NAMED(["a"], [Types.INT()]), "'a' .* not an array of int32"),
        (lambda numbers: {"b": numbers}, Types.ROW_NAMED(["a"], [Types.INT()]), "columns b, but a are declared"),
        (trades, Types.LONG(), "must return one column, it returned user, price"),
        (trades, Types.TUPLE([Types.LONG()]), "columns user, price, but f0 are declared"),
    ],
)
def test_what_the_function_returns_is_checked(function: Any, type_info: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        records(of_columns(function, 3, type_info), 0, 1, 0, 3)


def test_settings_are_checked_before_anything_runs() -> None:
    with pytest.raises(ConfigurationError, match="row_format must be one of 'row'"):
        of_columns(trades, row_format="column")
    with pytest.raises(ConfigurationError, match="Rounded is not a dataclass or named tuple whose fields are just"):
        of_columns(trades, type_info=Rounded)
    with pytest.raises(ConfigurationError, match=r"declare the rows with Types\.ROW_NAMED"):
        of_columns(trades, type_info=Types.ROW([Types.LONG()]))
    with pytest.raises(ConfigurationError, match="field 'a' of type PICKLED_BYTE_ARRAY cannot be a column"):
        of_columns(trades, type_info=Types.ROW_NAMED(["a"], [Types.PICKLED_BYTE_ARRAY()]))
    with pytest.raises(ConfigurationError, match="type_info must be a type of Types"):
        of_columns(trades, type_info="a INT")  # type: ignore[arg-type]
    assert of_columns(trades, None, None, RateLimiterStrategy.per_second(5)).records_per_second == 5


def test_numbers_drawn_are_within_bounds() -> None:
    def draw(numbers: Any, rng: Any) -> dict[str, Any]:
        return {"n": rng.integers(3, 6)}

    values = {row.n for row in records(of_columns(draw, 200), 0, 1, 0, 200)}
    assert values == {3, 4, 5}
    assert np.issubdtype(np.array(list(values)).dtype, np.integer)
