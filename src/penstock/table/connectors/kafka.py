"""The connectors 'kafka' and 'upsert-kafka'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.connectors.kafka.decoding import KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.kafka.records import KafkaProducerRecord, KafkaRecordSerializationSchema
from penstock.connectors.sink import DeliveryGuarantee
from penstock.datastream.connectors.kafka_sink import KafkaSink
from penstock.datastream.connectors.kafka_source import KafkaOffsetsInitializer, KafkaSource, KafkaTopicPartition
from penstock.datastream.stream import DataStream
from penstock.errors import SqlError
from penstock.table.connectors.contract import UPSERTS, Connector, TableContext, TableSink, TableSource
from penstock.table.connectors.row_formats import FORMAT_KEYS, FORMATS, RowFormat, row_format
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType, row_of
from penstock.vocabulary.sql.row_kinds import DELETE, UPDATE_AFTER, UPDATE_BEFORE

__all__ = ["KafkaConnector", "UpsertKafkaConnector"]

STRING = LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))
BYTES = LogicalType(Kind.VARBINARY, parameters=(MAX_LENGTH,))
METADATA = {
    "topic": STRING.not_null(),
    "partition": LogicalType(Kind.INTEGER, nullable=False),
    "offset": LogicalType(Kind.BIGINT, nullable=False),
    "timestamp": LogicalType(Kind.TIMESTAMP_LTZ, nullable=False, parameters=(3,)),
    "timestamp-type": STRING.not_null(),
    "headers": LogicalType(Kind.MAP, parts=(STRING, BYTES)),
}
GUARANTEES = {each.value: each for each in DeliveryGuarantee}

KEYS = {
    "topic": "the topic, or several with semicolons between",
    "topic-pattern": "a regular expression of topics to read",
    "properties.": "properties of the client; 'properties.bootstrap.servers' is needed",
    "format": "the format of values: " + ", ".join(FORMATS),
    "value.format": "the same",
    "key.format": "the format of keys",
    "key.fields": "the columns of the key, with semicolons between",
    "key.fields-prefix": "a prefix of those columns, left out in the key",
    "value.fields-include": "ALL, or EXCEPT_KEY if the key's columns are not in values",
    "scan.startup.mode": "earliest-offset, latest-offset, group-offsets, timestamp or specific-offsets",
    "scan.startup.timestamp-millis": "where mode timestamp starts",
    "scan.startup.specific-offsets": "partition:0,offset:42;partition:1,offset:300",
    "scan.bounded.mode": "unbounded, latest-offset or timestamp",
    "scan.bounded.timestamp-millis": "where mode timestamp ends",
    "scan.topic-partition-discovery.interval": "kept for Flink programs",
    "sink.delivery-guarantee": "exactly-once, at-least-once or none",
    "sink.transactional-id-prefix": "prefix of transactions, needed for exactly-once",
    "sink.partitioner": "default: by key",
    **dict.fromkeys(FORMAT_KEYS, "options of the format"),
    **{f"{part}.{key}": "options of the format" for part in ("key", "value") for key in FORMAT_KEYS},
}


class KafkaConnector(Connector):
    """Topics of Kafka; every message is a row to append, or a change where the format has changes."""

    name = "kafka"

    def keys(self) -> Mapping[str, str]:
        """Those of Flink's connector."""
        return KEYS

    def source(self, table: TableContext) -> TableSource:
        """What reads the topics."""
        return _KafkaTable(table, _Layout.of(table, is_upsert=False))

    def sink(self, table: TableContext) -> TableSink:
        """What writes the topic."""
        return _KafkaTableSink(table, _Layout.of(table, is_upsert=False))


class UpsertKafkaConnector(Connector):
    """Topics in which the last message of a key counts, and one without a value deletes it."""

    name = "upsert-kafka"

    def keys(self) -> Mapping[str, str]:
        """Those of Flink's connector."""
        return KEYS

    def source(self, table: TableContext) -> TableSource:
        """What reads the topics."""
        return _KafkaTable(table, _Layout.of(table, is_upsert=True))

    def sink(self, table: TableContext) -> TableSink:
        """What writes the topic."""
        return _KafkaTableSink(table, _Layout.of(table, is_upsert=True))


