"""The collecting sink: what it keeps, and in which shapes it gives it back."""

from __future__ import annotations

from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import CollectSink


def test_results_come_as_text_or_as_they_are() -> None:
    environment = StreamExecutionEnvironment.in_process()
    sink = CollectSink()
    environment.set_parallelism(1).from_collection([(1, "a"), (2, "b")]).add_sink(sink)
    environment.execute()
    assert sink.get_results() == ["(1, 'a')", "(2, 'b')"]
    assert sink.get_results(is_python_object=True, stringify=False) == [(1, "a"), (2, "b")]


def test_the_list_given_out_is_a_copy_and_clear_forgets() -> None:
    sink = CollectSink()
    sink.invoke(1, None)
    sink.get_results(stringify=False).append(2)
    assert sink.get_results(stringify=False) == [1]
    sink.clear()
    assert sink.get_results() == []


def test_two_sinks_of_a_job_keep_apart_and_a_second_job_adds() -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(1)
    numbers = environment.from_sequence(1, 4)
    small, large = CollectSink(), CollectSink()
    numbers.filter(lambda n: n < 3).add_sink(small)
    numbers.filter(lambda n: n >= 3).add_sink(large)
    environment.execute()
    assert (small.results, large.results) == ([1, 2], [3, 4])
    environment.from_sequence(9, 9).add_sink(small)
    environment.execute()
    assert (small.results, large.results) == ([1, 2, 9], [3, 4])
