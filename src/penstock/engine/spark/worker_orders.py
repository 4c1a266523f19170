"""Work that is no part of a stream, done by Spark's tasks: one order each, small results to the driver."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from penstock.engine.spark.program_imports import ProgramImports
from penstock.engine.spark.spark_names import described
from penstock.errors import PenstockError

Order = TypeVar("Order")
Result = TypeVar("Result")


def run_on_workers(
    session: SparkSession, work: Callable[[Order], Result], orders: list[Order], *, what: str | None = None
) -> list[Result]:
    """Do the work for each order, in its own task; results come in the order of the orders. Spark shows `what` it is.

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
    with described(session, what) if what is not None else nullcontext():
        given = session.sparkContext.parallelize(orders, len(orders)).map(guarded).collect()
    for result in given:
        if isinstance(result, PenstockError):
            raise result
        results.append(result)
    return results


class Workers:
    """`run_on_workers` for those who know nothing of Spark; the work finds what the program's functions find."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._imports = ProgramImports.of_this_process()

    def __call__(self, work: Callable[[Any], Any], orders: list[Any]) -> list[Any]:
        """Do the work for each order, in its own task."""
        imports = self._imports

        def surrounded(order: Any) -> Any:
            imports.install()
            return work(order)

        return run_on_workers(self._session, surrounded, orders)