class _Layout:
    """Which columns are in the key and which in the value, and how both are written."""

    def __init__(self, key: tuple[int, ...], value: tuple[int, ...], width: int) -> None:
        self.key_fields = key
        self.value_fields = value
        self.width = width
        self.key_format: RowFormat | None = None
        self.value_format: RowFormat | None = None
        self.is_upsert = False

    @staticmethod
    def of(table: TableContext, is_upsert: bool) -> _Layout:
        options, columns = table.options, table.physical_type
        names = list(columns.names)
        if is_upsert and not table.primary_key:
            raise SqlError(f"Table {table.name}: connector 'upsert-kafka' needs a PRIMARY KEY ... NOT ENFORCED.")
        wanted = table.primary_key if is_upsert else tuple(filter(None, (options.get("key.fields") or "").split(";")))
        unknown = [each for each in wanted if each not in names]
        if unknown:
            raise SqlError(f"Table {table.name}: 'key.fields' names a column '{unknown[0]}' that is not there.")
        key = tuple(names.index(each) for each in wanted)
        is_except = options.choice("value.fields-include", ("ALL", "EXCEPT_KEY"), "ALL") == "EXCEPT_KEY"
        value = tuple(i for i in range(len(names)) if not (is_except and i in key))
        made = _Layout(key, value, len(names))
        made.is_upsert = is_upsert
        value_name = options.get("value.format") or options["format"]
        made.value_format = row_format(value_name, _part(columns, value), _format_options(table, "value."), table.name)
        if key:
            key_name = options.get("key.format") or (options["key.format"] if is_upsert else value_name)
            prefix = options.get("key.fields-prefix") or ""
            key_type = _part(columns, key, prefix)
            made.key_format = row_format(key_name, key_type, _format_options(table, "key."), table.name)
        return made

    def decode(self, record: KafkaRecord) -> list[tuple[Any, ...]]:
        """The rows of a message, with the columns in their places."""
        assert self.value_format is not None
        key: tuple[Any, ...] = ()
        if self.key_format is not None and record.key is not None:
            key = self.key_format.decode(record.key)[0][1:]
        if record.value is None:
            return [self._placed(DELETE, key, None)] if self.is_upsert else []
        kind_of = UPDATE_AFTER if self.is_upsert else None
        decoded = self.value_format.decode(record.value)
        return [self._placed(row[0] if kind_of is None else kind_of, key, row[1:]) for row in decoded]

    def _placed(self, kind: int, key: tuple[Any, ...], value: tuple[Any, ...] | None) -> tuple[Any, ...]:
        fields: list[Any] = [None] * self.width
        for at, each in zip(self.value_fields, value or (), strict=False):
            fields[at] = each
        for at, each in zip(self.key_fields, key, strict=False):
            fields[at] = each
        return (kind, *fields)


def _part(columns: LogicalType, places: tuple[int, ...], prefix: str = "") -> LogicalType:
    names = tuple(columns.names[each].removeprefix(prefix) for each in places)
    return row_of(names, tuple(columns.parts[each] for each in places))


def _format_options(table: TableContext, prefix: str) -> dict[str, str]:
    return {**table.options, **table.options.under(prefix)}


class _Deserializer(KafkaRecordDeserializationSchema[Any]):
    def __init__(self, layout: _Layout, metadata: tuple[str, ...]) -> None:
        self.layout = layout
        self.metadata = metadata

    def deserialize(self, record: KafkaRecord) -> Any:
        extra = [_metadata_value(record, each) for each in self.metadata]
        return [(*row, *extra) for row in self.layout.decode(record)]


def _metadata_value(record: KafkaRecord, key: str) -> Any:
    if key == "headers":
        return dict(record.headers)
    return getattr(record, key.replace("-", "_"))


