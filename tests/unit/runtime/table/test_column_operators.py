"""Operators of tables give the same for columns as for rows, wherever blocks, batches and watermarks fall."""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random
from typing import Any

import pytest

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import Types
from penstock.runtime.operators.table import (
    GroupAggregateOperator,
    JoinKind,
    JoinSide,
    LocalWindowAggregateOperator,
    RegularJoinOperator,
    RowKey,
    WindowAggregateOperator,
    slicing_refusal,
    small_views,
)
from penstock.state.serializers import serializer_for
from penstock.testing import HarnessSnapshot, OperatorHarness
from penstock.testing.harness import KeyedHarness
from penstock.testing.two_input_harness import KeyedTwoInputHarness
from penstock.vocabulary.sql.scalar import call as scalar_call
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import FieldRef
from penstock.vocabulary.sql.windows import WindowKind, WindowSpec
from tests.unit.runtime.table.as_columns import KEYS, TIME, TYPES, feed_columns, played, played_both, random_rows
from tests.unit.runtime.table.changelogs import (
    INT,
    STRING,
    call,
    in_blocks,
    materialized,
)

CALLS = (
    call("COUNT", types=TYPES),
    call("COUNT", 2, types=TYPES),
    call("SUM", 2, types=TYPES),
    call("SUM", 3, types=TYPES, filter=5),
    call("SUM", 4, types=TYPES),
    call("AVG", 2, types=TYPES),
    call("AVG", 4, types=TYPES, filter=5),
    call("MIN", 3, types=TYPES),
    call("MAX", 2, types=TYPES, filter=5),
    call("COUNT", types=TYPES, filter=5),
)
WINDOWS = {
    "tumble": WindowSpec(WindowKind.TUMBLE, 5, offset_ms=2),
    "hop": WindowSpec(WindowKind.HOP, 12, 4),
    "cumulate": WindowSpec(WindowKind.CUMULATE, 12, 4),
}


# ---- GROUP BY ----

TEXT_CALLS = (
    call("MIN", 0, types=TYPES),
    call("MAX", 0, types=TYPES),
    call("MAX", 0, types=TYPES, filter=5),
)


@pytest.mark.parametrize("with_before", [True, False], ids=["with -U", "without -U"])
@pytest.mark.parametrize("name", ["text", "number", "both"])
def test_a_group_by_puts_out_the_same_changelog(seed: int, name: str, with_before: bool) -> None:
    random, fields = Random(seed), KEYS[name]

    def make() -> GroupAggregateOperator:
        return GroupAggregateOperator(
            key_fields=fields,
            aggregates=(*CALLS, *TEXT_CALLS),
            input_types=TYPES,
            needs_retraction=False,
            generate_update_before=with_before,
        )

    by_rows, by_columns = played_both(random, make, RowKey(*fields), random_rows(random, 150))
    # Blocks of columns wait, so that rows of other keys may come before them; those of a key are in order.
    for key in {row[1 : 1 + len(fields)] for row in by_rows}:
        of_key = [[row for row in made if row[1 : 1 + len(fields)] == key] for made in (by_rows, by_columns)]
        assert repr(of_key[0]) == repr(of_key[1])
    assert len(by_rows) == len(by_columns)


