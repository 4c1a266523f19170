"""Programs without a single uid: Penstock itself identifies their state.

`python -m tests.golden.unnamed 1` stores a savepoint of each, taken in the middle of its input, and what a job that is
restored from it publishes. Change nothing here while its savepoints are read: what is new gets a program of its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.cep import CEP, Pattern
from penstock.common import Configuration, Duration, Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.files.sink import STAGING
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import (
    CoGroupFunction,
    DataStream,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from penstock.kstreams import (
    BufferConfig,
    Consumed,
    Grouped,
    JoinWindows,
    Materialized,
    Serdes,
    SessionWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
)
from penstock.kstreams.translation import Application, Translation
from penstock.runtime.operators.kstreams.routing import partition_of_bytes
from penstock.table import Schema, StreamTableEnvironment
from penstock.testing import InProcessJobClient, ManualClock
from tests.golden import program
from tests.golden.program import COUNT, Event, EventTime, Ledger, NameWindow, Pair, Total, event

FOLDER = Path(__file__).parent
BATCHES = 3
RECORDS_OF_BATCH = 12
EXPECTED = "expected.json"
TYPE = Types.ROW_NAMED(["n", "k", "ts"], [Types.LONG(), Types.STRING(), Types.LONG()])

Build = Callable[[StreamExecutionEnvironment, Path], list[DataStream]]


def _events(environment: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    return environment.from_source(DataGenerator(event, COUNT), strategy, "events")


def _key(value: Event) -> str:
    return value[1]


def _larger(a: Any, b: Any) -> Any:
    return max(a, b)


class PairOrNone(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield ["near or none", left[0], None if right is None else right[0]]


class Both(KeyedCoProcessFunction):
    """Count elements of both inputs."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield from ()

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 100)
        ctx.timer_service().register_event_time_timer(10**12)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ["both", ctx.get_current_key(), self.count.value()]


class Sizes(CoGroupFunction):
    """Count the elements of both sides."""

    def co_group(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        yield [len(first), len(second), min(first)[0]]


class EveryThird(Trigger):
    """A trigger of the program itself."""

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if element[0] % 3 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_merge(self, window: Any, ctx: Any) -> None:
        """Windows of this program do not merge."""

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


def streams(environment: StreamExecutionEnvironment, output: Path) -> list[DataStream]:
    """Operators of the DataStream API with keyed state and timers."""
    keyed = _events(environment).key_by(_key)
    length = Duration.of_millis(150)
    tumbling = keyed.window(TumblingEventTimeWindows.of(length))
    sliding = keyed.window(SlidingEventTimeWindows.of(length, Duration.of_millis(50)))
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Duration.of_millis(45)))
    counted = keyed.window(TumblingEventTimeWindows.of(length)).trigger(PurgingTrigger.of(CountTrigger.of(2)))
    joined = keyed.join(keyed).where(_key).equal_to(_key).window(TumblingEventTimeWindows.of(length))
    grouped = keyed.co_group(keyed).where(_key).equal_to(_key).window(TumblingEventTimeWindows.of(length))
    near = keyed.interval_join(keyed).between(Duration.of_millis(1), Duration.of_millis(90))
    evicted = keyed.window(TumblingEventTimeWindows.of(length)).evictor(CountEvictor.of(2))
    return [
        keyed.process(Ledger()),
        keyed.reduce(_larger),
        keyed.sum(0),
        tumbling.aggregate(Total()),
        sliding.reduce(_larger),
        sessions.process(NameWindow()),
        counted.reduce(_larger),
        keyed.count_window(4).reduce(_larger),
        keyed.interval_join(keyed).between(Duration.of_millis(1), Duration.of_millis(90)).process(Pair()),
        joined.apply(lambda left, right: [left[0], right[0]]),
        grouped.apply(Sizes()),
        near.left_outer().process(PairOrNone()),
        evicted.process(NameWindow()),
        keyed.connect(keyed).process(Both()),
        keyed.window(CumulativeEventTimeWindows.of(length, Duration.of_millis(50))).aggregate(Total()),
        keyed.window(TumblingEventTimeWindows.of(length)).trigger(EveryThird()).reduce(_larger),
        keyed.max_by(0),
    ]


def patterns(environment: StreamExecutionEnvironment, output: Path) -> list[DataStream]:
    """Partial matches of a pattern."""
    pattern = (
        Pattern.begin("even")
        .where(lambda each: each[0] % 2 == 0)
        .followed_by("odd")
        .where(lambda each: each[0] % 2 == 1)
        .times(2)
        .followed_by("late")
        .where(lambda each: each[0] > 30)
    )
    keyed = _events(environment).key_by(_key)
    return [CEP.pattern(keyed, pattern).select(lambda match: [[each[0] for each in match[name]] for name in match])]


