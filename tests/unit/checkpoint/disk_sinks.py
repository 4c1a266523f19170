"""Small jobs that together have every sink, as in `disk_cases.py`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from penstock.common import Row, Types
from penstock.common.serialization import Encoder, SimpleStringSchema
from penstock.common.time import Instant
from penstock.connectors.discarding_sink import DiscardingSink
from penstock.connectors.function_sink import TwoPhaseCommitSink
from penstock.connectors.sink import Committer, Sink, SinkContext, SinkWriter
from penstock.datastream import (
    DataStream,
    SinkFunction,
)
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink
from penstock.datastream.connectors.file_system import RollingPolicy as Rolling
from penstock.datastream.connectors.jdbc import JdbcSink
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from tests.unit.checkpoint.disk_cases import Bench, Note, as_row, event, options, run_sql


def files(bench: Bench) -> None:
    slow = Rolling.default_rolling_policy(part_size=10**6, rollover_interval=10**12, inactivity_interval=10**12)
    bench.events().map(list).sink_to(FileSink.json(bench.folder / "json", rolling_policy=slow))
    bench.rows().sink_to(FileSink.csv(bench.folder / "csv"))
    bench.rows().sink_to(FileSink.parquet(bench.folder / "parquet", rolling_policy=slow))
    compacted = FileSink.for_row_format(str(bench.folder / "compacted"), Encoder.simple_string_encoder())
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
    compacted.with_rolling_policy(Rolling.on_checkpoint_rolling_policy())
    compacted.enable_compact(strategy, FileCompactor.concat_file_compactor())
    bench.events().map(str).sink_to(compacted.build())


def database(bench: Bench) -> None:
    path = bench.folder / "sink.db"
    run_sql(path, "CREATE TABLE moments (n INTEGER, day TEXT, at TEXT, price TEXT)")
    types = Types.ROW([Types.LONG(), Types.SQL_DATE(), Types.SQL_TIMESTAMP(), Types.BIG_DEC()])
    rows = bench.events().map(
        lambda value: Row(value[0], date(2024, 1, 2), datetime(2024, 1, 2, 3), Decimal("1.5")), types
    )
    rows.sink_to(JdbcSink.exactly_once_sink("INSERT INTO moments VALUES (?, ?, ?, ?)", types, options(path)))


def kafka(bench: Bench) -> None:
    schema = KafkaRecordSerializationSchema.builder().set_topic("orders")
    schema.set_value_serialization_schema(SimpleStringSchema()).set_key_serialization_schema(SimpleStringSchema())
    builder = KafkaSink.builder().set_bootstrap_servers("localhost:1").set_record_serializer(schema.build())
    builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("mine")
    bench.events().map(str, Types.STRING()).sink_to(builder.build())


class Transactions(TwoPhaseCommitSink):
    """Transactions whose handles are objects of the user's."""

    def begin_transaction(self, context: Any) -> Any:
        return Note(Row(1), Instant(1, 2))

    def invoke(self, transaction: Any, value: Any, context: Any) -> None:
        """Nothing happens outside."""

    pre_commit = commit = abort = lambda self, transaction: None  # type: ignore[assignment]


class OwnWriter(SinkWriter):
    def begin(self, version: int, attempt: str, state: Any) -> None:
        assert state is None or isinstance(state, Note)

    def write(self, values: Any, timestamps: Any, watermark: int) -> None:
        """Nothing happens outside."""

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        return [Note(Row(now_ms), Instant(1, 2)), {"plain": (1, [2])}]

    def snapshot(self) -> Any:
        return Note(Row(1), Instant(1, 2))


class OwnCommitter(Committer):
    def commit(self, committables: list[Any]) -> None:
        assert {type(each) for each in committables} <= {Note, dict}


class OwnSink(Sink):
    """A sink of a user's, which carries objects of the user's."""

    def create_writer(self, context: SinkContext) -> SinkWriter:
        return OwnWriter()

    def create_committer(self) -> Committer:
        return OwnCommitter()


def users_sinks(bench: Bench) -> None:
    bench.events().sink_to(Transactions())
    bench.events().sink_to(OwnSink())
    bench.events().add_sink(Nowhere())
    bench.events().sink_to(DiscardingSink())


class Nowhere(SinkFunction):
    """A sink that is a function."""

    def invoke(self, value: Any, context: Any) -> None:
        """Nothing happens outside."""


def cached(bench: Bench) -> DataStream:
    stream = bench.events().map(as_row).cache()
    return stream.map(lambda row: event(row.n))


SINK_CASES: list[Callable[[Bench], DataStream | None]] = [files, database, kafka, users_sinks, cached]
