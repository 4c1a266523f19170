"""`make bench-parts ARGS='--only operators'`: what a record costs in each operator of each front end, in one process.

Microseconds of processor time for a record, from the difference of a short and a long run, so neither start nor other
work on the machine counts for much. `python -m benchmarks.operators --only join --save now.json` measures the operators
with a word in their names, and `--against now.json` shows beside each what it was: use it before and after a change.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import windows
from benchmarks.peers.penstock_sql import create_numbers
from benchmarks.peers.reporting import Task
from benchmarks.step_jobs import MapAndTimer, RunningRecord
from benchmarks.workloads import SPREAD, Build, RunningCount, discard
from penstock.cep import CEP, Pattern, PatternProcessFunction
from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    DataStream,
    KeyedStream,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.state import MapStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.kstreams import JoinWindows, Serdes, StreamsBuilder, TimeWindows
from penstock.kstreams.translation import Application, Translation
from penstock.table import StreamTableEnvironment

RECORDS = 100_000
KEYS = 2_000
RATE = 10_000
"""Records in a second of event time."""
BATCH = 25_000
SMALLER = 4
"""The short run has so many times fewer records; the difference between both is what is told."""

Costs = dict[str, float]
"""Microseconds of a record by operator."""


class _Both(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any]:
        yield value

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any]:
        yield value


class _Ruled(BroadcastProcessFunction):
    rules = MapStateDescriptor("rules", Types.STRING(), Types.LONG())

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        if value[1] >= (ctx.get_broadcast_state(self.rules).get("least") or 0):
            yield value

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterable[Any]:
        ctx.get_broadcast_state(self.rules).put("least", 0)
        return ()


class _Matched(PatternProcessFunction):
    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterable[Any]:
        yield match["rise"][0]


def _records(environment: StreamExecutionEnvironment, count: int, shift: int = 0) -> DataStream:
    source = DataGeneratorSource(
        lambda n: ((n * SPREAD + shift) % 4_294_967_296 % KEYS, n * 1000 // RATE, n % 1000), count
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    return environment.from_source(source, strategy, f"numbers {shift}")


def _keyed(environment: StreamExecutionEnvironment, count: int, shift: int = 0) -> KeyedStream:
    return _records(environment, count, shift).key_by(lambda value: value[0])


def _stateless(environment: StreamExecutionEnvironment, count: int) -> None:
    stream = _records(environment, count).map(lambda value: (value[0], value[1] + 1))
    discard(stream.filter(lambda value: value[1] % 2 == 0))


def _of_keyed(build: Callable[[KeyedStream], DataStream]) -> Build:
    return lambda environment, count: discard(build(_keyed(environment, count)))


def _two_inputs(environment: StreamExecutionEnvironment, count: int) -> None:
    left, right = (_keyed(environment, count // 2, shift) for shift in (0, 12_345))
    discard(left.connect(right).process(_Both()))


def _broadcast(environment: StreamExecutionEnvironment, count: int) -> None:
    rules = environment.from_collection([1]).broadcast(_Ruled.rules)
    discard(_records(environment, count).connect(rules).process(_Ruled()))


def _window_join(environment: StreamExecutionEnvironment, count: int) -> None:
    left, right = (_records(environment, count // 2, shift) for shift in (0, 12_345))
    pairs = left.join(right).where(lambda value: value[0]).equal_to(lambda value: value[0])
    discard(pairs.window(TumblingEventTimeWindows.of(Time.seconds(1))).apply(lambda one, other: (one, other)))


def _pattern(environment: StreamExecutionEnvironment, count: int) -> None:
    pattern = Pattern.begin("low").where(lambda value: value[2] < 100).next("rise").where(lambda value: value[2] >= 100)
    discard(CEP.pattern(_keyed(environment, count), pattern.within(Time.seconds(10))).process(_Matched()))


DATASTREAM: dict[str, Build] = {
    "map and filter": _stateless,
    "process with value state": _of_keyed(lambda keyed: keyed.process(RunningCount())),
    "process with map state and timers": _of_keyed(lambda keyed: keyed.process(MapAndTimer())),
    "process with a dict in state": _of_keyed(
        lambda keyed: (
            keyed.map(lambda value: {"key": value[0], "time": value[1]})
            .key_by(lambda value: value["key"])
            .process(RunningRecord())
        )
    ),
    "reduce": _of_keyed(lambda keyed: keyed.reduce(lambda one, other: (one[0], other[1], one[2] + other[2]))),
    "rolling sum": _of_keyed(lambda keyed: keyed.sum(2)),
    "tumbling window": windows.tumbling(KEYS, two_phase=False),
    "tumbling window in two phases": windows.tumbling(KEYS, two_phase=True),
    "sliding window": windows.sliding,
    "session window": windows.sessions,
    "count window": _of_keyed(lambda keyed: keyed.count_window(2).aggregate(windows.Count())),
    "interval join": windows.interval_join,
    "window join": _window_join,
    "connect": _two_inputs,
    "broadcast": _broadcast,
    "pattern": _pattern,
}

_TUMBLE = "TABLE(TUMBLE(TABLE records, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
_RANKED = "SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS n FROM records) WHERE n {}"
_VERSIONS = (
    "CREATE TEMPORARY VIEW versions AS SELECT k, v, ts FROM (SELECT k, v, ts, ROW_NUMBER() OVER (PARTITION BY k "
    "ORDER BY ts DESC) AS n FROM twins) WHERE n = 1"
)
QUERIES = {
    "projection and filter": "SELECT k, t + 1 FROM records WHERE MOD(v, 2) = 0",
    "GROUP BY": "SELECT k, COUNT(*), SUM(v) FROM records GROUP BY k",
    "GROUP BY with DISTINCT": "SELECT k, COUNT(DISTINCT v) FROM records GROUP BY k",
    "GROUP BY of a GROUP BY": "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) AS c FROM records GROUP BY k) GROUP BY c",
    "TUMBLE": f"SELECT k, COUNT(*), SUM(v) FROM {_TUMBLE} GROUP BY k, window_start, window_end",
    "HOP": "SELECT k, COUNT(*), SUM(v) FROM TABLE(HOP(TABLE records, DESCRIPTOR(ts), INTERVAL '1' SECOND, "
    "INTERVAL '60' SECOND)) GROUP BY k, window_start, window_end",
    "CUMULATE": "SELECT k, COUNT(*), SUM(v) FROM TABLE(CUMULATE(TABLE records, DESCRIPTOR(ts), INTERVAL '1' SECOND, "
    "INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end",
    "SESSION": "SELECT k, COUNT(*), SUM(v) FROM TABLE(SESSION(TABLE records PARTITION BY k, DESCRIPTOR(ts), "
    "INTERVAL '1' SECOND)) GROUP BY k, window_start, window_end",
    "OVER rows": "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) "
    "FROM records",
    "OVER range": "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND "
    "CURRENT ROW) FROM records",
    "first row": _RANKED.format("ts", "= 1"),
    "last row": _RANKED.format("ts DESC", "= 1"),
    "Top-N": _RANKED.format("v DESC", "<= 3"),
    "window Top-N": "SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY "
    f"v DESC) AS n FROM {_TUMBLE}) WHERE n <= 3",
    "regular join": "SELECT a.n, b.v FROM records a JOIN twins b ON a.n = b.n",
    "left join": "SELECT a.n, b.v FROM records a LEFT JOIN twins b ON a.n = b.n",
    "semi join": "SELECT n FROM records WHERE n IN (SELECT n FROM twins)",
    "interval join": "SELECT a.k, a.t, b.t FROM records a JOIN twins b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL "
    "'1' SECOND AND b.ts + INTERVAL '1' SECOND",
    "window join": "SELECT a.k, a.v, b.v FROM (SELECT * FROM TABLE(TUMBLE(TABLE records, DESCRIPTOR(ts), INTERVAL '1' "
    "SECOND))) a JOIN (SELECT * FROM TABLE(TUMBLE(TABLE twins, DESCRIPTOR(ts), INTERVAL '1' SECOND))) b ON a.k = b.k "
    "AND a.window_start = b.window_start AND a.window_end = b.window_end",
    "temporal join": "SELECT a.k, a.v, b.v FROM records a JOIN versions FOR SYSTEM_TIME AS OF a.ts AS b ON a.k = b.k",
    "MATCH_RECOGNIZE": "SELECT * FROM records MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES LOW.v AS low ONE "
    "ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (LOW RISE) DEFINE LOW AS v < 100, RISE AS v >= 100)",
}


def _query(text: str) -> Build:
    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        tables = StreamTableEnvironment.create(environment)
        has_twins = "twins" in text or "versions" in text
        task = Task("", "", [], keys=KEYS, rate=RATE)
        for name in ("records", "twins") if has_twins else ("records",):
            create_numbers(tables, f"numbers_{name}", task, count // 2 if has_twins else count)
            key = f"MOD(MOD(n * {SPREAD} + {0 if name == 'records' else 12_345}, 4294967296), {KEYS})"
            tables.execute_sql(
                f"CREATE TEMPORARY VIEW {name} AS SELECT n, {key} AS k, MOD(n, 1000) AS v, t, ts FROM numbers_{name}"
            )
        if "versions" in text:
            tables.execute_sql(_VERSIONS)
        discard(tables.to_changelog_stream(tables.sql_query(text)))

    return build


def _topology(define: Callable[[Any, Any], Any]) -> Build:
    """A topology of Kafka Streams over the records of two topics, as a job without Kafka."""

    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        builder = StreamsBuilder()
        text = Serdes.String()
        define(builder, text)
        topology = builder.build()
        topology.with_default_serdes(text, text)
        partitions = dict.fromkeys(("a", "b", "out"), 2)
        translation = Translation(topology, Application("bench", {}, partitions), environment)
        readings = translation.readings()
        topics = sorted({topic for reading in readings for topic in reading.source.topics})
        streams = [(reading, _arrivals(environment, reading, topics, count // len(topics))) for reading in readings]
        results = translation.build(streams)
        assert results is not None
        discard(results)

    return build


def _arrivals(environment: StreamExecutionEnvironment, reading: Any, topics: list[str], count: int) -> DataStream:
    mine = [topic for topic in topics if topic in reading.source.topics]

    def arrived(number: int) -> Any:
        n, topic = number // len(mine), mine[number % len(mine)]
        key = n * SPREAD % 4_294_967_296 % KEYS
        place = (topic, key % 2, n)
        (row,) = reading.schema.arrivals(b"%d" % key, b"%d" % n, n * 1000 // RATE, (), place)
        return row

    return environment.from_source(
        DataGeneratorSource(arrived, count * len(mine)), WatermarkStrategy.no_watermarks(), "topics"
    )


def _joined(builder: Any, text: Any) -> None:
    windows_of = JoinWindows.of_time_difference_with_no_grace(Time.seconds(1).to_milliseconds())
    builder.stream("a").join(builder.stream("b"), lambda one, other: f"{one}{other}", windows_of).to("out")


KSTREAMS: dict[str, Build] = {
    "map values": _topology(lambda builder, text: builder.stream("a").map_values(lambda value: value + "!").to("out")),
    "count": _topology(
        lambda builder, text: (
            builder.stream("a").group_by_key().count().to_stream().map_values(lambda count: str(count)).to("out")
        )
    ),
    "windowed count": _topology(
        lambda builder, text: (
            builder.stream("a")
            .group_by_key()
            .windowed_by(TimeWindows.of_size_with_no_grace(10_000))
            .count()
            .to_stream(lambda key, count: key.key)
            .map_values(lambda count: str(count))
            .to("out")
        )
    ),
    "stream joined with a table": _topology(
        lambda builder, text: builder.stream("a").join(builder.table("b"), lambda value, row: f"{value}{row}").to("out")
    ),
    "stream joined with a stream": _topology(_joined),
}

OPERATORS: dict[str, Build] = {
    **{f"DataStream: {name}": build for name, build in DATASTREAM.items()},
    **{f"SQL: {name}": _query(text) for name, text in QUERIES.items()},
    **{f"KStreams: {name}": build for name, build in KSTREAMS.items()},
}


def cost(build: Build, records: int = RECORDS) -> float:
    """Microseconds of processor time for a record, beyond what a job costs that has few."""
    short = records // SMALLER
    return (_seconds(build, records) - _seconds(build, short)) / (records - short) * 1e6


def _seconds(build: Build, records: int) -> float:
    configuration = Configuration.from_dict({"penstock.batch.max-records": str(BATCH)})
    environment = StreamExecutionEnvironment.in_process(state="lmdb", configuration=configuration)
    environment.set_parallelism(2)
    build(environment, records)
    gc.collect()
    began = time.process_time()
    environment.execute("operator")
    return time.process_time() - began


def measured(names: Iterable[str], records: int, rounds: int, tell: Callable[[str], None]) -> Costs:
    """The median of each operator over some rounds."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        for name, costs in found.items():
            costs.append(cost(OPERATORS[name], records))
            tell(f"round {turn + 1}, {name}: {costs[-1]:.2f} µs")
    return {name: round(median(costs), 3) for name, costs in found.items()}


