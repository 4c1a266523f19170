"""Event time: readings that come out of order are put in order, once no earlier one can come. Mirrors CarEventSort of
the Flink training: hold each element in state, with a timer at its own time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import MapStateDescriptor


class Reading(NamedTuple):
    sensor: str
    at_ms: int
    value: float


READINGS = [
    Reading("north", 1_000, 20.1),
    Reading("north", 3_000, 20.4),
    Reading("south", 2_000, 25.0),
    Reading("north", 2_000, 20.2),
    Reading("south", 1_500, 24.9),
    Reading("north", 9_000, 21.0),
]


class InOrder(KeyedProcessFunction[str, Reading, Reading]):
    def open(self, runtime_context: RuntimeContext) -> None:
        held = MapStateDescriptor[int, Reading]("held back", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        self.held = runtime_context.get_map_state(held)

    def process_element(self, reading: Reading, ctx: KeyedProcessFunction.Context) -> None:
        if reading.at_ms > ctx.timer_service().current_watermark():
            self.held.put(reading.at_ms, reading)
            ctx.timer_service().register_event_time_timer(reading.at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Reading]:
        reading = self.held.get(timestamp)
        if reading is not None:
            yield reading
        self.held.remove(timestamp)


def main(readings: Iterable[Reading] = READINGS) -> list[Reading]:
    env = StreamExecutionEnvironment.get_execution_environment()
    up_to_two_seconds = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    ordered = (
        env.from_collection(readings)
        .assign_timestamps_and_watermarks(up_to_two_seconds.with_timestamp_assigner(lambda reading, _: reading.at_ms))
        .key_by(lambda reading: reading.sensor)
        .process(InOrder())
    )
    return list(ordered.execute_and_collect("in order"))


if __name__ == "__main__":
    print(*main(), sep="\n")
