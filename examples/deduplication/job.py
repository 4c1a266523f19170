"""Deduplication: events that were sent several times go on once, with state that does not grow for ever."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import ValueStateDescriptor

RUN = Path(__file__).parent / "run"
REMEMBER_MS = 10 * 60_000
OUT_OF_ORDER = Duration.of_seconds(5)


class Event(NamedTuple):
    event_id: str
    shop: str
    cents: int
    at_ms: int
    received_ms: int


DUPLICATE = OutputTag[Event]("duplicate")
TOO_OLD = OutputTag[Event]("too old")


class FirstOnly(KeyedProcessFunction[str, Event, Event]):
    """Lets the first copy of an event pass, and remembers its id until no copy is expected any more.

    An event that is older than that cannot be judged: it may be new, or a copy of one that is forgotten. It leaves by
    `TOO_OLD`, so that nothing passes twice and nothing is lost.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(
        self, event: Event, ctx: KeyedProcessFunction.Context
    ) -> Iterator[Event | tuple[OutputTag[Event], Event]]:
        forget_at = event.at_ms + REMEMBER_MS
        if forget_at <= ctx.timer_service().current_watermark():
            yield TOO_OLD, event
        elif self.seen.value():
            yield DUPLICATE, event
        else:
            self.seen.update(True)
            ctx.timer_service().register_event_time_timer(forget_at)
            yield event

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        self.seen.clear()


def deduplicated(events: DataStream[Event]) -> DataStream[Event]:
    """Each event once; `DUPLICATE` and `TOO_OLD` are side outputs."""
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(OUT_OF_ORDER)
    timed = events.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda event, _: event.at_ms))
    return timed.key_by(lambda event: event.event_id).process(FirstOnly())


def main() -> None:
    parser = argparse.ArgumentParser(description="Let each event pass once.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 50)  # about a minute of events
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    lines = env.read_text_file(str(RUN / "input" / "events.jsonl"))
    passed = deduplicated(lines.map(lambda line: Event(**json.loads(line))))
    passed.sink_to(FileSink.json(RUN / "output" / "passed"))
    for tag in (DUPLICATE, TOO_OLD):
        passed.get_side_output(tag).sink_to(FileSink.json(RUN / "output" / tag.tag_id.replace(" ", "_")))
    env.execute("deduplication")
    print(f"what passed, duplicates and what was too old is in {RUN / 'output'}")


if __name__ == "__main__":
    main()
