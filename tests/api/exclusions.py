"""Every public name of PyFlink that Penstock does not have, or has with another signature, under its reason.

A name stands for all that is in it. `test_surface` fails on a gap that is not listed and on a listed name that exists.
"""

from __future__ import annotations

from tests.api import table_exclusions

DATASTREAM = "pyflink.datastream"
FUNCTIONS = f"{DATASTREAM}.functions"
STREAMS = f"{DATASTREAM}.data_stream"
CONNECTORS = f"{DATASTREAM}.connectors"
KAFKA = f"{CONNECTORS}.kafka"
FILES = f"{CONNECTORS}.file_system"
FORMATS = f"{DATASTREAM}.formats"
TYPES = "pyflink.common.typeinfo"

# Methods that hand out the Java object behind a Python one, whatever the class.
JVM_METHODS = {
    "get_java_function",
    "get_java_memory_size",
    "get_java_object",
    "get_java_output_tag",
    "get_java_slot_sharing_group",
    "get_java_type_info",
    "to_j_row_kind",
}

MISSING: dict[str, set[str]] = {
    **table_exclusions.MISSING,
    "to come with more connectors and formats": {
        f"{CONNECTORS}.dynamic_kafka",
    },
    "a connector to a system that is not on Penstock's list": {
        f"{CONNECTORS}.cassandra",
        f"{CONNECTORS}.elasticsearch",
        f"{CONNECTORS}.kinesis",
        f"{CONNECTORS}.pulsar",
        f"{CONNECTORS}.rabbitmq",
    },
    "superseded by FileSink in Flink itself": {f"{FILES}:StreamingFileSink"},
    "superseded by KafkaSource and KafkaSink in Flink itself": {
        *(
            f"{KAFKA}:{name}"
            for name in (
                "FlinkKafkaConsumer",
                "FlinkKafkaConsumerBase",
                "FlinkKafkaProducer",
                "FlinkKafkaProducerBase",
                "Semantic",
            )
        ),
    },
    "no JVM object behind it": {
        f"{DATASTREAM}.utils",
        f"{FILES}:FileSink.get_transformer",
        f"{KAFKA}:KafkaSink.get_transformer",
        f"{FUNCTIONS}:JavaFunctionWrapper",
        "pyflink.common.execution_config:ExecutionConfig.get_default_kryo_serializer_classes",
        "pyflink.common.execution_config:ExecutionConfig.get_registered_kryo_types",
        "pyflink.common.execution_config:ExecutionConfig.get_registered_pojo_types",
        "pyflink.common.io",
        "pyflink.common.serialization:RowDataBulkWriterFactory",
        "pyflink.common.utils",
        f"{TYPES}:DateTypeInfo.EPOCH_ORDINAL",
        f"{TYPES}:ExternalTypeInfo",
        f"{TYPES}:LocalTimeTypeInfo",
        f"{TYPES}:TimeTypeInfo.EPOCH_ORDINAL",
    },
    "internal to PyFlink's runtime": {
        *(
            f"{FUNCTIONS}:{name}"
            for name in (
                "FunctionWrapper",
                "InternalIterableAllWindowFunction",
                "InternalIterableProcessAllWindowFunction",
                "InternalIterableProcessWindowFunction",
                "InternalIterableWindowFunction",
                "InternalProcessAllWindowContext",
                "InternalProcessWindowContext",
                "InternalSingleValueAllWindowFunction",
                "InternalSingleValueProcessAllWindowFunction",
                "InternalSingleValueProcessWindowFunction",
                "InternalSingleValueWindowFunction",
                "InternalWindowFunction",
                "NullByteKeySelector",
                "PassThroughAllWindowFunction",
                "PassThroughWindowFunction",
            )
        ),
        f"{DATASTREAM}.window:WindowOperationDescriptor",
        f"{DATASTREAM}.window:long_to_int_with_bit_mixing",
        f"{DATASTREAM}.window:mod_inverse",
        f"{STREAMS}:KeyedStream.AccumulateType",
        "pyflink.common.serializer:VoidNamespaceSerializer",
    },
}

SIGNATURES: dict[str, set[str]] = {
    "made by the library, never by a user": {
        f"{DATASTREAM}.stream_execution_environment:StreamExecutionEnvironment.__init__",
        f"{FILES}:FileSink.__init__",
        f"{KAFKA}:KafkaRecordSerializationSchema.__init__",
        f"{KAFKA}:KafkaSink.__init__",
        f"{FORMATS}.csv:CsvSchema.__init__",
        f"{STREAMS}:BroadcastConnectedStream.__init__",
        f"{STREAMS}:CloseableIterator.__init__",
        f"{STREAMS}:KeyedStream.__init__",
    },
    "abstract here: written in Python by the user, not wrapped around a Java object": {
        f"{CONNECTORS}.base:Sink.__init__",
        f"{CONNECTORS}.base:Source.__init__",
        f"{FUNCTIONS}:SinkFunction.__init__",
        f"{FUNCTIONS}:SourceFunction.__init__",
    },
    "optional in PyFlink only because a Java object can be given instead": {
        f"{DATASTREAM}.checkpoint_storage:FileSystemCheckpointStorage.__init__",
        f"{DATASTREAM}.slot_sharing_group:MemorySize.__init__",
        "pyflink.common.restart_strategy:RestartStrategies.FailureRateRestartStrategyConfiguration.__init__",
        "pyflink.common.restart_strategy:RestartStrategies.FixedDelayRestartStrategyConfiguration.__init__",
    },
    "the parameter has one name in all types": {
        f"{TYPES}:DateTypeInfo.from_internal_type",
        f"{TYPES}:DateTypeInfo.to_internal_type",
        f"{TYPES}:TimeTypeInfo.from_internal_type",
        f"{TYPES}:TimeTypeInfo.to_internal_type",
        f"{TYPES}:TimestampTypeInfo.from_internal_type",
        f"{TYPES}:TimestampTypeInfo.to_internal_type",
    },
    "takes what that of DataStream takes": {
        f"{STREAMS}:KeyedStream.broadcast",
    },
}
