"""Dynamic rules: limits for payments arrive as a stream of their own, which every subtask sees, and change on the way.
Mirrors Flink's page "The Broadcast State Pattern"."""

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
    KeyedBroadcastProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import MapStateDescriptor

RUN = Path(__file__).parent / "run"


class Payment(NamedTuple):
    id: int
    card: str
    merchant: str
    amount: float
    at_ms: int


class Rule(NamedTuple):
    merchant: str
    limit: float | None
    at_ms: int


REJECTED = OutputTag[str]("rejected")
NO_LIMIT = float("inf")
# merchant -> time of a change -> limit from then on
LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.MAP(Types.LONG(), Types.DOUBLE()))


class ParseRule(ProcessFunction[str, Rule]):
    """A rule is typed by a person: one that makes no sense must not stop the job."""

    def process_element(self, line: str, ctx: ProcessFunction.Context) -> Iterator[Rule | tuple[OutputTag[str], str]]:
        try:
            rule = Rule(**json.loads(line))
            yield rule._replace(limit=None if rule.limit is None else float(rule.limit))
        except (ValueError, TypeError):
            yield REJECTED, line


class CheckLimits(KeyedBroadcastProcessFunction[str, Payment, Rule, Row]):
    """Judges a payment by the limit that was valid at the time of the payment."""

    def open(self, runtime_context: RuntimeContext) -> None:
        payment = Types.TUPLE([Types.LONG(), Types.STRING(), Types.STRING(), Types.DOUBLE(), Types.LONG()])
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting", Types.LONG(), Types.LIST(payment)))

    def process_broadcast_element(self, rule: Rule, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        limits = ctx.get_broadcast_state(LIMITS)
        limit = NO_LIMIT if rule.limit is None else rule.limit
        limits.put(rule.merchant, {**(limits.get(rule.merchant) or {}), rule.at_ms: limit})

    def process_element(self, payment: Payment, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        # Nothing says which stream comes first: a payment waits until event time, that of both streams, is its own.
        self.waiting.put(payment.at_ms, [*(self.waiting.get(payment.at_ms) or []), payment])
        ctx.timer_service().register_event_time_timer(payment.at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Row]:
        limits = ctx.get_broadcast_state(LIMITS)
        for payment in map(Payment._make, self.waiting.get(timestamp) or []):
            known = limits.get(payment.merchant) or {}
            limit = known[max(since)] if (since := [each for each in known if each <= timestamp]) else NO_LIMIT
            if payment.amount > limit:
                yield Row(**payment._asdict(), limit=limit)
        self.waiting.remove(timestamp)


def alerts(payments: DataStream[Payment], rules: DataStream[Rule]) -> DataStream[Row]:
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    timed = payments.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda payment, _: payment.at_ms))
    changes = rules.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda rule, _: rule.at_ms))
    return timed.key_by(lambda payment: payment.card).connect(changes.broadcast(LIMITS)).process(CheckLimits())


def main() -> None:
    parser = argparse.ArgumentParser(description="Check payments against limits that change.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    payments = env.read_text_file(str(RUN / "input" / "payments.jsonl")).map(lambda line: Payment(**json.loads(line)))
    rules = env.read_text_file(str(RUN / "input" / "rules.jsonl")).process(ParseRule())
    alerts(payments, rules).sink_to(FileSink.json(RUN / "output" / "alerts"))
    rules.get_side_output(REJECTED).sink_to(FileSink.text(RUN / "output" / "rejected"))
    env.execute("limits")
    print(f"alerts and rejected rules are in {RUN / 'output'}")


if __name__ == "__main__":
    main()
