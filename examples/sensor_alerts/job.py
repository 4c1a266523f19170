"""Sensor alerts: say when a cold room is too warm for too long, when its sensor is silent, when all is fine again."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Duration, Row, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor

RUN = Path(__file__).parent / "run"
LIMIT_CELSIUS = 8.0
WARM_MS = 3 * 60_000
SILENT_MS = 5 * 60_000


class Reading(NamedTuple):
    room: str
    celsius: float
    at_ms: int


REJECTED = OutputTag[str]("rejected")
LATE = OutputTag[Reading]("late")


class ParseReading(ProcessFunction[str, Reading]):
    def process_element(
        self, line: str, ctx: ProcessFunction.Context
    ) -> Iterator[Reading | tuple[OutputTag[str], str]]:
        try:
            reading = Reading(**json.loads(line))
            if not -60 < reading.celsius < 60:
                raise ValueError("no temperature of a cold room")
            yield reading
        except (ValueError, TypeError):
            yield REJECTED, line


class Watch(KeyedProcessFunction[str, Reading, Row]):
    """Takes the readings of a room in the order of their time: each waits for a timer at its own time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting", Types.LONG(), Types.DOUBLE()))
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.warm_since = runtime_context.get_state(ValueStateDescriptor("warm since", Types.LONG()))
        self.active = runtime_context.get_map_state(MapStateDescriptor("active", Types.STRING(), Types.LONG()))

    def process_element(
        self, reading: Reading, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[OutputTag[Reading], Reading]]:
        if reading.at_ms <= ctx.timer_service().current_watermark():
            yield LATE, reading
        else:
            self.waiting.put(reading.at_ms, reading.celsius)
            ctx.timer_service().register_event_time_timer(reading.at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        room, celsius = ctx.get_current_key(), self.waiting.get(timestamp)
        if celsius is not None:
            self.waiting.remove(timestamp)
            self.last.update(timestamp)
            ctx.timer_service().register_event_time_timer(timestamp + SILENT_MS)
            yield from self.switch(room, "silent", False, timestamp)
            if celsius <= LIMIT_CELSIUS:
                self.warm_since.clear()
                yield from self.switch(room, "too warm", False, timestamp)
                return
            since = self.warm_since.value() or timestamp
            self.warm_since.update(since)
            if timestamp - since >= WARM_MS:
                yield from self.switch(room, "too warm", True, timestamp)
        elif self.last.value() == timestamp - SILENT_MS:
            yield from self.switch(room, "silent", True, timestamp)

    def switch(self, room: str, alert: str, is_on: bool, at_ms: int) -> Iterator[Row]:
        """Say so if an alert begins or ends; an alert that goes on is told once."""
        began = self.active.get(alert)
        if is_on and began is None:
            self.active.put(alert, at_ms)
            yield Row(room=room, alert=alert, state="on", at_ms=at_ms)
        elif not is_on and began is not None:
            self.active.remove(alert)
            yield Row(room=room, alert=alert, state="off", at_ms=at_ms)


def alerts(readings: DataStream[Reading]) -> DataStream[Row]:
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    timed = readings.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda reading, _: reading.at_ms))
    return timed.key_by(lambda reading: reading.room).process(Watch())


def main() -> None:
    parser = argparse.ArgumentParser(description="Watch cold rooms.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 20)  # two minutes of readings
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    readings = env.read_text_file(str(RUN / "input" / "readings.jsonl")).process(ParseReading())
    found = alerts(readings)
    found.sink_to(FileSink.json(RUN / "output" / "alerts"))
    found.get_side_output(LATE).sink_to(FileSink.json(RUN / "output" / "late"))
    readings.get_side_output(REJECTED).sink_to(FileSink.text(RUN / "output" / "rejected"))
    env.execute("cold rooms")
    print(f"alerts, late readings and rejected lines are in {RUN / 'output'}")


if __name__ == "__main__":
    main()
