"""What type checkers know of sources, sinks, schemas and times: checked by `make types`, and run like any test."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, assert_type

from penstock.common import Duration, Row, Types, WatermarkStrategy
from penstock.common.serialization import DeserializationSchema, SerializationSchema, SimpleStringSchema
from penstock.common.typeinfo import TypeInformation
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.formats.json import JsonRowDeserializationSchema


class Length(SerializationSchema[str], DeserializationSchema[int]):
    def serialize(self, value: str) -> bytes:
        return value.encode()

    def deserialize(self, message: bytes) -> int | None:
        return len(message) or None

    def get_produced_type(self) -> TypeInformation[int]:
        return Types.LONG()


class TimeOf(TimestampAssigner[Row]):
    def extract_timestamp(self, value: Row, record_timestamp: int) -> int:
        time: int = value.time
        return time


def test_declared_types() -> None:
    assert_type(Types.STRING(), TypeInformation[str])
    assert_type(Types.BIG_DEC(), TypeInformation[Decimal])
    assert_type(Types.LIST(Types.LONG()), TypeInformation[list[int]])
    assert_type(Types.MAP(Types.STRING(), Types.LIST(Types.DOUBLE())), TypeInformation[dict[str, list[float]]])
    assert_type(Types.PICKLED_BYTE_ARRAY(), TypeInformation[Any])
    row: TypeInformation[Row] = Types.ROW_NAMED(["a"], [Types.LONG()])
    pair: TypeInformation[tuple[Any, ...]] = Types.TUPLE((Types.LONG(), Types.STRING()))
    assert (str(row), str(pair)) == ("RowTypeInfo(a: Long)", "TupleTypeInfo(Long, String)")


def test_sources() -> None:
    env = StreamExecutionEnvironment.in_process()
    numbers = env.from_source(NumberSequenceSource(1, 3), WatermarkStrategy.no_watermarks(), "numbers")
    assert_type(numbers, DataStream[int])
    generated = DataGeneratorSource(lambda number: (number, str(number)), 3)
    assert_type(generated, DataGeneratorSource[tuple[int, str]])
    assert_type(env.from_source(generated, None, "generated"), DataStream[tuple[int, str]])
    assert_type(env.from_source(generated, None, "generated", Types.LONG()), DataStream[int])
    assert_type(FileSource.text("in"), FileSource[str])
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in").build()
    assert_type(lines, FileSource[str])
    hybrid = HybridSource.builder(NumberSequenceSource(1, 3)).add_source(NumberSequenceSource(4, 5)).build()
    assert_type(hybrid, HybridSource[int])


def test_kafka() -> None:
    builder = KafkaSource.builder().set_bootstrap_servers("localhost:9092").set_topics("in")
    assert_type(builder.set_value_only_deserializer(SimpleStringSchema()).build(), KafkaSource[str])
    assert_type(builder.set_value_only_deserializer(Length()).set_group_id("me").build(), KafkaSource[int])
    rows = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["a"], [Types.LONG()])).build()
    assert_type(builder.set_value_only_deserializer(rows).build(), KafkaSource[Row])


def test_event_time() -> None:
    bounded = WatermarkStrategy[str].for_bounded_out_of_orderness(Duration.of_seconds(1))
    assert_type(bounded, WatermarkStrategy[str])
    assert_type(bounded.with_timestamp_assigner(lambda text, _: len(text)), WatermarkStrategy[str])
    assert_type(bounded.with_idleness(Duration.of_seconds(1)), WatermarkStrategy[str])
    plain = WatermarkStrategy.for_monotonous_timestamps()
    assert_type(plain, WatermarkStrategy[Any])
    assert_type(plain.with_timestamp_assigner(TimeOf()), WatermarkStrategy[Row])
    assert_type(plain.with_timestamp_assigner(lambda value, _: value["time"]), WatermarkStrategy[Any])