QUERIES = {
    "sums": "SELECT k, SUM(n) AS total, COUNT(DISTINCT n) AS many FROM e GROUP BY k",
    "tumbling": "SELECT k, window_end, MAX(n) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(at), INTERVAL '15' SECOND)) "
    "GROUP BY k, window_start, window_end",
    "sessions": "SELECT k, window_end, COUNT(*) FROM TABLE(SESSION(TABLE e PARTITION BY k, DESCRIPTOR(at), "
    "INTERVAL '4' SECOND)) GROUP BY k, window_start, window_end",
    "hopping": "SELECT window_end, SUM(n) FROM TABLE(HOP(TABLE e, DESCRIPTOR(at), INTERVAL '5' SECOND, "
    "INTERVAL '15' SECOND)) GROUP BY window_start, window_end",
    "interval": "SELECT a.n, b.n FROM e AS a JOIN e AS b ON a.k = b.k AND b.at BETWEEN a.at + INTERVAL '1' SECOND "
    "AND a.at + INTERVAL '9' SECOND",
    "regular": "SELECT a.n, b.n FROM e AS a JOIN e AS b ON a.k = b.k AND MOD(a.n, 7) = MOD(b.n, 7)",
    "outer": "SELECT a.n, b.n FROM e AS a LEFT JOIN e AS b ON a.k = b.k AND a.n = b.n + 20",
    "top": "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS r FROM e) WHERE r <= 2",
    "last": "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY at DESC) AS r FROM e) WHERE r = 1",
    "running": "SELECT n, SUM(n) OVER (PARTITION BY k ORDER BY at ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM e",
    "version": "SELECT a.n, v.n FROM e AS a JOIN lasts FOR SYSTEM_TIME AS OF a.at AS v ON a.k = v.k",
    "near arrays": "SELECT a.n, b.n, a.list FROM arrays AS a JOIN arrays AS b ON a.k = b.k AND b.at BETWEEN "
    "a.at + INTERVAL '1' SECOND AND a.at + INTERVAL '9' SECOND",
    "near or none": "SELECT a.n, b.n FROM e AS a LEFT JOIN e AS b ON a.k = b.k AND b.at BETWEEN "
    "a.at + INTERVAL '1' SECOND AND a.at + INTERVAL '9' SECOND AND MOD(b.n, 2) = 1",
    "regular arrays": "SELECT a.n, b.n, b.list FROM arrays AS a JOIN arrays AS b ON a.k = b.k "
    "AND MOD(a.n, 7) = MOD(b.n, 7)",
    "of sums": "SELECT a.n, b.s FROM e AS a JOIN (SELECT k, SUM(n) AS s FROM e GROUP BY k) AS b ON a.k = b.k",
    "semi": "SELECT n FROM e WHERE k IN (SELECT k FROM e WHERE n > 20)",
    "window join": "SELECT a.n, b.n, a.window_end FROM (SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(at), "
    "INTERVAL '15' SECOND))) AS a JOIN (SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(at), INTERVAL '15' SECOND))) "
    "AS b ON a.window_start = b.window_start AND a.window_end = b.window_end AND a.k = b.k",
    "window top": "SELECT k, n, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
    "ORDER BY n DESC) AS r FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(at), INTERVAL '15' SECOND))) WHERE r <= 2",
    "window last": "SELECT k, n, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, "
    "k ORDER BY at DESC) AS r FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(at), INTERVAL '15' SECOND))) WHERE r = 1",
    "steps": "SELECT window_end, SUM(n) FROM TABLE(CUMULATE(TABLE e, DESCRIPTOR(at), INTERVAL '5' SECOND, "
    "INTERVAL '15' SECOND)) GROUP BY window_start, window_end",
    "cascade": "SELECT window_end, SUM(s) FROM TABLE(TUMBLE((SELECT window_time AS t, SUM(n) AS s FROM TABLE(TUMBLE("
    "TABLE e, DESCRIPTOR(at), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, window_time), DESCRIPTOR(t), "
    "INTERVAL '15' SECOND)) GROUP BY window_start, window_end",
    "groups": "SELECT k, TUMBLE_END(at, INTERVAL '15' SECOND), SUM(n) FROM e "
    "GROUP BY k, TUMBLE(at, INTERVAL '15' SECOND)",
    "range": "SELECT n, SUM(n) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN INTERVAL '9' SECOND PRECEDING AND "
    "CURRENT ROW) FROM e",
    "in order": "SELECT n, k FROM e ORDER BY at",
    "first": "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY at) AS r FROM e) WHERE r = 1",
    "best sums": "SELECT k, s FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY s DESC) AS r FROM (SELECT k, SUM(n) AS s "
    "FROM e GROUP BY k)) WHERE r <= 2",
    "filtered": "SELECT k, SUM(n) FILTER (WHERE MOD(n, 2) = 0), COUNT(*) FROM e "
    "WHERE n > 3 AND k LIKE '%a%' GROUP BY k",
    "sets": "SELECT k, MOD(n, 2), COUNT(*) FROM e GROUP BY GROUPING SETS ((k), (MOD(n, 2)))",
    "both": "SELECT k FROM e WHERE n > 40 INTERSECT SELECT k FROM e WHERE n < 30",
    "matched": "SELECT * FROM e MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES A.n AS a, LAST(B.n) AS b "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B{2} C) DEFINE A AS MOD(A.n, 2) = 0, C AS C.n > 30)",
}