def table_of(costs: Costs, before: Costs) -> Table:
    """All operators, with what they cost before if that is known."""
    table = Table(title="Processor time of a record, one process, source and discarding included")
    table.add_column("operator")
    for column in ("µs", "records/s", *(("before, µs", "times as fast") if before else ())):
        table.add_column(column, justify="right")
    for name, each in costs.items():
        row = [f"{each:.2f}", f"{1e6 / each:,.0f}" if each > 0 else "-"]
        if before:
            known = before.get(name)
            row += ["-", "-"] if known is None else [f"{known:.2f}", f"{known / each:.2f}"]
        table.add_row(name, *row)
    return table


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and store where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="operators with these words in their names, separated by commas")
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", type=Path, help="write the costs into this file")
    parser.add_argument("--against", type=Path, help="compare with the costs in this file")
    told = parser.parse_args(arguments)
    words = [word.strip().lower() for word in told.only.split(",")]
    names = [name for name in OPERATORS if any(word in name.lower() for word in words)]
    if not names:
        parser.error(f"no operator has {told.only!r} in its name; there are: {', '.join(OPERATORS)}")
    before: Costs = json.loads(told.against.read_text()) if told.against else {}
    console = Console()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the jobs are no examples of good ones
        costs = measured(names, told.records, told.rounds, lambda line: console.print(line, highlight=False))
    console.print(table_of(costs, before))
    if told.save:
        told.save.write_text(json.dumps(costs, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