@pytest.mark.parametrize("with_before", [True, False], ids=["with -U", "without -U"])
@pytest.mark.parametrize("counts", [True, False], ids=["a count of all rows", "none"])
@pytest.mark.parametrize("keys", [1, 7], ids=["one key", "seven"])
def test_rows_that_change_nothing_put_out_nothing(seed: int, with_before: bool, counts: bool, keys: int) -> None:
    """A mean or a maximum may stay as it is; the number of all rows never does."""
    random, types = Random(seed), tuple([each.not_null() for each in TYPES])
    calls = (call("AVG", 2, types=types), call("MAX", 3, types=types), call("SUM", 2, types=types, filter=5))
    calls = (*calls, call("COUNT", types=types)) if counts else calls

    def make() -> GroupAggregateOperator:
        return GroupAggregateOperator(
            key_fields=(1,),
            aggregates=calls,
            input_types=types,
            needs_retraction=False,
            generate_update_before=with_before,
        )

    drawn = [(random.randrange(keys), random.randrange(3), random.random() < 0.4) for _ in range(120)]
    rows = [(0, "a", key, number, 5, 0.5, flag, at) for at, (key, number, flag) in enumerate(drawn)]
    by_rows, by_columns = played_both(random, make, RowKey(1), rows)
    for key in range(keys):
        of_key = [[row for row in made if row[1] == key] for made in (by_rows, by_columns)]
        assert of_key[0] == of_key[1]
    assert (len(by_rows) < (2 * len(rows) - keys if with_before else len(rows))) is not counts


DISTINCT_CALLS = (
    call("COUNT", types=TYPES),
    *[call("COUNT", field, types=TYPES, is_distinct=True) for field in (0, 2, 3)],
    call("COUNT", 2, types=TYPES, is_distinct=True, filter=5),
    call("COUNT", 3, types=TYPES, is_distinct=True, filter=5),
)


@pytest.mark.parametrize("most", [1, 64], ids=["each value a row of state", "all in one"])
@pytest.mark.parametrize("name", ["number", "both"])
def test_distinct_counts_of_columns_are_those_of_rows(
    seed: int, name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_views, "_MOST_ENTRIES", most)
    random, fields = Random(seed), KEYS[name]

    def make() -> GroupAggregateOperator:
        return GroupAggregateOperator(
            key_fields=fields,
            aggregates=DISTINCT_CALLS,
            input_types=TYPES,
            needs_retraction=False,
            generate_update_before=True,
        )

    rows = random_rows(random, 150)
    by_rows, by_columns = played_both(random, make, RowKey(*fields), rows)
    left = [materialized(made) for made in (by_rows, by_columns)]
    assert left[0] == left[1] == Counter(expected_counts(rows, fields))
    assert Counter(by_rows) == Counter(by_columns)


def expected_counts(rows: list[Any], fields: tuple[int, ...]) -> list[Any]:
    """What DISTINCT_CALLS are in the end, by plain Python."""
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        groups.setdefault(tuple([row[at + 1] for at in fields]), []).append(row[1:])
    return [
        (
            *key,
            len(found),
            *[len({row[at] for row in found} - {None}) for at in (0, 2, 3)],
            *[len({row[at] for row in found if row[5]} - {None}) for at in (2, 3)],
        )
        for key, found in groups.items()
    ]


def test_select_distinct_of_columns() -> None:
    made = GroupAggregateOperator(
        key_fields=(0, 1), aggregates=(), input_types=TYPES, needs_retraction=False, generate_update_before=False
    )
    rows = random_rows(Random(3), 40)
    with KeyedHarness(made, key=RowKey(0, 1)) as harness:
        feed_columns(harness, rows, RowKey(0, 1))
        harness.snapshot()
        expected = list(dict.fromkeys((0, *row[1:3]) for row in rows))
        assert harness.output_values() == expected


def test_a_watermark_stays_behind_the_columns_before_it() -> None:
    made = GroupAggregateOperator(
        key_fields=(1,), aggregates=CALLS[:1], input_types=TYPES, needs_retraction=False, generate_update_before=False
    )
    with KeyedHarness(made, key=RowKey(1)) as harness:
        feed_columns(harness, random_rows(Random(1), 5), RowKey(1))
        harness.process_watermark(7)
        harness.snapshot()
        found = harness.output_with_watermarks()
        assert [type(each).__name__ for each in found] == [*["StreamRecord"] * 5, "Watermark"]


