"""Rolling aggregations as pure functions: which field and which element survive."""

from __future__ import annotations

import functools
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.types import Row
from penstock.datastream.aggregations import RollingExtreme, RollingExtremeBy, RollingSum

Pair = namedtuple("Pair", ["tag", "amount"])


@dataclass(frozen=True)
class Sale:
    tag: str
    amount: int


SHAPES: list[Any] = [
    (lambda tag, amount: (tag, amount), 1),
    (lambda tag, amount: [tag, amount], 1),
    (lambda tag, amount: Row(tag, amount), 1),
    (lambda tag, amount: Row(tag=tag, amount=amount), "amount"),
    (lambda tag, amount: {"tag": tag, "amount": amount}, "amount"),
    (Sale, "amount"),
    (Pair, "amount"),
]
SHAPE_IDS = ["tuple", "list", "row", "named row", "dict", "dataclass", "named tuple"]
every_shape = pytest.mark.parametrize(("make", "field"), SHAPES, ids=SHAPE_IDS)


@every_shape
def test_sum_keeps_the_other_fields_of_the_first_element(make: Any, field: Any) -> None:
    first = make("first", 1)
    assert RollingSum(field)(first, make("second", 2)) == make("first", 3)
    assert first == make("first", 1)


@every_shape
def test_min_and_max_replace_only_the_field(make: Any, field: Any) -> None:
    assert RollingExtreme(field)(make("first", 5), make("second", 2)) == make("first", 2)
    assert RollingExtreme(field)(make("first", 2), make("second", 5)) == make("first", 2)
    assert RollingExtreme(field, largest=True)(make("first", 2), make("second", 5)) == make("first", 5)
    assert RollingExtreme(field, largest=True)(make("first", 5), make("second", 2)) == make("first", 5)


@every_shape
def test_min_by_and_max_by_keep_the_whole_element_and_the_first_of_a_tie(make: Any, field: Any) -> None:
    assert RollingExtremeBy(field)(make("first", 5), make("second", 2)) == make("second", 2)
    assert RollingExtremeBy(field)(make("first", 2), make("second", 2)) == make("first", 2)
    assert RollingExtremeBy(field, largest=True)(make("first", 2), make("second", 5)) == make("second", 5)
    assert RollingExtremeBy(field, largest=True)(make("first", 5), make("second", 5)) == make("first", 5)


@given(st.lists(st.tuples(st.integers(), st.integers()), min_size=1))
def test_folding_agrees_with_the_builtins(elements: list[tuple[int, int]]) -> None:
    head = elements[0][0]
    seconds = [second for _, second in elements]
    fold = functools.reduce
    assert fold(RollingSum(1), elements) == (head, sum(seconds))
    assert fold(RollingExtreme(1), elements) == (head, min(seconds))
    assert fold(RollingExtreme(1, largest=True), elements) == (head, max(seconds))
    assert fold(RollingExtremeBy(1), elements) == min(elements, key=lambda element: element[1])
    assert fold(RollingExtremeBy(1, largest=True), elements) == max(elements, key=lambda element: element[1])


def test_a_plain_value_is_its_own_position_zero() -> None:
    assert RollingSum(0)(2, 3) == 5
    assert RollingSum(0)(Decimal("0.1"), Decimal("0.2")) == Decimal("0.3")
    assert RollingExtreme(0)(2, 3) == 2
    assert RollingExtremeBy(0, largest=True)("a", "b") == "b"


def test_a_plain_value_has_no_other_position() -> None:
    with pytest.raises(KeyError, match="position 1"):
        RollingSum(1)(2, 3)


def test_sum_of_texts_and_order_of_unlike_values_name_field_and_value() -> None:
    with pytest.raises(TypeError, match="field 0 must be a number, got 'x'"):
        RollingSum(0)(("x",), (1,))
    with pytest.raises(TypeError, match=r"max_by: .* of field 0 cannot be ordered"):
        RollingExtremeBy(0, largest=True)((1,), (None,))


@pytest.mark.parametrize("function", [RollingSum(1), RollingExtreme(1), RollingExtremeBy(1, largest=True)], ids=repr)
def test_aggregations_travel_to_workers(function: Any) -> None:
    assert cloudpickle.loads(cloudpickle.dumps(function)) == function
