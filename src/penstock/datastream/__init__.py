"""The DataStream API under PyFlink's names; owns no behaviour (functions run in the runtime, jobs in the engine)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.datastream.checkpointed_function import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListCheckpointed,
)
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.commutativity import commutative
from penstock.datastream.execution_mode import RuntimeExecutionMode
from penstock.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from penstock.datastream.field_aggregates import (
    FieldAggregate,
    avg_of,
    count,
    count_of,
    max_of,
    min_of,
    sum_of,
)
from penstock.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RichAsyncFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    WindowFunction,
)
from penstock.datastream.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from penstock.datastream.output_tag import OutputTag
from penstock.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from penstock.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from penstock.datastream.time_domain import TimeDomain
from penstock.datastream.timerservice import TimerService
from penstock.datastream.window import (
    CountWindow,
    Evictor,
    GlobalWindow,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    TriggerResult,
    Window,
    WindowAssigner,
)

if TYPE_CHECKING:
    from penstock.datastream.async_data_stream import AsyncDataStream
    from penstock.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from penstock.datastream.connected_streams import ConnectedStreams
    from penstock.datastream.data_stream import DataStream, DataStreamSink
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.datastream.windowed_stream import WindowedStream

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointListener",
    "CheckpointStorage",
    "CheckpointedFunction",
    "CheckpointingMode",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountWindow",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "Evictor",
    "ExternalizedCheckpointRetention",
    "FieldAggregate",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "GlobalWindow",
    "HashMapStateBackend",
    "JobManagerCheckpointStorage",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "ListCheckpointed",
    "MapFunction",
    "MemorySize",
    "MergingWindowAssigner",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RichAsyncFunction",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
    "avg_of",
    "commutative",
    "count",
    "count_of",
    "max_of",
    "min_of",
    "sum_of",
]

# The fluent classes import the runtime, which imports the vocabulary of this package: loading them on first use
# breaks the circle, and keeps them out of the workers, which only need the vocabulary.
_FLUENT_MODULES = {
    "AsyncDataStream": "penstock.datastream.async_data_stream",
    "BroadcastConnectedStream": "penstock.datastream.broadcast_stream",
    "BroadcastStream": "penstock.datastream.broadcast_stream",
    "ConnectedStreams": "penstock.datastream.connected_streams",
    "DataStream": "penstock.datastream.data_stream",
    "DataStreamSink": "penstock.datastream.data_stream",
    "KeyedStream": "penstock.datastream.keyed_stream",
    "StreamExecutionEnvironment": "penstock.datastream.stream_execution_environment",
    "WindowedStream": "penstock.datastream.windowed_stream",
}


def __getattr__(name: str) -> Any:
    if name not in _FLUENT_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_FLUENT_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_FLUENT_MODULES})