def test_a_sum_that_leaves_64_bits_is_folded_row_by_row() -> None:
    calls = (call("SUM", 3, types=TYPES),)
    made = GroupAggregateOperator(
        key_fields=(1,), aggregates=calls, input_types=TYPES, needs_retraction=False, generate_update_before=False
    )
    rows = [(0, None, 1, None, value, None, None, 0) for value in (2**63 - 1, 1, 5)]
    with KeyedHarness(made, key=RowKey(1)) as harness:
        feed_columns(harness, rows, RowKey(1))
        harness.snapshot()
        assert [row[2] for row in harness.output_values()] == [2**63 - 1, -(2**63), -(2**63) + 5]


# ---- windows ----


class RowWindows(WindowAggregateOperator):
    """Aggregates row by row."""

    def _column_windows(self, code: Any) -> None:
        return None


def window_aggregate(
    made: type[WindowAggregateOperator], window: WindowSpec, keys: tuple[int, ...], **settings: Any
) -> WindowAggregateOperator:
    return made(
        key_fields=keys,
        aggregates=CALLS,
        input_types=TYPES,
        window=window,
        time_field=TIME,
        properties=("time", "start", "end"),
        **settings,
    )


def watermarks(random: Random, rows: list[Any], lateness: int) -> dict[int, int]:
    """A watermark for each number of rows seen."""
    marks, reached = {}, -1
    for at, row in enumerate(rows, 1):
        reached = max(reached, row[-1] - lateness)
        marks[at] = reached
    return marks


@pytest.mark.parametrize("lateness", [10, 1], ids=["in time", "some late"])
@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_columns_are_those_of_rows(seed: int, name: str, keys: str, lateness: int) -> None:
    random, fields = Random(seed), KEYS[keys]
    rows, cuts = random_rows(random, 120), random.random()
    marks = watermarks(random, rows, lateness)
    found = [
        played(
            Random(cuts),
            lambda made=made: window_aggregate(made, WINDOWS[name], fields),
            RowKey(*fields),
            rows,
            as_columns=made is WindowAggregateOperator,
            marks=marks,
        )
        for made in (RowWindows, WindowAggregateOperator)
    ]
    assert materialized(found[0][0]) == materialized(found[1][0])
    assert found[0][1] == found[1][1]
    assert [row[-1] for row in found[1][0]] == sorted(row[-1] for row in found[1][0])  # windows come in their order


@pytest.mark.parametrize("lateness", [10, 1], ids=["in time", "some late"])
@pytest.mark.parametrize("keys", KEYS)
def test_windows_that_rows_come_with_are_the_same_in_columns(seed: int, keys: str, lateness: int) -> None:
    """Rows of a window aggregate have the start and the end of a window; some have none."""
    random, fields = Random(seed), KEYS[keys]
    whole = tuple([each for each in CALLS if 4 not in each.arguments and 3 not in each.arguments])
    rows = []
    for row in random_rows(random, 150):
        start = None if random.random() < 0.05 else row[TIME + 1] // 10 * 10
        rows.append((*row[:4], start, *row[5 : TIME + 1], None if start is None else start + 10))

    def make() -> WindowAggregateOperator:
        return WindowAggregateOperator(
            key_fields=fields,
            aggregates=whole,
            input_types=TYPES,
            window=WindowSpec(WindowKind.TUMBLE, 10),
            window_fields=(3, TIME),
            properties=("start", "end", "time"),
        )

    marks, cuts = watermarks(random, [(*row[:-1], row[-1] or 0) for row in rows], lateness + 8), random.random()
    found = [
        played(Random(cuts), make, RowKey(*fields), rows, as_columns=as_columns, marks=marks)
        for as_columns in (False, True)
    ]
    assert Counter(found[0][0]) == Counter(found[1][0]) and found[0][0]
    assert found[0][1] == found[1][1]
    assert bool(found[0][1]) is (lateness == 1)


