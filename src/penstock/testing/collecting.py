"""A sink that keeps what it gets, for a test to look at after the job."""

from __future__ import annotations

from typing import Any

from penstock.connectors.driver_sinks import ListSink
from penstock.vocabulary.functions import SinkFunction


class CollectSink(SinkFunction):
    """Collects the records of a stream on the side of the program; once each, as batches become final.

    Use it with `stream.add_sink(sink)`, in process and on Spark; the results are there when `execute` returns.
    """

    state_identity = "CollectSink"

    def __init__(self) -> None:
        self.results: list[Any] = []

    def driver_sink(self) -> ListSink:
        """How the engines know it: records go to the list, not through `invoke`."""
        return ListSink(self.results)

    def invoke(self, value: Any, context: Any) -> None:
        """Collect one value; only a test that calls the sink by hand comes here."""
        self.results.append(value)

    def get_results(self, is_python_object: bool = False, stringify: bool = True) -> list[Any]:
        """What was collected: as text (the default, as in PyFlink), or the values themselves.

        `is_python_object` is accepted because PyFlink's test sink has it; values are always Python objects here.
        """
        return [str(value) for value in self.results] if stringify else list(self.results)

    def clear(self) -> None:
        """Forget what was collected."""
        self.results.clear()
