"""Dynamic rules: the limit for payments is a stream of its own, which every subtask sees, and changes on the way.
Mirrors Flink's page "The Broadcast State Pattern"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import KeyedBroadcastProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import MapStateDescriptor


class Payment(NamedTuple):
    account: str
    at_ms: int
    amount: int


class Limit(NamedTuple):
    at_ms: int
    amount: int


PAYMENTS = [Payment("ann", 1_000, 80), Payment("bob", 2_000, 700), Payment("ann", 6_000, 80), Payment("bob", 9_000, 5)]
RULES = [Limit(0, 500), Limit(5_000, 50)]
LIMITS = MapStateDescriptor("limits", Types.LONG(), Types.LONG())


class CheckLimits(KeyedBroadcastProcessFunction[str, Payment, Limit, str]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_map_state(MapStateDescriptor("held", Types.LONG(), Types.PICKLED_BYTE_ARRAY()))

    def process_broadcast_element(self, value: Limit, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(LIMITS).put(value.at_ms, value.amount)

    def process_element(self, value: Payment, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        # Nothing says which stream comes first: a payment waits until event time, that of both streams, is its own.
        self.held.put(value.at_ms, [*(self.held.get(value.at_ms) or []), value])
        ctx.timer_service().register_event_time_timer(value.at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[str]:
        limits = ctx.get_broadcast_state(LIMITS)
        limit = limits.get(max(since for since in limits if since <= timestamp))
        for payment in self.held.get(timestamp) or []:
            if payment.amount > limit:
                yield f"{payment.account} paid {payment.amount}, where {limit} is the limit"
        self.held.remove(timestamp)


def main() -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    event_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event.at_ms)
    payments = env.from_collection(PAYMENTS).assign_timestamps_and_watermarks(event_time)
    rules = env.from_collection(RULES).assign_timestamps_and_watermarks(event_time).broadcast(LIMITS)
    return list(payments.key_by("account").connect(rules).process(CheckLimits()).execute_and_collect("limits"))


if __name__ == "__main__":
    print(*main(), sep="\n")
