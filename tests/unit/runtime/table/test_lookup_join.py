"""Lookup joins on the bare operator: what is asked for, what is done with the answers, caches, calls, changes."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from typing import Any

import pytest

from penstock.runtime.failure import OperatorFailure
from penstock.runtime.lookups import AsyncLookup, CacheSettings, Lookup, LookupCache
from penstock.runtime.operators.table import (
    AsyncLookupJoinOperator,
    LookupJoinOperator,
    LookupTerms,
    MaterializedLookupJoinOperator,
    RowKey,
)
from penstock.table.connectors.retried_lookups import RetriedLookup
from penstock.testing import KeyedHarness, OperatorHarness
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.scalar import call as scalar_call
from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal
from tests.unit.runtime.table.changelogs import INT, STRING, shown

PEOPLE: dict[tuple[Any, ...], list[Any]] = {(1,): [(1, "ann", 30)], (2,): [(2, "bob", 40), (2, "bea", 20)]}

# Lookups are copied into the harness; what they were asked is gathered here.
asked: list[Any] = []
misses: dict[Any, int] = {}


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    asked.clear()
    misses.clear()


class Table(Lookup):
    """Finds people by number, after as many misses as the test wants."""

    def open(self, context: Any) -> None:
        asked.append("open")

    def find(self, keys: Sequence[Any]) -> list[list[Any]]:
        asked.append(list(keys))
        if any(key[0] == 13 for key in keys):
            raise ValueError("unlucky")
        return [[] if self._misses(key) else PEOPLE.get(key[:1], []) for key in keys]

    def _misses(self, key: Any) -> bool:
        misses[key] = misses.get(key, 0) - 1
        return misses[key] >= 0

    def close(self) -> None:
        asked.append("close")


class Turns:
    """Lets the event loop go round so many times."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __await__(self) -> Generator[None, None, None]:
        for _ in range(self._count):
            yield


class AsyncTable(AsyncLookup):
    """The same by calls, of which the one for an earlier key takes longer."""

    async def find(self, key: Any) -> list[Any]:
        asked.append(key)
        await Turns(10 - key[0])
        misses[key] = misses.get(key, 0) - 1
        return [] if misses[key] >= 0 else PEOPLE.get(key[:1], [])


def terms(is_left: bool = False, **settings: Any) -> LookupTerms:
    """For rows (order, person): the key is the person."""
    return LookupTerms(key_fields=(1,), constants=(), width=3, is_left=is_left, **settings)


def played(rows: list[Any], **settings: Any) -> list[str]:
    cache = settings.pop("cache", None)
    with OperatorHarness(LookupJoinOperator(lookup=Table(), terms=terms(**settings), cache=cache)) as harness:
        harness.process_elements([((INSERT, *row), None) for row in rows])
        return shown(harness.output_values())


def test_the_keys_of_a_block_are_asked_for_once_and_together() -> None:
    found = played([("x", 1), ("y", 2), ("z", 1), ("u", 3), ("v", None)])
    assert found == [
        "+I[x, 1, 1, ann, 30]",
        "+I[y, 2, 2, bob, 40]",
        "+I[y, 2, 2, bea, 20]",
        "+I[z, 1, 1, ann, 30]",
    ]
    assert asked == ["open", [(1,), (2,), (3,)], "close"]


def test_a_left_join_keeps_rows_that_find_nothing() -> None:
    assert played([("u", 3), ("v", None), ("x", 1)], is_left=True) == [
        "+I[u, 3, null, null, null]",
        "+I[v, null, null, null, null]",
        "+I[x, 1, 1, ann, 30]",
    ]


def test_conditions_before_between_and_after() -> None:
    before = scalar_call("<>", [FieldRef(0, STRING), Literal("y", STRING.not_null())])
    found = scalar_call(">", [FieldRef(2, INT), Literal(25, INT.not_null())])
    assert played([("x", 1), ("y", 1), ("z", 2)], is_left=True, before=before, found_condition=found) == [
        "+I[x, 1, 1, ann, 30]",
        "+I[y, 1, null, null, null]",
        "+I[z, 2, 2, bob, 40]",
    ]
    both = scalar_call("=", [FieldRef(0, STRING), FieldRef(3, STRING)])
    assert played([("bea", 2), ("x", 1)], is_left=True, condition=both) == [
        "+I[bea, 2, 2, bea, 20]",
        "+I[x, 1, null, null, null]",
    ]


