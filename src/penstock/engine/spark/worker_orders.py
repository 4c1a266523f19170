"""Work that is no part of a stream, done by Spark's tasks: one order each, small results to the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession

from penstock.errors import PenstockError

Order = TypeVar("Order")
Result = TypeVar("Result")


def run_on_workers(session: SparkSession, work: Callable[[Order], Result], orders: list[Order]) -> list[Result]:
    """Do the work for each order, in its own task; results come in the order of the orders.

    A refusal of ours travels as a result: raised in a task, it would be tried again and come back as a Java stack.
    """

    def guarded(order: Order) -> Result | PenstockError:
        try:
            return work(order)
        except PenstockError as refusal:
            return refusal

    if not orders:
        return []
    results: list[Result] = []
    for result in session.sparkContext.parallelize(orders, len(orders)).map(guarded).collect():
        if isinstance(result, PenstockError):
            raise result
        results.append(result)
    return results
