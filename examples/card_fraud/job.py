"""Card fraud: two tiny payments that test a stolen card, then a large one, within ten minutes; found by a pattern."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import NamedTuple

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern
from penstock.common import Configuration, Duration, Row, WatermarkStrategy
from penstock.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink

RUN = Path(__file__).parent / "run"


class Payment(NamedTuple):
    id: int
    card: str
    amount: float
    at_ms: int


LATE = OutputTag[Payment]("late")
TESTED = OutputTag[Row]("tested")

Match = dict[str, list[Payment]]

STOLEN_CARD = (
    Pattern.begin("first test", AfterMatchSkipStrategy.skip_past_last_event())
    .where(lambda payment: payment.amount < 1)
    .followed_by("second test")
    .where(lambda payment: payment.amount < 1)
    .followed_by("large")
    .where(lambda payment: payment.amount >= 500)
    .within(10 * 60_000)
)


def alert(match: Match) -> Row:
    first, large = match["first test"][0], match["large"][0]
    return Row(
        card=large.card,
        payment=large.id,
        amount=large.amount,
        tests=[first.id, match["second test"][0].id],
        seconds=(large.at_ms - first.at_ms) // 1000,
    )


def tested(match: Match, timeout_ms: int) -> Row:
    """A card that was tested once or twice, and no large payment followed within ten minutes."""
    return Row(card=match["first test"][0].card, tests=[payment.id for found in match.values() for payment in found])


def alerts(payments: DataStream[Payment]) -> DataStream[Row]:
    """Payments that look like fraud; `LATE` and `TESTED` are side outputs."""
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(30))
    timed = payments.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda payment, _: payment.at_ms))
    matches = CEP.pattern(timed.key_by(lambda payment: payment.card), STOLEN_CARD)
    return matches.side_output_late_data(LATE).select(TESTED, tested, alert)


def main() -> None:
    parser = argparse.ArgumentParser(description="Find stolen cards.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 20)  # an hour has few payments
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    lines = env.read_text_file(str(RUN / "input" / "payments.jsonl"))
    found = alerts(lines.map(lambda line: Payment(**json.loads(line))))
    found.sink_to(FileSink.json(RUN / "output" / "alerts"))
    found.get_side_output(TESTED).sink_to(FileSink.json(RUN / "output" / "tested"))
    found.get_side_output(LATE).sink_to(FileSink.json(RUN / "output" / "late"))
    env.execute("card fraud")
    print(f"alerts, tested cards and late payments are in {RUN / 'output'}")


if __name__ == "__main__":
    main()
