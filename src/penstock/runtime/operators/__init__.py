"""The operators: plain Python, run alike by Spark, by the test harness and in process."""

from __future__ import annotations

from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.process import KeyedProcessOperator, ProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import DriverSinkOperator, SinkOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.operators.stateless import FilterOperator, FlatMapOperator, MapOperator
from penstock.runtime.operators.watermark import WatermarkOperator

__all__ = [
    "DriverSinkOperator",
    "FilterOperator",
    "FlatMapOperator",
    "KeyedProcessOperator",
    "MapOperator",
    "ProcessOperator",
    "ReduceOperator",
    "SinkOperator",
    "SourceOperator",
    "StreamOperator",
    "WatermarkOperator",
]