def test_found_rows_are_projected_and_constants_are_asked_for() -> None:
    made = LookupTerms(key_fields=(1,), constants=("eu",), width=1, is_left=False, projections=(FieldRef(1, STRING),))
    with OperatorHarness(LookupJoinOperator(lookup=Table(), terms=made)) as harness:
        harness.process_element((INSERT, "x", 1))
        assert shown(harness.output_values()) == ["+I[x, 1, ann]"]
    assert asked[1] == [(1, "eu")]


def test_kinds_of_rows_are_kept() -> None:
    with OperatorHarness(LookupJoinOperator(lookup=Table(), terms=terms())) as harness:
        harness.process_elements([((kind, "x", 1), None) for kind in (INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE)])
        assert [row[0] for row in harness.output_values()] == [INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE]


def test_a_failure_names_the_operator_and_the_row() -> None:
    with pytest.raises(OperatorFailure, match=r"unlucky") as raised:
        played([("x", 13)])
    assert "looking up 1 keys" in str(raised.value)
    assert "'x', 13" in str(raised.value)


def test_a_condition_that_fails_shows_its_row() -> None:
    division = scalar_call("/", [Literal(1, INT.not_null()), scalar_call("-", [FieldRef(1, INT), FieldRef(2, INT)])])
    condition = scalar_call(">", [division, Literal(0, INT.not_null())])
    for made in (
        LookupJoinOperator(lookup=Table(), terms=terms(condition=condition)),
        async_operator(terms=terms(condition=condition)),
    ):
        with OperatorHarness(made) as harness, pytest.raises(OperatorFailure, match="'x', 1"):
            harness.process_elements([((INSERT, "x", 1), None)])
            harness.process_watermark(1)


# ---- caches ----


def cache(**settings: Any) -> tuple[LookupCache, list[int]]:
    now = [0]
    return LookupCache(CacheSettings(**settings), lambda: now[0]), now


def test_a_cache_forgets_by_age_and_by_idleness() -> None:
    held, now = cache(expire_after_write_ms=100, expire_after_access_ms=50)
    held.put((1,), [("ann",)])
    for time, is_there in ((40, True), (80, True), (99, True), (100, False)):
        now[0] = time
        assert (held.get((1,)) is not None) is is_there
    held.put((1,), [("ann",)])
    now[0] = 150
    assert held.get((1,)) is None
    assert len(held) == 0


def test_a_full_cache_forgets_what_was_not_used_for_longest() -> None:
    held, _ = cache(max_keys=2)
    held.put((1,), [])
    held.put((2,), [])
    assert held.get((1,)) == []
    held.put((3,), [])
    assert [held.get((key,)) for key in (1, 2, 3)] == [[], None, []]


def test_that_nothing_was_found_is_kept_unless_it_is_not_wanted() -> None:
    held, _ = cache(keeps_missing=False)
    held.put((1,), [])
    held.put((2,), [("bob",)])
    assert (held.get((1,)), held.get((2,))) == (None, [("bob",)])


def test_what_is_cached_is_not_asked_for_again() -> None:
    made = LookupJoinOperator(lookup=Table(), terms=terms(is_left=True), cache=CacheSettings())
    with OperatorHarness(made) as harness:
        for row in (("x", 1), ("y", 3), ("z", 1), ("u", 3)):
            harness.process_element((INSERT, *row))
        assert [row[4] for row in harness.output_values()] == ["ann", None, "ann", None]
    assert asked == ["open", [(1,)], [(3,)], "close"]


# ---- tries ----