class _KafkaTable(TableSource):
    def __init__(self, table: TableContext, layout: _Layout) -> None:
        self.table = table
        self.layout = layout
        assert layout.value_format is not None
        self.changelog_kinds = UPSERTS - {0} if layout.is_upsert else layout.value_format.kinds
        self.is_bounded = (table.options.get("scan.bounded.mode") or "unbounded") != "unbounded"

    def metadata(self) -> Mapping[str, LogicalType]:
        return METADATA

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        options = self.table.options
        builder = KafkaSource.builder().set_bootstrap_servers(options["properties.bootstrap.servers"])
        if "topic-pattern" in options:
            builder = builder.set_topic_pattern(options["topic-pattern"])
        else:
            builder = builder.set_topics(*[each.strip() for each in options["topic"].split(";")])
        for key, value in options.under("properties.").items():
            if key == "group.id":
                builder = builder.set_group_id(value)
            elif key != "bootstrap.servers":
                builder = builder.set_property(key, value)
        builder = builder.set_starting_offsets(self._start())
        if self.is_bounded:
            builder = builder.set_bounded(self._stop())
        source = builder.set_deserializer(_Deserializer(self.layout, metadata)).build()
        made: DataStream[tuple[Any, ...]] = environment.from_source(source, None, name or self.table.path[-1])
        return made

    def _start(self) -> KafkaOffsetsInitializer:
        options = self.table.options
        default = "earliest-offset" if self.layout.is_upsert else "group-offsets"
        modes = ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
        mode = options.choice("scan.startup.mode", modes, default)
        if mode == "timestamp":
            return KafkaOffsetsInitializer.timestamp(int(options["scan.startup.timestamp-millis"]))
        if mode == "specific-offsets":
            return KafkaOffsetsInitializer.offsets(self._offsets(options["scan.startup.specific-offsets"]))
        plain = {
            "earliest-offset": KafkaOffsetsInitializer.earliest,
            "latest-offset": KafkaOffsetsInitializer.latest,
            "group-offsets": KafkaOffsetsInitializer.committed_offsets,
        }
        return plain[mode]()

    def _offsets(self, text: str) -> dict[KafkaTopicPartition, int]:
        found = {}
        for each in text.split(";"):
            pairs = dict(part.split(":") for part in each.split(","))
            found[KafkaTopicPartition(self.table.options["topic"], int(pairs["partition"]))] = int(pairs["offset"])
        return found

    def _stop(self) -> KafkaOffsetsInitializer:
        options = self.table.options
        mode = options.choice("scan.bounded.mode", ("latest-offset", "timestamp"), "latest-offset")
        if mode == "timestamp":
            return KafkaOffsetsInitializer.timestamp(int(options["scan.bounded.timestamp-millis"]))
        return KafkaOffsetsInitializer.latest()


class _Serializer(KafkaRecordSerializationSchema):
    def __init__(self, topic: str, layout: _Layout, timestamp_at: int | None) -> None:
        super().__init__(topic)
        self.layout = layout
        self.timestamp_at = timestamp_at

    def to_record(self, value: Any, timestamp: int | None, /) -> KafkaProducerRecord:
        layout = self.layout
        assert layout.value_format is not None
        key = None
        if layout.key_format is not None:
            key = layout.key_format.encode((0, *[value[each + 1] for each in layout.key_fields]))
        stamp = value[self.timestamp_at] if self.timestamp_at is not None else None
        is_gone = layout.is_upsert and value[0] in (DELETE, UPDATE_BEFORE)
        kind = 0 if layout.is_upsert else value[0]
        message = None if is_gone else layout.value_format.encode((kind, *[value[i + 1] for i in layout.value_fields]))
        return KafkaProducerRecord(str(self.topic), message, key, timestamp=stamp)


class _KafkaTableSink(TableSink):
    def __init__(self, table: TableContext, layout: _Layout) -> None:
        self.table = table
        self.layout = layout

    def metadata(self) -> Mapping[str, LogicalType]:
        return {"timestamp": METADATA["timestamp"].with_nullable(True)}

    def accepts(self, kinds: frozenset[int]) -> frozenset[int]:
        assert self.layout.value_format is not None
        return UPSERTS if self.layout.is_upsert else self.layout.value_format.kinds

    def consume(
        self,
        stream: DataStream[tuple[Any, ...]],
        row_type: LogicalType,
        primary_key: tuple[int, ...] = (),
        name: str = "",
        metadata: tuple[str, ...] = (),
    ) -> Any:
        options = self.table.options
        at = self.layout.width + 1 + metadata.index("timestamp") if "timestamp" in metadata else None
        guarantee = GUARANTEES[options.choice("sink.delivery-guarantee", tuple(GUARANTEES), "at-least-once")]
        builder = (
            KafkaSink.builder()
            .set_bootstrap_servers(options["properties.bootstrap.servers"])
            .set_delivery_guarantee(guarantee)
            .set_record_serializer(_Serializer(options["topic"], self.layout, at))
        )
        prefix = options.get("sink.transactional-id-prefix")
        if prefix:
            builder = builder.set_transactional_id_prefix(prefix)
        for key, value in options.under("properties.").items():
            if key not in ("bootstrap.servers", "group.id"):
                builder = builder.set_property(key, value)
        return stream.sink_to(builder.build())
