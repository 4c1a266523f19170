"""Field aggregates of columns on one subtask: what waits and leaves as columns, and what has to go as objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.common import Row
from penstock.common.column_block import ColumnBlock
from penstock.datastream import avg_of, count, max_of, min_of, sum_of
from penstock.datastream.selectors import CompositeSelector, FieldSelector
from penstock.datastream.window import EventTimeTrigger, TumblingEventTimeWindows
from penstock.runtime import rows
from penstock.runtime.columns import KeyFields, decode_columns, encode_columns
from penstock.runtime.operators import LocalWindowAggregation, RollingFieldsOperator, StreamOperator, WindowOperator
from penstock.runtime.operators.window import Evaluation, WindowSpec, field_panes
from penstock.runtime.operators.window.partials import Partial
from penstock.vocabulary.field_aggregation import FieldAggregation
from penstock.vocabulary.window_rows import WindowRow
from tests.unit.runtime.rig import Rig

TEN = TumblingEventTimeWindows.of(10)
FUNCTION = FieldAggregation((count(), sum_of("v"), max_of("v")))
NAMES = ("k", "window_start", "window_end", "count", "sum_v", "max_v")


class Kinds(StreamOperator):
    """Passes everything on, and notes what blocks came as."""

    seen: list[type]

    def open(self) -> None:
        self.seen = []

    def process_block(self, values: list[Any], timestamps: Any, keys: Any) -> None:
        self.seen.append(list)
        self.output.emit(values, timestamps)

    def process_columns(self, block: ColumnBlock, timestamps: Any, keys: Any) -> None:
        self.seen.append(ColumnBlock)
        self.output.emit(block, timestamps)


def block(keys: list[Any], values: list[Any], kind: Any = None) -> ColumnBlock:
    return ColumnBlock(pa.RecordBatch.from_arrays([pa.array(keys), pa.array(values, kind)], names=["k", "v"]), "row")


def local(tmp_path: Path, *, key: Any = "k", sends_columns: bool = True, **settings: Any) -> Rig:
    grid = TEN.pane_grid()
    assert grid is not None
    selector = CompositeSelector(tuple(map(FieldSelector, key))) if isinstance(key, tuple) else FieldSelector(key)
    operator = LocalWindowAggregation(selector, grid, FUNCTION, is_pure=True, sends_columns=sends_columns, **settings)
    return Rig(tmp_path, operator, Kinds())


def windows(tmp_path: Path, function: FieldAggregation = FUNCTION, names: tuple[str, ...] = NAMES) -> Rig:
    spec = WindowSpec(
        TEN,
        EventTimeTrigger.create(),
        Evaluation.APPLY,
        WindowRow(names, False, True),
        function,
        takes_partials=True,
        key_fields="k",
    )
    return Rig(tmp_path, WindowOperator(spec), Kinds(), key=lambda value: value[0])


def feed(rig: Rig, columns: ColumnBlock, at: list[int], key_fields: KeyFields | None = None) -> None:
    rig._feed(0, rows.DATA, encode_columns(columns, np.array(at), key_fields))


def kinds(rig: Rig) -> list[type]:
    operator: Any = rig.subtask.vertex.operators[1].operator
    seen, operator.seen = operator.seen, []
    return list(seen)


def row(*values: Any) -> tuple[Row, int]:
    return Row.of_fields(NAMES, list(values)), values[2] - 1


# ---- in front of the exchange ----


def test_partials_of_a_pane_leave_as_columns_before_its_watermark(tmp_path: Path) -> None:
    rig = local(tmp_path)
    feed(rig, block([1, 2, 1], [5, None, 7]), [0, 1, 9])
    feed(rig, block([1, 2], [1, 2]), [3, 4])
    rig.watermark(8)
    assert rig.take() == [("watermark", 8)]
    rig.watermark(9)
    expected = [(Partial(1, 0, (3, 13, 7), 3), 0), (Partial(2, 0, (2, 2, 2), 2), 0)]
    assert rig.take() == [*expected, ("watermark", 9)]
    assert kinds(rig) == [ColumnBlock]


def test_a_measure_that_has_seen_nothing_is_none(tmp_path: Path) -> None:
    rig = local(tmp_path)
    feed(rig, block([1, 2], [None, 3], pa.int32()), [0, 1])
    rig.finish()
    assert rig.values() == [Partial(1, 0, (1, None, None), 1), Partial(2, 0, (1, 3, 3), 1)]


def test_late_records_go_alone_and_the_others_wait(tmp_path: Path) -> None:
    rig = local(tmp_path)
    rig.watermark(12)
    feed(rig, block([1, 1, 1], [5, 6, 7]), [13, 9, 10])
    assert rig.records() == [(Row(k=1, v=6), 9)]
    rig.finish()
    assert rig.records() == [(Partial(1, 10, (2, 12, 7), 2), 10)]


def test_keys_of_every_kind_become_the_objects_they_are_in_records(tmp_path: Path) -> None:
    for number, keys in enumerate(([7, 7, -1], ["a", None, "a"], [True, False, True], [2**40, 0, -(2**40)])):
        rig = local(tmp_path / str(number))
        feed(rig, block(keys, [1, 2, 3]), [0, 1, 2])
        rig.finish()
        found = {partial.key for partial in rig.values()}
        assert found == set(keys) and {*map(type, found)} == {*map(type, keys)}


def test_keys_of_several_fields_are_tuples(tmp_path: Path) -> None:
    rig = local(tmp_path, key=("k", "v"))
    feed(rig, block(["a", "a", "b"], [1, 1, 1]), [0, 1, 2])
    rig.finish()
    assert {(partial.key, partial.count) for partial in rig.values()} == {(("a", 1), 2), (("b", 1), 1)}
    assert kinds(rig) == [ColumnBlock]


@pytest.mark.parametrize("key", ["k", 0])
def test_partials_travel_as_objects_where_columns_are_no_use(tmp_path: Path, key: Any) -> None:
    rig = local(tmp_path, key=key, sends_columns=key == 0)  # a position does not say what a column is called
    feed(rig, block([1, 1], [5, 6]), [0, 1])
    rig.finish()
    assert rig.values() == [Partial(1, 0, (2, 11, 6), 2)]
    assert kinds(rig) == [list]


def test_sums_that_may_not_fit_are_left_to_python(tmp_path: Path) -> None:
    rig = local(tmp_path)
    large = 2**62
    feed(rig, block([1, 1], [large, large]), [0, 1])  # may not fit: as objects at once
    feed(rig, block([2], [large]), [0])
    feed(rig, block([2], [large]), [0])  # each fits, both together may not
    rig.finish()
    assert {(each.key, each.accumulator[1]) for each in rig.values()} == {(1, 2 * large), (2, large)}
    # Of key 2 there are two partials, which the window adds up.


def test_strings_are_compared_as_objects_and_a_missing_field_is_told(tmp_path: Path) -> None:
    rig = local(tmp_path)
    with pytest.raises(Exception, match="sum of field 'v' cannot take 'x'"):
        feed(rig, block([1], ["x"]), [0])
    rig = local(tmp_path / "other")
    with pytest.raises(Exception, match="no field 'v'"):
        feed(rig, ColumnBlock(pa.RecordBatch.from_arrays([pa.array([1])], names=["k"]), "row"), [0])


def test_what_waits_is_folded_when_it_is_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_panes, "WAITING_LIMIT", 4)
    rig = local(tmp_path)
    for number in range(10):
        feed(rig, block([1, 2, 1], [number, number, None]), [0, 1, 2])
    operator: Any = rig.subtask.vertex.operators[0].operator
    assert operator._waiting.count < 10
    rig.finish()
    assert rig.values() == [Partial(1, 0, (20, 45, 9), 20), Partial(2, 0, (10, 45, 9), 10)]


def test_columns_that_are_not_worth_it_pass_as_they_are(tmp_path: Path) -> None:
    rig = local(tmp_path)
    many = list(range(25_000))
    feed(rig, block(many, many), [0] * len(many))
    rig.watermark(9)
    rig.take()
    kinds(rig)
    feed(rig, block([1, 1], [5, 6]), [10, 11])
    assert rig.records() == [(Row(k=1, v=5), 10), (Row(k=1, v=6), 11)]
    assert kinds(rig) == [ColumnBlock]


# ---- windows ----


def partials(start: int, *parts: tuple[Any, int, Any, Any]) -> ColumnBlock:
    """Key, count, sum and maximum of partials, as they travel."""
    names = ["k", "partial:start", "partial:count", "partial:0", "partial:1", "partial:2"]
    table = [(key, start, number, number, total, largest) for key, number, total, largest in parts]
    arrays = [pa.array(column, pa.int64()) for column in zip(*table, strict=True)]
    return ColumnBlock(pa.RecordBatch.from_arrays(arrays, names=names), field_panes.PartialOfKey)


def test_a_window_in_memory_fires_as_columns_and_leaves_no_state(tmp_path: Path) -> None:
    rig = windows(tmp_path)
    feed(rig, partials(0, (1, 2, 5, 4), (2, 1, None, None)), [0, 0], "k")
    feed(rig, partials(0, (1, 1, 3, 3)), [0], "k")
    feed(rig, block([1], [10]), [5], "k")  # a record that went alone
    feed(rig, block([3], [1]), [15], "k")
    rig.watermark(9)
    assert rig.records() == [row(1, 0, 10, 4, 18, 10), row(2, 0, 10, 1, None, None)]
    assert kinds(rig) == [ColumnBlock]
    rig.watermark(19)
    assert rig.records() == [row(3, 10, 20, 1, 1, 1)]


def test_a_window_goes_on_from_its_state_in_the_next_batch(tmp_path: Path) -> None:
    rig = windows(tmp_path)
    feed(rig, partials(0, (1, 2, 5, 4), (2, 1, 1, 1)), [0, 0], "k")
    rig.next_batch()
    feed(rig, partials(0, (1, 1, 3, 9), (3, 1, 1, 1)), [0, 0], "k")
    feed(rig, partials(10, (1, 1, 2, 2)), [10], "k")
    rig.process(Partial(2, 0, (1, 1, 7), 1), at=0)
    rig.next_batch()
    rig.watermark(30)
    found = rig.records()
    assert sorted(found[:3], key=lambda each: each[0].k) == [
        row(1, 0, 10, 3, 8, 9),
        row(2, 0, 10, 2, 2, 7),
        row(3, 0, 10, 1, 1, 1),
    ]
    assert found[3:] == [row(1, 10, 20, 1, 2, 2)]


def test_windows_fire_in_the_order_of_their_ends_with_state_or_without(tmp_path: Path) -> None:
    rig = windows(tmp_path)
    feed(rig, partials(10, (1, 1, 1, 1)), [10], "k")
    rig.next_batch()
    for start in (20, 0):
        feed(rig, partials(start, (1, 1, 1, 1)), [start], "k")
    rig.watermark(100)
    assert [each[0].window_start for each in rig.records()] == [0, 10, 20]


def test_late_columns_are_dropped_and_counted_by_their_records(tmp_path: Path) -> None:
    rig = windows(tmp_path)
    rig.watermark(9)
    feed(rig, partials(0, (1, 3, 5, 4)), [0], "k")
    feed(rig, block([1, 1], [1, 2]), [5, 15], "k")
    rig.end()
    assert rig.records() == [row(1, 10, 20, 1, 2, 2)]
    assert rig.finish().metrics["uid-0"]["numLateRecordsDropped"] == 4


def test_objects_and_columns_meet_in_a_window(tmp_path: Path) -> None:
    rig = windows(tmp_path)
    feed(rig, partials(0, (1, 2, 5, 4)), [0], "k")
    rig.process(Partial(1, 0, (1, 2**70, 2**70), 1), at=0)
    rig.watermark(9)
    assert rig.records() == [row(1, 0, 10, 3, 2**70 + 5, 2**70)]


def test_means_of_large_sums_are_rounded_once(tmp_path: Path) -> None:
    function = FieldAggregation((avg_of("v"), min_of("v")))
    rig = windows(tmp_path, function, ("k", "window_start", "window_end", "mean", "least"))
    values = [2**60 + 1, 2**60 + 129, 7]
    feed(rig, block([1, 1, 1], values), [0, 1, 2], "k")
    rig.watermark(9)
    ((result, _),) = rig.records()
    assert (result.mean, result.least) == (sum(values) / 3, 7)


# ---- rolling ----


def rolling(tmp_path: Path) -> Rig:
    names = ("k", "count", "sum_v", "max_v")
    return Rig(tmp_path, RollingFieldsOperator(FUNCTION, names, False), Kinds(), key=lambda value: value.k)


def test_rolling_rows_leave_as_columns_in_the_order_of_arrival(tmp_path: Path) -> None:
    rig = rolling(tmp_path)
    feed(rig, block([2, 1, 2, 1], [4, None, 1, 3]), [7, 8, 9, 10], "k")
    rig.next_batch()
    feed(rig, block([1, 2], [9, None]), [11, 12], "k")
    expected = [(2, 1, 4, 4), (1, 1, None, None), (2, 2, 5, 4), (1, 2, 3, 3), (1, 3, 12, 9), (2, 3, 5, 4)]
    assert [(tuple(value), at) for value, at in rig.records()] == list(zip(expected, range(7, 13), strict=True))
    assert kinds(rig) == [ColumnBlock]


@pytest.mark.parametrize("runs", [1, 31, 32, 200])
def test_rolling_sums_of_floats_are_those_of_one_addition_after_the_other(tmp_path: Path, runs: int) -> None:
    values = [0.1 * number for number in range(runs)]
    rig = rolling(tmp_path)
    feed(rig, block([1] * runs + [2] * runs, values + values), [0] * 2 * runs, "k")
    total, expected = 0.0, []
    for value in values:
        total += value
        expected.append(total)
    assert [value.sum_v for value in rig.values()] == expected + expected


def test_rolling_goes_on_in_python_where_64_bits_end(tmp_path: Path) -> None:
    rig = rolling(tmp_path)
    for _ in range(3):
        feed(rig, block([1], [2**62]), [0], "k")
    assert [value.sum_v for value in rig.values()] == [2**62, 2**63, 3 * 2**62]
    assert kinds(rig) == [ColumnBlock, list, list]


def test_what_a_form_makes_of_columns_survives_the_exchange() -> None:
    payload = encode_columns(partials(0, (1, 2, 5, 4)), np.array([0]), "k")
    assert decode_columns(payload)[0].values() == [Partial(1, 0, (2, 5, 4), 2)]
