"""What a shell or a notebook shows of a stream."""

from __future__ import annotations

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment


def test_a_stream_says_how_it_came_about() -> None:
    environment = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    numbers = environment.from_collection([1, 2, 3])
    doubled = numbers.map(lambda n: 2 * n, Types.LONG()).name("doubled")
    assert repr(doubled) == f"<DataStream Collection Source -> doubled, elements {Types.LONG()!r}>"
    assert repr(doubled.key_by(lambda n: n)).startswith("<KeyedStream Collection Source -> doubled")
    assert repr(numbers.union(doubled)).startswith("<DataStream of 2 streams: Collection Source")


def test_a_long_way_is_told_short() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    for number in range(20):
        stream = stream.map(lambda n: n).name(f"step {number}")
    assert repr(stream) == (
        "<DataStream Collection Source -> ... -> step 15 -> step 16 -> step 17 -> step 18 -> step 19>"
    )


def test_a_notebook_shows_a_table_in_which_names_are_no_markup() -> None:
    environment = StreamExecutionEnvironment.get_execution_environment().set_parallelism(3)
    stream = environment.from_collection([1]).map(lambda n: n).name("<b>bold</b>")
    shown = stream._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in shown
    assert "<td>3</td>" in shown
