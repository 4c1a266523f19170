"""Interval join: an order and its payment meet if the payment comes within the hour; orders that stay unpaid are given
out, too. Mirrors the interval join of Flink's page "Joining", with the outer join of Flink SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream import ProcessJoinFunction, StreamExecutionEnvironment

MINUTE = 60_000


class Order(NamedTuple):
    number: int
    at_ms: int
    item: str


class Payment(NamedTuple):
    order: int
    at_ms: int


ORDERS = [Order(1, 0, "tea"), Order(2, 10 * MINUTE, "soup"), Order(3, 20 * MINUTE, "cake")]
PAYMENTS = [Payment(1, 5 * MINUTE), Payment(3, 80 * MINUTE), Payment(2, 71 * MINUTE)]


class Report(ProcessJoinFunction[Order, Payment | None, str]):
    def process_element(self, left: Order, right: Payment | None, ctx: ProcessJoinFunction.Context) -> Iterator[str]:
        if right is None:
            yield f"order {left.number} ({left.item}) is not paid"
        else:
            yield f"order {left.number} ({left.item}) is paid after {(right.at_ms - left.at_ms) // MINUTE} minutes"


def main() -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(10))
    event_time = strategy.with_timestamp_assigner(lambda event, _: event.at_ms)
    orders = env.from_collection(ORDERS).assign_timestamps_and_watermarks(event_time)
    payments = env.from_collection(PAYMENTS).assign_timestamps_and_watermarks(event_time)
    report = (
        orders.key_by(lambda order: order.number)
        .interval_join(payments.key_by(lambda payment: payment.order))
        .between(Time.seconds(0), Time.hours(1))
        .left_outer()  # None stands for the payment that no longer can come
        .process(Report())
    )
    return list(report.execute_and_collect("orders and payments"))


if __name__ == "__main__":
    print(*main(), sep="\n")