@pytest.mark.parametrize("lateness", [10, 1], ids=["in time", "some late"])
@pytest.mark.parametrize("keys", ["text", "number", "both"])
def test_sessions_of_columns_are_those_of_rows(seed: int, keys: str, lateness: int) -> None:
    random, fields = Random(seed), KEYS[keys]
    rows, cuts = random_rows(random, 120), random.random()
    rows = [(*row[:-1], row[-1] + random.choice([0, 0, 0, 9])) for row in rows]
    marks = watermarks(random, rows, lateness)
    by_rows, by_columns = (
        played(
            Random(cuts),
            lambda: window_aggregate(WindowAggregateOperator, WindowSpec(WindowKind.SESSION, 3), fields),
            RowKey(*fields),
            rows,
            as_columns=is_columns,
            marks=marks,
        )
        for is_columns in (False, True)
    )
    assert by_rows[0] and materialized(by_rows[0]) == materialized(by_columns[0])
    assert by_rows[1] == by_columns[1]


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("name", WINDOWS)
def test_two_phases_give_what_one_gives(seed: int, name: str, keys: str) -> None:
    random, fields, window = Random(seed), KEYS[keys], WINDOWS[name]
    rows = random_rows(random, 120)
    marks = watermarks(random, rows, 10)
    local = LocalWindowAggregateOperator(
        key_fields=fields, aggregates=CALLS, input_types=TYPES, window=window, time_field=TIME
    )
    partial_key = RowKey(*range(len(fields)))
    both = window_aggregate(WindowAggregateOperator, window, fields, is_partial=True)
    seen = 0
    with OperatorHarness(local) as first, KeyedHarness(both, key=partial_key) as second:
        for block in in_blocks(random, rows):
            if random.random() < 0.5:
                feed_columns(first, block)
            else:
                first.process_elements([(row, None) for row in block])
            seen += len(block)
            first.process_watermark(marks[seen])
            if random.random() < 0.3:
                first.snapshot()
                second.snapshot()
            second.process_elements([(row, None) for row in first.output_values()])
            first.clear_output()
            second.process_watermark(marks[seen])
        first.end_input()
        second.process_elements([(row, None) for row in first.output_values()])
        second.end_input()
        assert second.late_records_dropped() == 0
        found = second.output_values()
    expected, _ = played(
        Random(seed),
        lambda: window_aggregate(RowWindows, window, fields),
        RowKey(*fields),
        rows,
        as_columns=False,
        marks=marks,
    )
    assert materialized(found) == materialized(expected)


def test_a_local_phase_lets_nothing_wait_that_is_over() -> None:
    local = LocalWindowAggregateOperator(
        key_fields=(1,), aggregates=CALLS[:1], input_types=TYPES, window=WINDOWS["hop"], time_field=TIME
    )
    with OperatorHarness(local) as harness:
        rows = [(0, None, 7, None, None, None, None, time) for time in (1, 2, 9)]
        feed_columns(harness, rows)
        assert harness.output_values() == []
        harness.process_watermark(3)
        assert harness.output_values() == [(0, 7, 0, 2)]  # key, slice, count
        feed_columns(harness, rows[:1])
        assert harness.output_values()[1:] == [(0, 7, 0, 1)]  # late already: it is not to become later
        harness.snapshot()
        assert harness.output_values()[2:] == [(0, 7, 2, 1)]


def test_windows_far_apart_cost_nothing_between() -> None:
    made = window_aggregate(WindowAggregateOperator, WindowSpec(WindowKind.HOP, 12, 4), (1,))
    with KeyedHarness(made, key=RowKey(1)) as harness:
        rows = [(0, None, 7, None, None, None, None, time) for time in (1, 10**15)]
        feed_columns(harness, rows, RowKey(1))
        harness.end_input()
        assert [row[-1] for row in harness.output_values()] == [4, 8, 12, *[10**15 + step for step in (4, 8, 12)]]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"calls": (call("SUM", 3, types=TYPES, is_distinct=True),)}, "the aggregate SUM(DISTINCT) has no column form"),
        ({"calls": (call("MAX", 0, types=TYPES),)}, "MAX of column a, which is a VARCHAR, has no column form"),
        ({"keys": (4,)}, "the key, column e, is a DOUBLE"),
        ({"window": WindowSpec(WindowKind.HOP, 7, 3)}, "the size of the windows is no multiple of their slide"),
        ({"window": WindowSpec(WindowKind.SESSION, 7)}, "session windows have no slices"),
        (
            {"window": WindowSpec(WindowKind.TUMBLE, 7, zone="Europe/Berlin")},
            "the windows follow the clocks of Europe/Berlin",
        ),
    ],
    ids=["distinct", "text", "float key", "uneven", "session", "zone"],
)
def test_what_columns_cannot_do_is_left_to_rows(changed: dict[str, Any], reason: str) -> None:
    given = {"keys": (0,), "calls": CALLS, "window": WINDOWS["hop"], **changed}
    assert slicing_refusal(given["keys"], given["calls"], TYPES, given["window"], "abcdefg") == reason


