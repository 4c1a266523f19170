"""The operators: plain Python, run alike by Spark, by the test harness and in process."""

from __future__ import annotations

from penstock.runtime.operators.async_wait import AsyncWaitOperator
from penstock.runtime.operators.broadcast import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.runtime.operators.cache import CacheOperator
from penstock.runtime.operators.co_functions import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from penstock.runtime.operators.expressions import ExpressionFilterOperator, SelectOperator
from penstock.runtime.operators.interval_join import IntervalJoinOperator
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.partitioned_source import (
    PartitionedSourceOperator,
    create_source_operator,
    source_on_engine,
)
from penstock.runtime.operators.process import KeyedProcessOperator, ProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.rolling_fields import RollingFieldsOperator
from penstock.runtime.operators.salt import SaltOperator
from penstock.runtime.operators.sink import DriverSinkOperator, SinkOperator, kept_writer_state, writer_state
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.operators.stateless import FilterOperator, FlatMapOperator, MapOperator
from penstock.runtime.operators.watermark import WatermarkOperator
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window.local import LocalWindowAggregation

__all__ = [
    "AsyncWaitOperator",
    "BroadcastProcessOperator",
    "CacheOperator",
    "CoFlatMapOperator",
    "CoMapOperator",
    "CoProcessOperator",
    "DriverSinkOperator",
    "ExpressionFilterOperator",
    "FilterOperator",
    "FlatMapOperator",
    "IntervalJoinOperator",
    "KeyedBroadcastProcessOperator",
    "KeyedCoProcessOperator",
    "KeyedProcessOperator",
    "LocalWindowAggregation",
    "MapOperator",
    "PartitionedSourceOperator",
    "ProcessOperator",
    "ReduceOperator",
    "RollingFieldsOperator",
    "SaltOperator",
    "SelectOperator",
    "SinkOperator",
    "SourceOperator",
    "StreamOperator",
    "WatermarkOperator",
    "WindowOperator",
    "create_source_operator",
    "kept_writer_state",
    "source_on_engine",
    "writer_state",
]
