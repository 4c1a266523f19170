"""Rows between tasks of continuous mode: nothing is lost, and each channel keeps its order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.spark.continuous.carried_rows import contents_of, rows_of, to_carried
from penstock.runtime.rows import ExchangeRow

INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
ROWS = st.builds(ExchangeRow, st.integers(0, 3), INT, INT, LONG, LONG, st.integers(-1, 7), st.binary(max_size=40))


@given(outgoing=st.lists(ROWS, min_size=1, max_size=12), hop=st.integers(0, 100))
def test_what_is_packed_comes_out_in_the_order_of_each_target(outgoing: list[ExchangeRow], hop: int) -> None:
    batch = to_carried(outgoing, hop)
    found = [row for content in contents_of(batch) for row in rows_of(content)]
    assert all(sender == hop for sender, _ in found)
    for target in range(4):
        assert [row for _, row in found if row.target == target] == [row for row in outgoing if row.target == target]
    targets = batch.column(0).to_pylist()
    assert targets[: len(targets) // 2] == targets[len(targets) // 2 :], "each target has a row, and one behind it"
    assert set(targets) == {row.target for row in outgoing}
    assert batch.column(1).to_pylist()[len(targets) // 2 :] == [b""] * (len(targets) // 2)
