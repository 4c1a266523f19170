"""Account notifications: transfers keyed by account, commands broadcast to all subtasks, notifications to Kafka or to
files. Mirrors Flink's keyed broadcast pattern."""

from __future__ import annotations

import argparse
import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Duration, Row, Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedBroadcastProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.kafka import KafkaProducerRecord, KafkaRecordSerializationSchema, KafkaSink
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

RUN = Path(__file__).parent / "run"
TOPIC = "notifications"
QUIET_MS = 10 * 60_000
EVERYBODY = "*"


class Transfer(NamedTuple):
    id: int
    block: int
    account: str
    amount: int
    at_ms: int


class Command(NamedTuple):
    account: str
    above: float | None
    at_ms: int


# account -> time of a command -> notify from this amount on
COMMANDS = MapStateDescriptor("commands", Types.STRING(), Types.MAP(Types.LONG(), Types.DOUBLE()))


class Notify(KeyedBroadcastProcessFunction[str, Transfer, Command, Row]):
    """Keeps the balance of each account, and tells of transfers that somebody asked for: at most one in ten minutes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        transfer = Types.TUPLE([Types.LONG(), Types.LONG(), Types.STRING(), Types.LONG(), Types.LONG()])
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", transfer))
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.LONG()))
        self.told_at = runtime_context.get_state(ValueStateDescriptor("told at", Types.LONG()))
        self.untold = runtime_context.get_state(ValueStateDescriptor("untold", Types.LONG()))

    def process_broadcast_element(self, command: Command, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        commands = ctx.get_broadcast_state(COMMANDS)
        above = math.inf if command.above is None else float(command.above)
        commands.put(command.account, {**(commands.get(command.account) or {}), command.at_ms: above})

    def process_element(self, transfer: Transfer, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        # It waits until event time is its own: then all transfers and commands before it are here.
        self.waiting.add(transfer)
        ctx.timer_service().register_event_time_timer(transfer.at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Row]:
        transfers = sorted(map(Transfer._make, self.waiting.get() or []))
        self.waiting.update([transfer for transfer in transfers if transfer.at_ms > timestamp])
        commands, account = ctx.get_broadcast_state(COMMANDS), ctx.get_current_key()
        known = {**(commands.get(EVERYBODY) or {}), **(commands.get(account) or {})}
        above = known[max(since)] if (since := [each for each in known if each <= timestamp]) else math.inf
        for transfer in transfers:
            if transfer.at_ms <= timestamp:
                yield from self.take(transfer, above)

    def take(self, transfer: Transfer, above: float) -> Iterator[Row]:
        balance = (self.balance.value() or 0) + transfer.amount
        self.balance.update(balance)
        told_at, untold = self.told_at.value(), self.untold.value() or 0
        if abs(transfer.amount) < above:
            return
        if told_at is not None and transfer.at_ms < told_at + QUIET_MS:
            self.untold.update(untold + 1)
            return
        self.told_at.update(transfer.at_ms)
        self.untold.update(0)
        yield Row(**transfer._asdict(), balance=balance, untold=untold)


def notifications(transfers: DataStream[Transfer], commands: DataStream[Command]) -> DataStream[Row]:
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1))
    moved = transfers.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda each, _: each.at_ms))
    asked = commands.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda each, _: each.at_ms))
    return moved.key_by(lambda transfer: transfer.account).connect(asked.broadcast(COMMANDS)).process(Notify())


class ToTopic(KafkaRecordSerializationSchema):
    def to_record(self, row: Row, timestamp: int | None) -> KafkaProducerRecord:
        return KafkaProducerRecord(TOPIC, json.dumps(row.as_dict()).encode(), key=row.account.encode())


def kafka_sink(servers: str) -> KafkaSink:
    builder = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(ToTopic())
    return (
        builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("accounts").build()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Notify people about transfers.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    parser.add_argument("--kafka", metavar="HOST:PORT", help=f"write to the topic {TOPIC!r} there instead of to files")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    transfers = env.read_text_file(str(RUN / "input" / "transfers.jsonl")).map(
        lambda line: Transfer(**json.loads(line))
    )
    commands = env.read_text_file(str(RUN / "input" / "commands.jsonl")).map(lambda line: Command(**json.loads(line)))
    found = notifications(transfers, commands)
    found.sink_to(kafka_sink(args.kafka) if args.kafka else FileSink.json(RUN / "output" / TOPIC))
    env.execute("account notifications")
    print(f"notifications are in {f'the topic {TOPIC}' if args.kafka else RUN / 'output' / TOPIC}")


if __name__ == "__main__":
    main()
