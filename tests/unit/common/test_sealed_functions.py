"""Sealed functions: what can keep an object is never taken for one of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pytest

from penstock.common import Row
from penstock.common.sealed_functions import attributes_read, has_plain_attributes, is_sealed

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


def renamed(value: Any) -> Any:
    value = value["other"]
    return value.field > 1


@pytest.mark.parametrize(
    ("function", "read"),
    [
        (lambda value: LIMIT < value["n"] <= 5 and len(value) > 1, set()),
        (lambda value: any([each > LIMIT for each in value]), set()),
        (made_with(5), set()),
        (lambda value: LIMIT < value.amount <= 5 and value.kind == "b", {"amount", "kind"}),
        # What changes an argument, keeps it, or may run code that is not in sight.
        (enriched, None),
        (extended, None),
        (keep, None),
        (counting(), None),
        (renamed, None),
        (lambda value: value.name.upper() == "A", None),
        (lambda value: value.startswith("a"), None),
        (lambda value: value["part"].field, None),
        (lambda value: any([value.field > each for each in (1, 2)]), None),
        (lambda value: keep(value.field), None),
    ],
)
def test_what_a_function_reads_that_changes_nothing_it_is_given(function: Any, read: set[str] | None) -> None:
    assert attributes_read(function) == read


@dataclass
class Payment:
    amount: float = 0.0

    @property
    def doubled(self) -> float:
        return self.amount * 2

    def spent(self) -> float:
        return self.amount


class Pair(NamedTuple):
    amount: float


class Slots:
    __slots__ = ("amount",)


class Asked:
    def __getattr__(self, name: str) -> Any:
        return KEPT.append(name)


class Watched:
    def __getattribute__(self, name: str) -> Any:
        return KEPT.append(name)


@pytest.mark.parametrize(
    ("cls", "name", "is_plain"),
    [
        (Payment, "amount", True),
        (Payment, "lacking", True),
        (Pair, "amount", True),
        (Slots, "amount", True),
        (Row, "amount", True),
        (Payment, "doubled", False),
        (Payment, "spent", False),
        (Asked, "amount", False),
        (Watched, "amount", False),
    ],
)
def test_attributes_are_plain_where_no_code_of_the_user_is_run(cls: type, name: str, is_plain: bool) -> None:
    assert has_plain_attributes(cls, frozenset({name})) == is_plain
