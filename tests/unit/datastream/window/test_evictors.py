"""Which elements evictors remove, and when."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.common import Time
from penstock.datastream.window import (
    CountEvictor,
    DeltaEvictor,
    DeltaFunction,
    Evictor,
    GlobalWindow,
    TimeEvictor,
    TimestampedValue,
)
from penstock.errors import GraphError
from tests.unit.datastream.window.contexts import EvictorRig


class Difference(DeltaFunction[float]):
    def get_delta(self, old_data_point: float, new_data_point: float) -> float:
        return new_data_point - old_data_point


def left(evictor: Evictor[Any, Any], elements: list[tuple[Any, int | None]], after: bool = False) -> list[Any]:
    """The values that an evictor leaves, before or after the window function."""
    content = [TimestampedValue(value, timestamp) for value, timestamp in elements]
    evict = evictor.evict_after if after else evictor.evict_before
    evict(content, len(content), GlobalWindow.get(), EvictorRig())
    return [element.get_value() for element in content]


def untimed(*values: Any) -> list[tuple[Any, int | None]]:
    return [(value, None) for value in values]


def test_the_last_elements_by_number_stay() -> None:
    assert left(CountEvictor.of(2), untimed(1, 2, 3)) == [2, 3]
    assert left(CountEvictor.of(3), untimed(1, 2, 3)) == [1, 2, 3]
    assert left(CountEvictor.of(0), untimed(1, 2)) == []


def test_the_last_elements_by_time_stay() -> None:
    elements: list[tuple[Any, int | None]] = [("a", 10), ("b", 25), ("c", 15), ("d", 16)]
    assert left(TimeEvictor.of(Time.milliseconds(10)), elements) == ["b", "d"]
    assert left(TimeEvictor.of(16), elements) == ["a", "b", "c", "d"]


def test_without_timestamps_time_evicts_nothing() -> None:
    assert left(TimeEvictor.of(10), untimed(1, 2)) == [1, 2]
    assert left(TimeEvictor.of(10), []) == []


@pytest.mark.parametrize("function", [Difference(), lambda old, new: new - old])
def test_elements_near_the_last_one_stay(function: Any) -> None:
    assert left(DeltaEvictor.of(5, function), untimed(1, 6, 5, 9, 10)) == [6, 9, 10]
    assert left(DeltaEvictor.of(5, function), []) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda after: CountEvictor.of(1, after),
        lambda after: TimeEvictor.of(1, after),
        lambda after: DeltaEvictor.of(1, Difference(), after),
    ],
)
@pytest.mark.parametrize("after", [False, True])
def test_evictors_act_on_the_side_they_were_made_for(make: Any, after: bool) -> None:
    elements: list[tuple[Any, int | None]] = [(1, 10), (5, 20)]
    assert left(make(after), elements, after=after) == [5]
    assert left(make(after), elements, after=not after) == [1, 5]


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountEvictor.of(-1),
        lambda: CountEvictor.of("1"),  # type: ignore[arg-type]
        lambda: TimeEvictor.of(0),
        lambda: DeltaEvictor.of(1, "no function"),  # type: ignore[arg-type]
        lambda: DeltaEvictor.of("1", Difference()),  # type: ignore[arg-type]
    ],
)
def test_what_evicts_nothing_sensible_is_refused(make: Any) -> None:
    with pytest.raises(GraphError, match="Evictor"):
        make()


def test_an_element_knows_whether_it_has_a_timestamp() -> None:
    timed, bare = TimestampedValue("a", 0), TimestampedValue("a")
    assert timed.has_timestamp() and timed.get_timestamp() == 0
    assert not bare.has_timestamp() and bare.timestamp is None
    with pytest.raises(ValueError, match="assign_timestamps_and_watermarks"):
        bare.get_timestamp()
    assert timed != bare and pickle.loads(pickle.dumps([timed, bare])) == [timed, bare]
