"""Names that PyFlink's modules merely re-export, and what to write instead of names that are gone.

A module with a path of PyFlink's asks `names_from_elsewhere` for the names that it does not define; `penstock port`
reads the same tables.
"""

from __future__ import annotations

import dis
import importlib
import sys
import typing
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]
_NAMES_BY_HOME = {
    "penstock.common": "ConfigOption Configuration DeserializationSchema Duration ExecutionConfig Row RowKind "
    "SerializationSchema Time TimestampAssigner TypeInformation TypeSerializer Types WatermarkStrategy",
    "penstock.common.serialization": "BulkWriterFactory",
    "penstock.common.typeinfo": "RowTypeInfo",
    "penstock.datastream": "AggregateFunction AllWindowFunction AsyncRetryPredicate AsyncRetryStrategy "
    "BroadcastProcessFunction CoFlatMapFunction CoMapFunction CoProcessFunction FilterFunction FlatMapFunction "
    "KeySelector KeyedBroadcastProcessFunction KeyedCoProcessFunction KeyedProcessFunction MapFunction "
    "MergingWindowAssigner OutputTag Partitioner ProcessAllWindowFunction ProcessFunction ProcessWindowFunction "
    "ReduceFunction RuntimeContext SinkFunction SlotSharingGroup SourceFunction TimeDomain Trigger WindowAssigner "
    "WindowFunction",
    "penstock.datastream.connectors.base": "StreamTransformer SupportsPreprocessing",
    "penstock.datastream.connectors.file_system": "BucketAssigner FileEnumeratorProvider FileSink FileSource "
    "FileSourceBuilder FileSplitAssignerProvider OutputFileConfig RollingPolicy StreamFormat",
    "penstock.datastream.connectors.jdbc": "JdbcConnectionOptions JdbcExecutionOptions JdbcSink",
    "penstock.datastream.connectors.kafka": "KafkaOffsetsInitializer KafkaRecordSerializationSchema KafkaSink "
    "KafkaSource",
    "penstock.datastream.connectors.number_seq": "NumberSequenceSource",
    "penstock.datastream.functions": "AsyncFunctionDescriptor Function",
    "penstock.datastream.state": "AggregatingState AggregatingStateDescriptor BroadcastState ListState "
    "ListStateDescriptor MapState MapStateDescriptor ReadOnlyBroadcastState ReducingState ReducingStateDescriptor "
    "State StateDescriptor ValueState ValueStateDescriptor",
    "penstock.datastream.window": "CountSlidingWindowAssigner CountTumblingWindowAssigner CountWindowSerializer "
    "GlobalWindowSerializer TimeWindowSerializer",
    "penstock.metrics": "MetricGroup",
    "penstock.table": "ChangelogMode DataTypes Expression Module Schema TableAggregateFunction TableDescriptor "
    "TablePipeline TableSchema",
    "penstock.table.catalog": "ObjectIdentifier",
    "penstock.table.types": "DataType",
    "penstock.table.udf": "udaf udtaf",
}
_HOME = {name: home for home, names in _NAMES_BY_HOME.items() for name in names.split()}

IN, IN1, IN2, OUT = (typing.TypeVar(name) for name in ("IN", "IN1", "IN2", "OUT"))
KEY, K, V, T = (typing.TypeVar(name) for name in ("KEY", "K", "V", "T"))
W, W2 = (typing.TypeVar(name) for name in ("W", "W2"))
_OWN = {name: globals()[name] for name in ("IN", "IN1", "IN2", "OUT", "KEY", "K", "V", "T", "W", "W2")}
"""PyFlink's type variables, for `class Own(ProcessWindowFunction[IN, OUT, KEY, W])`."""
_OWN |= {"MAX_LONG_VALUE": 2**63 - 1, "MIN_LONG_VALUE": -(2**63)}

_NO_JAVA = "Penstock runs no Java program, so there is nothing behind it: leave it out"
_OF_KAFKA = "Flink 2 removed it: use KafkaSource or KafkaSink of penstock.datastream.connectors.kafka"
_STATE_BACKEND = "Flink 2 removed it: use HashMapStateBackend or EmbeddedRocksDBStateBackend, and the setting "
_STATE_BACKEND += "execution.checkpointing.dir for the directory"

