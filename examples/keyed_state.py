"""Keyed state: the average of every two values of a key. Mirrors CountWindowAverage of Flink's "Working with State"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.common import Types
from penstock.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

READINGS = [("a", 3), ("a", 5), ("b", 10), ("a", 7), ("b", 30), ("a", 4), ("a", 2)]


class AverageOfTwo(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        # One value for each key: state belongs to the key of the element at hand.
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.count_and_sum = runtime_context.get_state(ValueStateDescriptor("count and sum", pair))

    def flat_map(self, reading: tuple[str, int]) -> Iterator[tuple[str, float]]:
        key, value = reading
        count, total = self.count_and_sum.value() or (0, 0)
        count, total = count + 1, total + value
        if count < 2:
            self.count_and_sum.update((count, total))
        else:
            self.count_and_sum.clear()
            yield key, total / count


def main(readings: Iterable[tuple[str, int]] = READINGS) -> list[tuple[str, float]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    averages = env.from_collection(readings).key_by(lambda reading: reading[0]).flat_map(AverageOfTwo())
    return list(averages.execute_and_collect("average of two"))


if __name__ == "__main__":
    for key, average in main():
        print(key, average)
