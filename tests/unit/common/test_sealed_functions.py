"""Sealed functions: what can keep an object is never taken for one of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from penstock.common.sealed_functions import is_sealed, only_computes

LIMIT = 3
KEPT: list[Any] = []


def keep(value: Any) -> Any:
    KEPT.append(value)
    return value


def made_with(held: Any) -> Any:
    return lambda value: (value, held)


def counting() -> Any:
    count = 0

    def call(value: Any) -> Any:
        nonlocal count
        count += 1
        return value

    return call


class Keeper:
    def __call__(self, value: Any) -> Any:
        self.kept = value
        return value


def enriched(record: Any) -> Any:
    record["n"] = record["n"] * 2 if record["n"] > LIMIT else -1
    return {**record, "text": f"{len(record)}", "all": [each + 1 for each in record["items"]]}


@pytest.mark.parametrize(
    "function",
    [
        lambda value: value,
        lambda value: (value[0], value[1] + 1),
        lambda value: {"key": value[0], "size": 1.5},
        lambda value: {**value, "more": [value["n"]]},
        lambda value: value["n"] > LIMIT and not value["m"],
        lambda value: str(len(value)) + f"{value[0]!r:>3}",
        enriched,
        made_with(5),
    ],
)
def test_functions_that_only_read_and_make_values_are_sealed(function: Any) -> None:
    assert is_sealed(function)


@pytest.mark.parametrize(
    "function",
    [
        keep,
        lambda value: keep(value),
        lambda value: KEPT,
        lambda value: value.field,
        lambda value, held=[]: held,
        made_with([]),
        made_with(keep),
        counting(),
        lambda value: [keep(each) for each in value],
        lambda value: (yield value),
        lambda value: globals(),
        Keeper(),
        Keeper().__call__,
        partial(keep),
        len,
        KEPT.append,
        Keeper,
    ],
)
def test_whatever_may_keep_something_is_not(function: Any) -> None:
    assert not is_sealed(function)


def extended(value: Any) -> Any:
    parts = value[1]
    parts += [1]
    return True


@pytest.mark.parametrize(
    ("function", "is_pure"),
    [
        (lambda value: LIMIT < value["n"] <= 5 and len(value) > 1, True),
        (lambda value: any([each > LIMIT for each in value]), True),
        (made_with(5), True),
        (enriched, False),
        (extended, False),
        (keep, False),
        (counting(), False),
    ],
)
def test_functions_that_change_nothing_they_are_given_only_compute(function: Any, is_pure: bool) -> None:
    assert only_computes(function) == is_pure