def queries(environment: StreamExecutionEnvironment, output: Path) -> list[DataStream]:
    """Operators of SQL with state, one query each."""
    tables = _tables(environment)
    results = []
    for name, query in QUERIES.items():
        changes = tables.to_changelog_stream(tables.sql_query(query))
        results.append(changes.map(_as_data(name)))
    return results


def _tables(environment: StreamExecutionEnvironment) -> StreamTableEnvironment:
    """A table of the events, and views on it."""
    tables = StreamTableEnvironment.create(environment)
    rows = _events(environment).map(list, TYPE)
    tables.execute_sql("SET 'table.local-time-zone' = 'UTC'")
    schema = (
        Schema.new_builder()
        .column("n", "BIGINT")
        .column("k", "STRING")
        .column("ts", "BIGINT")
        .column_by_expression("at", "TO_TIMESTAMP_LTZ(ts * 100, 3)")
        .watermark("at", "at - INTERVAL '1' SECOND")
        .build()
    )
    tables.create_temporary_view("e", rows, schema)
    tables.execute_sql(
        "CREATE TEMPORARY VIEW lasts AS SELECT k, n, at FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY k ORDER BY at DESC) AS r FROM e) WHERE r = 1"
    )
    tables.execute_sql("CREATE TEMPORARY VIEW arrays AS SELECT n, k, at, ARRAY[n, n + 1] AS list FROM e")
    return tables


INSERTS = {
    "appended": ("k STRING, n BIGINT", "SELECT k, n FROM e WHERE MOD(n, 2) = 0"),
    "windows": (
        "k STRING, total BIGINT",
        "SELECT k, SUM(n) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(at), INTERVAL '15' SECOND)) "
        "GROUP BY k, window_start, window_end",
    ),
    "first": (
        "k STRING NOT NULL, n BIGINT",
        "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY at) AS r FROM e) WHERE r = 1",
    ),
}


