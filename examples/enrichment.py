"""Enrichment by a second stream: orders get the name of their customer, whichever of the two comes first. Mirrors
RidesAndFares of the Flink training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from penstock.common import Types
from penstock.datastream import KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Order(NamedTuple):
    customer: int
    item: str


class Customer(NamedTuple):
    number: int
    name: str


ORDERS = [Order(1, "tea"), Order(2, "soup"), Order(1, "cake"), Order(3, "bread")]
CUSTOMERS = [Customer(1, "ann"), Customer(2, "bob"), Customer(4, "cem")]


class AddName(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        # Both streams are keyed by the number of the customer, and both methods see the state of that number.
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.STRING()))

    def process_element1(self, order: Order, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        name = self.name.value()
        if name is None:
            self.waiting.add(order.item)  # a timer could give up waiting, as in ride_matching.py
        else:
            yield f"{name} orders {order.item}"

    def process_element2(self, customer: Customer, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        self.name.update(customer.name)
        for item in self.waiting.get() or []:
            yield f"{customer.name} orders {item}"
        self.waiting.clear()


def main() -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = env.from_collection(ORDERS).key_by(lambda order: order.customer)
    customers = env.from_collection(CUSTOMERS).key_by(lambda customer: customer.number)
    return list(orders.connect(customers).process(AddName()).execute_and_collect("orders with names"))


if __name__ == "__main__":
    print(*main(), sep="\n")