# ---- joins ----


def join_operator(condition: str, *, as_columns: bool, null_safe: bool = False) -> RegularJoinOperator:
    tests = {
        "none": None,
        "kernel": scalar_call("<", [FieldRef(2, INT), FieldRef(9, INT)]),
        "rows": scalar_call("=", [scalar_call("UPPER", [FieldRef(at, STRING)]) for at in (0, 7)]),
    }
    side = JoinSide(TYPES, (1,), is_insert_only=as_columns)
    return RegularJoinOperator(
        join=JoinKind.INNER, left=side, right=side, condition=tests[condition], filter_nulls=(not null_safe,)
    )


def joined(random: Random, make: Any, steps: list[tuple[int, list[Any]]], *, as_columns: bool) -> Counter[Any]:
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    for batch in in_blocks(random, steps):
        harness = KeyedTwoInputHarness(make(), key1=RowKey(1), key2=RowKey(1))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for side, block in batch:
                if as_columns and random.random() < 0.8:
                    feed_columns(harness, block, RowKey(1), index=side)
                else:
                    feed = harness.process_elements2 if side else harness.process_elements1
                    feed([(row, None) for row in block])
            snapshot = harness.snapshot()
            results += harness.output_values()
    return materialized(results)


@pytest.mark.parametrize("null_safe", [False, True], ids=["=", "is not distinct from"])
@pytest.mark.parametrize("condition", ["none", "kernel", "rows"])
def test_a_join_of_columns_has_the_pairs_of_rows(seed: int, condition: str, null_safe: bool) -> None:
    random = Random(seed)
    rows = random_rows(random, 260)  # so many of few keys that they do not fit into one value
    steps = [(random.randrange(2), block) for block in in_blocks(random, rows)]
    cuts = random.random()
    found = [
        joined(
            Random(cuts),
            lambda is_columns=is_columns: join_operator(condition, as_columns=is_columns, null_safe=null_safe),
            steps,
            as_columns=is_columns,
        )
        for is_columns in (False, True)
    ]
    assert found[0] == found[1]
    assert found[0]


def test_rows_of_a_join_are_stored_as_their_types_say(seed: int) -> None:
    random = Random(seed)
    make = partial(join_operator, "none", as_columns=True)
    row_type = row_state_type(TYPES)
    rows = FrozenListTypeInfo(row_type)
    value = serializer_for(Types.TUPLE([rows, rows, Types.BOOLEAN(), Types.BOOLEAN()]), "_rows")
    more = serializer_for(Types.LIST(row_type), "_more_left_rows")
    seen = Counter[str]()
    snapshot: HarnessSnapshot | None = None
    for _ in range(4):
        harness = KeyedTwoInputHarness(make(), key1=RowKey(1), key2=RowKey(1))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for side in (0, 1):
                feed_columns(harness, random_rows(random, 70), RowKey(1), index=side)
            snapshot = harness.snapshot()
        for row, data in snapshot.rows.items():
            for serializer in (value, more) if row[0] == 1 else ():
                if data[1:5] == serializer.number:
                    assert serializer.dumps(serializer.loads(data)) == data
                    seen[serializer.state_name] += 1
    assert min(seen["_rows"], seen["_more_left_rows"]) > 4