def test_misses_are_asked_for_again_together_until_the_tries_are_used_up() -> None:
    slept: list[float] = []
    misses.update({(1,): 2, (2,): 0})
    retried = RetriedLookup(Table(), 3, 10_000, slept.append)
    assert retried.find([(1,), (2,), (3,)]) == [PEOPLE[(1,)], PEOPLE[(2,)], []]
    assert asked == [[(1,), (2,), (3,)], [(1,), (3,)], [(1,), (3,)], [(3,)]]
    assert slept == [10, 10, 10]


# ---- calls ----


def async_operator(**settings: Any) -> AsyncLookupJoinOperator:
    given = {"timeout_ms": 60_000, "capacity": 10, "is_ordered": True, **settings}
    made = given.pop("terms", terms(is_left=True))
    return AsyncLookupJoinOperator(lookup=AsyncTable(), terms=made, **given)


def called(rows: list[Any], **settings: Any) -> list[str]:
    with OperatorHarness(async_operator(**settings)) as harness:
        harness.process_elements([((INSERT, *row), None) for row in rows])
        harness.process_watermark(1)
        return shown(harness.output_values())


ROWS = [("x", 1), ("y", None), ("z", 2), ("u", 9)]
JOINED = [
    "+I[x, 1, 1, ann, 30]",
    "+I[y, null, null, null, null]",
    "+I[z, 2, 2, bob, 40]",
    "+I[z, 2, 2, bea, 20]",
    "+I[u, 9, null, null, null]",
]


def test_calls_give_results_in_the_order_of_rows_or_as_they_end() -> None:
    assert called(ROWS) == JOINED
    unordered = called(ROWS, is_ordered=False)
    assert sorted(unordered) == sorted(JOINED)
    assert unordered.index(JOINED[4]) < unordered.index(JOINED[0])
    assert None not in {key[0] for key in asked}


def test_calls_use_the_cache() -> None:
    with OperatorHarness(async_operator(cache=CacheSettings())) as harness:
        for watermark in range(3):
            harness.process_element((INSERT, "x", 1))
            harness.process_watermark(watermark)
        assert len(harness.output_values()) == 3
    assert asked == [(1,)]


def test_calls_that_find_nothing_are_made_again() -> None:
    misses.update({(1,): 2})
    assert called([("x", 1), ("y", None), ("u", 3)], max_attempts=2, delay_ms=1) == [
        "+I[x, 1, 1, ann, 30]",
        "+I[y, null, null, null, null]",
        "+I[u, 3, null, null, null]",
    ]
    assert sorted(asked) == [(1,)] * 3 + [(3,)] * 3


class Never(AsyncLookup):
    async def find(self, key: Any) -> list[Any]:
        await asyncio.get_running_loop().create_future()
        return []


def test_a_call_that_takes_too_long_fails() -> None:
    made = AsyncLookupJoinOperator(lookup=Never(), terms=terms(), timeout_ms=5, capacity=1, is_ordered=True)
    with OperatorHarness(made) as harness, pytest.raises(OperatorFailure, match="timed out"):
        harness.process_element((INSERT, "x", 1))
        harness.process_watermark(1)


# ---- changes ----


def test_what_was_found_is_taken_back_as_it_was() -> None:
    made = MaterializedLookupJoinOperator(lookup=Table(), terms=terms(is_left=True), types=(INT, STRING, INT))
    with KeyedHarness(made, key=RowKey(0)) as harness:
        misses[(1,)] = 1
        steps = [
            (INSERT, "x", 1),  # finds nothing
            (UPDATE_BEFORE, "x", 1),
            (UPDATE_AFTER, "x", 1),  # finds ann
            (DELETE, "x", 1),
        ]
        for row in steps:
            harness.process_element(row)
        assert shown(harness.output_values()) == [
            "+I[x, 1, null, null, null]",
            "-U[x, 1, null, null, null]",
            "+U[x, 1, 1, ann, 30]",
            "-D[x, 1, 1, ann, 30]",
        ]
        assert harness.num_keyed_state_entries() == 0
    assert asked == ["open", [(1,)], [(1,)], "close"]
