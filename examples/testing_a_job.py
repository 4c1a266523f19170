"""Testing: a job, and the tests of its function, of the whole of it, and of its recovery; run them with
`pytest examples/testing_a_job.py`. Mirrors Flink's "Testing" page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.common import Types
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.testing import CollectSink

WORDS = ["to", "be", "or", "not", "to", "be"]


class CountWords(KeyedProcessFunction[str, str, tuple[str, int]]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, word: str, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[str, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield word, count


def word_count(words: DataStream[str]) -> DataStream[tuple[str, int]]:
    return words.key_by(lambda word: word).process(CountWords())


def test_the_function_counts_each_word_by_itself(penstock_harness: Callable[..., Any]) -> None:
    harness = penstock_harness(CountWords(), key=lambda word: word)
    for word in ("to", "be", "to"):
        harness.process_element(word)
    assert harness.output_values() == [("to", 1), ("be", 1), ("to", 2)]
    assert harness.state("to", "count") == 2


def run(env: StreamExecutionEnvironment) -> tuple[list[tuple[str, int]], Any]:
    sink = CollectSink()
    word_count(env.from_collection(WORDS)).add_sink(sink)
    client: Any = env.execute_async("word count")
    client.wait()
    return sorted(sink.get_results(stringify=False)), client.job


def test_a_crash_at_any_step_neither_loses_nor_repeats_a_count(penstock_env: StreamExecutionEnvironment) -> None:
    expected, whole = run(penstock_env)
    assert expected == [("be", 1), ("be", 2), ("not", 1), ("or", 1), ("to", 1), ("to", 2)]
    for step in range(1, whole.steps + 1):
        found, job = run(StreamExecutionEnvironment.in_process(crash_at=[step]).set_parallelism(2))
        assert (found, job.crashes) == (expected, 1), f"crash at step {step}"


if __name__ == "__main__":
    program = StreamExecutionEnvironment.get_execution_environment()
    word_count(program.from_collection(WORDS)).print()
    program.execute("word count")
