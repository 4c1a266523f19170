"""Sessionization: clicks become visits that end after 15 quiet minutes. Mirrors Flink's SessionWindowing."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Duration, Row, Time, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.window import EventTimeSessionWindows, TimeWindow

RUN = Path(__file__).parent / "run"
GAP = Time.minutes(15)
OUT_OF_ORDER = Duration.of_seconds(30)

REJECTED = OutputTag[Row]("rejected")
LATE = OutputTag["Click"]("late")


class Click(NamedTuple):
    user: str
    page: str
    at_ms: int


class ParseClick(ProcessFunction[str, Click]):
    """A line that is no click is kept with the reason, so that somebody can look at it."""

    def process_element(self, line: str, ctx: ProcessFunction.Context) -> Iterator[Click | tuple[OutputTag[Row], Row]]:
        try:
            record = json.loads(line)
            at = datetime.fromisoformat(record["at"])
            yield Click(record["user"], record["page"], round(at.timestamp() * 1000))
        except (ValueError, KeyError, TypeError) as error:
            yield REJECTED, Row(line=line, reason=f"{type(error).__name__}: {error}")


class Visit(ProcessWindowFunction[Click, Row, str, TimeWindow]):
    """All clicks of a visit, once it is over."""

    def process(
        self, user: str, context: ProcessWindowFunction.Context[TimeWindow], clicks: Iterable[Click]
    ) -> Iterator[Row]:
        ordered = sorted(clicks, key=lambda click: click.at_ms)
        yield Row(
            user=user,
            start_ms=ordered[0].at_ms,
            end_ms=ordered[-1].at_ms,
            clicks=len(ordered),
            entry_page=ordered[0].page,
            bought=any(click.page == "thanks" for click in ordered),
        )


def visits(clicks: DataStream[Click]) -> DataStream[Row]:
    """Visits; clicks of a visit that is over already are in the side output `LATE`."""
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(OUT_OF_ORDER)
    return (
        clicks.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda click, _: click.at_ms))
        .key_by(lambda click: click.user)
        .window(EventTimeSessionWindows.with_gap(GAP))
        .side_output_late_data(LATE)
        .process(Visit())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Cut the clicks of a shop into visits.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 20)  # a minute has few clicks
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    clicks = env.read_text_file(str(RUN / "input" / "clicks.jsonl")).process(ParseClick())
    found = visits(clicks)
    found.sink_to(FileSink.json(RUN / "output" / "visits"))
    found.get_side_output(LATE).sink_to(FileSink.json(RUN / "output" / "late"))
    clicks.get_side_output(REJECTED).sink_to(FileSink.json(RUN / "output" / "rejected"))
    env.execute("visits")
    print(f"visits, late clicks and rejected lines are in {RUN / 'output'}")


if __name__ == "__main__":
    main()