def inserts(environment: StreamExecutionEnvironment, output: Path) -> list[DataStream]:
    """Tables that are written, whose sinks have state."""
    tables = _tables(environment)
    statements = tables.create_statement_set()
    for name, (columns, query) in INSERTS.items():
        options = f"'connector' = 'filesystem', 'path' = '{output / name}', 'format' = 'json'"
        tables.execute_sql(f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({options})")
        statements.add_insert_sql(f"INSERT INTO {name} {query}")
    statements.attach_as_datastream()
    return []


def _as_data(name: str) -> Callable[[Any], list[Any]]:
    return lambda row: [name, str(row.get_row_kind()), *map(str, row)]


TOPICS = ("a", "counted", "folded", "joined", "sessions", "near", "tables")


def topologies(environment: StreamExecutionEnvironment, output: Path) -> list[DataStream]:
    """Stores of Kafka Streams."""
    text = Serdes.String()
    builder = StreamsBuilder()
    stream = builder.stream("a", Consumed.with_(text, text))
    grouped = stream.group_by_key(Grouped.with_(text, text))
    grouped.count(Materialized.as_("counts")).to_stream().map_values(str).to("counted")
    windows = TimeWindows.of_size_with_no_grace(Duration.of_millis(150))
    folded = grouped.windowed_by(windows).reduce(lambda a, b: f"{a}+{b}")
    folded.to_stream().map(lambda key, value: (key.key, value)).to("folded")
    latest = grouped.reduce(lambda a, b: b)
    stream.join(latest, lambda left, right: f"{left}/{right}").to("joined")
    sessions = grouped.windowed_by(SessionWindows.of_inactivity_gap_with_no_grace(Duration.of_millis(45)))
    counted = sessions.count().suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
    counted.to_stream().map(lambda key, value: (key.key, str(value))).to("sessions")
    near = JoinWindows.of_time_difference_with_no_grace(Duration.of_millis(40))
    stream.left_join(stream, lambda left, right: f"{left}-{right}", near).to("near")
    latest.join(grouped.aggregate(str, lambda key, value, all: f"{all}{value}"), "{}={}".format).to_stream().to(
        "tables"
    )
    topology = builder.build()
    topology.with_default_serdes(text, text)
    application = Application("golden", {}, dict.fromkeys(TOPICS, 2))
    translation = Translation(topology, application, environment)
    streams = []
    for reading in translation.readings():
        source = DataGenerator(event, COUNT)
        rows = environment.from_source(source, WatermarkStrategy.no_watermarks(), reading.source.name)
        streams.append((reading, rows.flat_map(_arrivals(reading.schema))))
    results = translation.build(streams)
    assert results is not None
    return [results.map(lambda each: [each.topic, each.key.decode(), each.value.decode(), each.timestamp])]


def _arrivals(schema: Any) -> Callable[[Any], Any]:
    def arrivals(value: Any) -> Any:
        number, key, time_ms = value
        data = key.encode()
        return schema.arrivals(data, f"v{number}".encode(), time_ms, (), ("a", partition_of_bytes(data, 2), number))

    return arrivals


PROGRAMS: dict[str, Build] = {
    "streams": streams,
    "patterns": patterns,
    "queries": queries,
    "inserts": inserts,
    "topologies": topologies,
}


def built(
    subject: str, output: Path, *, parallelism: int, batch: int, recovery: Path | None = None
) -> StreamExecutionEnvironment:
    """A program with its sinks, to be run in process."""
    configuration = Configuration().set_string("penstock.batch.max-records", str(batch))
    if recovery is not None:
        configuration.set_string("execution.state-recovery.path", str(recovery))
    clock = ManualClock(program.MADE_AT_MS)
    environment = StreamExecutionEnvironment.in_process(clock=clock, configuration=configuration)
    results = PROGRAMS[subject](environment.set_parallelism(parallelism), output)
    for number, result in enumerate(results):
        result.map(lambda value: list(value)).sink_to(FileSink.json(output / str(number)))
    return environment


def started(subject: str, output: Path, *, parallelism: int, batch: int, recovery: Path | None) -> InProcessJobClient:
    """A job of a program."""
    environment = built(subject, output, parallelism=parallelism, batch=batch, recovery=recovery)
    client = environment.execute_async(subject)
    assert isinstance(client, InProcessJobClient)
    return client


def make(subject: str, folder: Path) -> Path:
    """A savepoint in the middle of the input."""
    client = started(subject, folder / "out", parallelism=2, batch=RECORDS_OF_BATCH, recovery=None)
    for _ in range(BATCHES):
        assert client.run_batch()
    return Path(client.stop_with_savepoint(False, str(folder)).result())


def published_after(subject: str, origin: Path, output: Path) -> list[str]:
    """Return what a job publishes that is restored from a savepoint."""
    started(subject, output, parallelism=3, batch=COUNT, recovery=origin).wait()
    return _published(output)


def _published(output: Path) -> list[str]:
    files = [each for each in output.rglob("*") if each.is_file() and STAGING not in each.parts]
    return sorted(json.dumps(json.loads(line)) for each in files for line in each.read_text().splitlines())


def unpacked(subject: str, number: int, folder: Path) -> tuple[Path, list[str]]:
    """Return a stored savepoint, put into a folder, and what was published after it when it was made."""
    with zipfile.ZipFile(FOLDER / f"unnamed-{number}" / f"{subject}.zip") as archive:
        archive.extractall(folder)
    return folder / "savepoint", json.loads((folder / EXPECTED).read_text())


def main(number: int) -> None:
    """Store, or replace what is stored."""
    stored = FOLDER / f"unnamed-{number}"
    stored.mkdir(exist_ok=True)
    for subject in PROGRAMS:
        with tempfile.TemporaryDirectory() as scratch:
            made = make(subject, Path(scratch))
            found = published_after(subject, made, Path(scratch, "again"))
            with zipfile.ZipFile(stored / f"{subject}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                for path in sorted(made.rglob("*")):
                    archive.write(path, Path("savepoint", path.relative_to(made)))
                archive.writestr(EXPECTED, json.dumps(found, indent=0))


if __name__ == "__main__":
    main(int(sys.argv[1]))
