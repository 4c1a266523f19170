"""Late data: a window fires when the watermark says so, again for each element that is a little late, and what is later
still leaves by a side output. Mirrors the late data section of Flink's page on windows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Duration, Time, WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.window import TumblingEventTimeWindows


class Reading(NamedTuple):
    sensor: str
    at_ms: int
    value: int


READINGS = [
    Reading("north", 1_000, 3),
    Reading("north", 4_000, 5),
    Reading("north", 12_000, 1),  # the watermark is behind 10 s: the first window fires with 5
    Reading("north", 2_000, 8),  # late by less than 5 s: it fires again, with 8
    Reading("north", 21_000, 2),
    Reading("north", 3_000, 9),  # too late
]

TOO_LATE = OutputTag("too late")


def main(output: Path, readings: Iterable[Reading] = READINGS) -> list[Reading]:
    # A watermark after every reading, where one after 5,000 would find nobody late in so few of them.
    settings = Configuration().set_integer("pipeline.watermark-every-records", 1)
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(1)  # readings in this order
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    highest = (
        env.from_collection(readings)
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda reading, _: reading.at_ms))
        .key_by(lambda reading: reading.sensor)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .allowed_lateness(5_000)
        .side_output_late_data(TOO_LATE)
        .max("value")
    )
    highest.get_side_output(TOO_LATE).sink_to(FileSink.json(output))
    return list(highest.execute_and_collect("highest readings"))


if __name__ == "__main__":
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="penstock-late-"))
    print(*main(folder), f"and what was too late in {folder}", sep="\n")
