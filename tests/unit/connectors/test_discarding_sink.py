"""The sink that drops everything: it runs, and costs no exchange."""

from __future__ import annotations

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink


def test_records_are_dropped_where_they_are() -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(2)
    seen: list[int] = []
    stream = environment.from_sequence(1, 3).map(lambda value: seen.append(value) or value)
    stream.sink_to(DiscardingSink())
    assert "level 1" not in environment.explain().lower()
    environment.execute("nothing")
