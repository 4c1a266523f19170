"""Rows by time against a list that is sorted anew for every question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.kernels.rows_by_time import RowsByTime

TIMES = st.integers(-5, 20)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), TIMES),
        st.tuples(st.just("add_earlier"), TIMES),
        st.tuples(st.just("drop_until"), TIMES),
    ),
    max_size=40,
)


@given(steps=STEPS, first=TIMES, last=TIMES)
def test_rows_are_in_order_of_time_and_arrival(steps: list[tuple[str, int]], first: int, last: int) -> None:
    found, model = RowsByTime(), []
    for number, (step, time) in enumerate(steps):
        if step == "add":
            found.add(time, number)
            model.append((time, number))
        elif step == "add_earlier":
            found.add_earlier(time, (number, -number))
            model = [(time, number), (time, -number), *model]
        else:
            gone = sorted(each[0] for each in model if each[0] <= time)
            assert found.drop_until(time) == gone
            model = [each for each in model if each[0] > time]
        model.sort(key=lambda each: each[0])
        assert list(zip(found.times, found.rows, strict=True)) == model
    begin, end = found.between(first, last)
    assert found.rows[begin:end] == [row for time, row in model if first <= time <= last]