GONE = {
    "TimeCharacteristic": "Flink 2 removed it: event time needs no switch; leave set_stream_time_characteristic() out",
    "FlinkKafkaConsumer": _OF_KAFKA,
    "FlinkKafkaConsumerBase": _OF_KAFKA,
    "FlinkKafkaProducer": _OF_KAFKA,
    "FlinkKafkaProducerBase": _OF_KAFKA,
    "Semantic": "Flink 2 removed it: use DeliveryGuarantee",
    "ExternalizedCheckpointCleanup": "Flink 2 removed it: use ExternalizedCheckpointRetention",
    "StreamingFileSink": "Flink 2 removed it: use FileSink of penstock.datastream.connectors.file_system",
    "BucketingSink": "Flink 2 removed it: use FileSink of penstock.datastream.connectors.file_system",
    "MemoryStateBackend": _STATE_BACKEND,
    "FsStateBackend": _STATE_BACKEND,
    "RocksDBStateBackend": _STATE_BACKEND,
    "BatchTableEnvironment": "Flink 2 removed it: use TableEnvironment.create(EnvironmentSettings.in_batch_mode())",
    "CsvTableSource": "Flink 2 removed it: use CREATE TABLE with the filesystem connector, or a TableDescriptor",
    "CsvTableSink": "Flink 2 removed it: use CREATE TABLE with the filesystem connector, or a TableDescriptor",
    "HiveModule": "Penstock has no Hive module; write the function in Python",
    "HiveCatalog": "Penstock has no Hive catalog; declare the tables with CREATE TABLE",
    "JdbcCatalog": "Penstock has no JDBC catalog; declare the tables with CREATE TABLE",
    **dict.fromkeys(
        ("get_gateway", "JavaObjectWrapper", "JavaFunctionWrapper", "to_jarray", "load_java_class", "is_instance_of"),
        _NO_JAVA,
    ),
}
"""Names without a counterpart: what to write instead."""

_NO_CONNECTOR = (
    "Penstock has no such connector: write a sink or source of your own (docs/sources_and_sinks.md), or use "
)
_NO_CONNECTOR += "a Spark data source with env.from_spark(...) and stream.write_with_spark(...)"
_NO_DESCRIPTORS = "Flink 2 removed the descriptors of tables: use penstock.table.TableDescriptor, or CREATE TABLE"
GONE_MODULES = {
    "penstock.dataset": "Flink 2 removed the DataSet API: use the DataStream API in batch mode, or penstock.table",
    "penstock.table.descriptors": _NO_DESCRIPTORS,
    "penstock.table.sources": _NO_DESCRIPTORS,
    "penstock.table.sinks": _NO_DESCRIPTORS,
    "penstock.java_gateway": _NO_JAVA,
    "penstock.util": "it has tools for PyFlink's Java side only, which Penstock does not have: leave it out",
    "penstock.find_flink_home": _NO_JAVA,
    "penstock.pyflink_callback_server": _NO_JAVA,
    "penstock.pyflink_gateway_server": _NO_JAVA,
    "penstock.fn_execution": "it is PyFlink's inside: use the functions of penstock.datastream",
    "penstock.shell": "run `penstock sql` for SQL, or `python` with penstock.datastream for streams",
    "penstock.testing.source_sink_utils": "its tables are Java's: collect rows with table.execute().collect()",
    **{
        f"penstock.datastream.connectors.{name}": _NO_CONNECTOR
        for name in ("cassandra", "dynamic_kafka", "elasticsearch", "kinesis", "pulsar", "rabbitmq")
    },
}
"""Modules without a counterpart: what to write instead."""


def names_from_elsewhere(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: names that PyFlink's has too, though they belong elsewhere."""

    def from_elsewhere(name: str) -> Any:
        if name in _OWN:
            return _OWN[name]
        if name in _HOME and _HOME[name] != module:
            return getattr(importlib.import_module(_HOME[name]), name)
        if name in GONE and _is_import(sys._getframe(1)):
            raise ImportError(f"{module} has no {name}: {GONE[name]}.", name=module)
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(module))

    return from_elsewhere


def _is_import(frame: FrameType) -> bool:
    """Return whether a frame is at `from module import name`; `hasattr` and the like expect an AttributeError."""
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


class _GoneModules:
    """Finds no module; for those of PyFlink's that have no counterpart it says what to write instead."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Raise for a module of the table."""
        if name in GONE_MODULES:
            # No ModuleNotFoundError, which `from penstock import name` would take for a name that is no module.
            raise ImportError(f"There is no module {name}: {GONE_MODULES[name]}.", name=name)
        return None


def explain_gone_modules() -> None:
    """Let imports of modules without a counterpart fail with a sentence. Found last: only where nothing else is."""
    if _GoneModules not in sys.meta_path:
        sys.meta_path.append(_GoneModules)
