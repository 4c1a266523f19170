"""Every kind of source, and jobs of the other front ends, in continuous mode: `python -m ... '{settings}' FOLDER`.

One program, because its Spark session is of another kind than that of the tests. Prints a JSON object: what each case
came to, or what went wrong.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from penstock.cep import CEP, Pattern
from penstock.common import Configuration, Duration, Row, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import CheckpointingMode, DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSource
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.table import StreamTableEnvironment

COUNT = 300
WORDS = ["to", "be", "or", "not", "to", "be"]


class Place:
    """Where a case runs: its settings and folder."""

    def __init__(self, settings: dict[str, str], folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        folder.mkdir()

    def environment(self, parallelism: int = 2) -> StreamExecutionEnvironment:
        """An environment in continuous mode."""
        told = {"penstock.execution.mode": "continuous", "execution.checkpointing.interval": "200 ms", **self.settings}
        made = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(told))
        return made.set_parallelism(parallelism)


def counted(words: DataStream[Any]) -> list[Any]:
    """The last count of each word."""
    pairs = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
    found: dict[Any, int] = {}
    with pairs.reduce(lambda a, b: (a[0], a[1] + b[1])).execute_and_collect("counted") as counts:
        for word, count in counts:
            found[word] = max(count, found.get(word, 0))
    return sorted(found.items())


def from_collection(place: Place) -> Any:
    """A collection, by one subtask."""
    return counted(place.environment().from_collection(WORDS))


def from_sequence(place: Place) -> Any:
    """Numbers, by several."""
    source = NumberSequenceSource(1, COUNT)
    numbers = place.environment(3).from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    with numbers.key_by(lambda n: n % 5).map(lambda n: n).execute_and_collect("sequence") as found:
        return sum(found)


def generated(place: Place) -> Any:
    """A generator with a rate."""
    source = DataGeneratorSource(lambda n: n, COUNT, RateLimiterStrategy(1_000.0))
    numbers = place.environment().from_source(source, WatermarkStrategy.no_watermarks(), "generated")
    with numbers.key_by(lambda n: n % 5).map(lambda n: n).execute_and_collect("generated") as found:
        return sum(found)


def from_files(place: Place) -> Any:
    """The files that a folder has."""
    for number in range(4):
        (place.folder / f"{number}.txt").write_text("\n".join(WORDS) + "\n")
    return counted(place.environment().read_text_file(str(place.folder)))


def from_new_files(place: Place) -> Any:
    """Files that come while the job runs, until as many lines as expected are there."""
    watched = place.folder / "watched"
    watched.mkdir()
    (watched / "first.txt").write_text("first\n")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(watched))
    built = source.monitor_continuously(Duration.of_millis(100)).build()
    lines = place.environment().from_source(built, WatermarkStrategy.no_watermarks(), "files")
    with lines.key_by(lambda line: line).map(lambda line: line).execute_and_collect("new files") as found:
        told = [next(found)]
        draft = place.folder / "second.txt"
        draft.write_text("second\n")
        os.rename(draft, watched / "second.txt")
        return [*told, next(found)]


def from_socket(place: Place) -> Any:
    """Lines of a socket, whose end is the end of the job."""
    server = socket.create_server(("127.0.0.1", 0))

    def speak() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall("\n".join(WORDS).encode())

    threading.Thread(target=speak, daemon=True).start()
    with server:
        return counted(place.environment().socket_text_stream("127.0.0.1", server.getsockname()[1]))


def from_database(place: Place) -> Any:
    """Rows of a table, by several."""
    database = place.folder / "rows.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE amounts (id INTEGER PRIMARY KEY, amount INTEGER)")
        connection.executemany("INSERT INTO amounts VALUES (?, ?)", [(n, n * n) for n in range(COUNT)])
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{database}").build()
    source = JdbcSource.by_column("amounts", "id", options, partitions=5)
    rows = place.environment(3).from_source(source, WatermarkStrategy.no_watermarks(), "amounts")
    with rows.key_by(lambda row: row[0] % 5).map(lambda row: row[1]).execute_and_collect("database") as found:
        return sum(found)


def one_after_the_other(place: Place) -> Any:
    """A source that begins when another has ended."""
    source = HybridSource.builder(NumberSequenceSource(1, 3)).add_source(NumberSequenceSource(11, 13)).build()
    numbers = place.environment().from_source(source, WatermarkStrategy.no_watermarks(), "both").set_parallelism(1)
    with numbers.execute_and_collect("one after the other") as found:
        return list(found)


def union_of_sources(place: Place) -> Any:
    """Sources of different kinds in one job, and one that ends long before the other."""
    environment = place.environment()
    slow = DataGeneratorSource(lambda n: "slow", 50, RateLimiterStrategy(100.0))
    slowly = environment.from_source(slow, WatermarkStrategy.no_watermarks(), "slow")
    return counted(environment.from_collection(WORDS).union(slowly))


def at_once(place: Place) -> Any:
    """Records before anything is final, for a program that may get them again."""
    settings = {**place.settings, "execution.checkpointing.interval": "1 h"}
    environment = Place(settings, place.folder / "at-once").environment()
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(place.folder / "checkpoint"))
    environment.get_checkpoint_config().set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    source = DataGeneratorSource(lambda n: n, 10**9, RateLimiterStrategy(500.0))
    numbers = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    with numbers.key_by(lambda n: n % 10).map(lambda n: n).execute_and_collect("at once") as found:
        first = sorted(islice(found, 100))[:3]
        return [first, len(list((place.folder / "checkpoint").rglob("*.seal")))]


def slow_program(place: Place) -> Any:
    """A program that takes a few records of many and then none: the source does not run on without it."""
    marks = place.folder / "read"
    source = NumberSequenceSource(0, 10**9)
    numbers = place.environment().from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    environment = numbers.environment
    environment.get_checkpoint_config().set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)

    def marked(number: int) -> int:
        if number % 10_000 == 0:
            with marks.open("a") as file:
                file.write(f"{number}\n")
        return number

    with numbers.key_by(lambda n: n % 10).map(marked).execute_and_collect("slow program") as found:
        next(found)
        before, same = -1, 0
        still = threading.Event()
        while same < 10:  # for a second nothing new is read
            still.wait(0.1)
            now = marks.stat().st_size if marks.exists() else 0
            same, before = (same + 1, now) if now == before else (0, now)
        taken = sum(1 for _ in islice(found, 200_000))
        return [taken, marks.stat().st_size > before]


class SecondField(TimestampAssigner):
    """Events carry their time in seconds."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Milliseconds."""
        return int(value[1]) * 1000


class Ahead(KeyedProcessFunction):
    """How far elements are ahead of the watermark, in seconds."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        yield ((ctx.timestamp() or 0) - max(0, ctx.timer_service().current_watermark())) // 1000


def aligned_sources(place: Place) -> Any:
    """A source that could be read at once, and a slow one; without alignment half of the first is far ahead."""
    environment = place.environment(2)
    environment.get_config().set_auto_watermark_interval(20)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    strategy = strategy.with_watermark_alignment("group", Duration.of_seconds(20), Duration.of_millis(50))
    slow = DataGeneratorSource(lambda n: n * 10_000, 4_000, RateLimiterStrategy(2_000.0))
    fast = DataGeneratorSource(lambda n: n * 1_000, 40_000)
    streams = [environment.from_source(each, strategy, name) for each, name in ((slow, "slow"), (fast, "fast"))]
    ahead = streams[0].union(streams[1]).key_by(lambda _: 0).process(Ahead())
    with ahead.execute_and_collect("aligned") as found:
        seconds = list(found)
    return [len(seconds), sum(each > 12_000 for each in seconds) < 8_000]


def patterns(place: Place) -> Any:
    """A pattern of events."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    events = place.environment().from_collection([("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5)])
    keyed = events.assign_timestamps_and_watermarks(strategy).key_by(lambda event: 0)
    pattern = Pattern.begin("a").where(lambda e: e[0] == "a").followed_by("b").where(lambda e: e[0] == "b")
    matches = CEP.pattern(keyed, pattern).select(lambda match: (match["a"][0][1], match["b"][0][1]))
    with matches.execute_and_collect("patterns") as found:
        return sorted(map(list, found))


def tables(place: Place) -> Any:
    """A query with updates."""
    environment = place.environment()
    table_environment = StreamTableEnvironment.create(environment)
    words = environment.from_collection([Row(word) for word in WORDS], Types.ROW_NAMED(["word"], [Types.STRING()]))
    table_environment.create_temporary_view("words", table_environment.from_data_stream(words))
    result = table_environment.sql_query("SELECT word, COUNT(*) AS n FROM words GROUP BY word")
    found: dict[str, int] = {}
    with result.execute().collect() as rows:
        for row in rows:
            found[row[0]] = max(row[1], found.get(row[0], 0))
    return sorted(found.items())


CASES: list[Callable[[Place], Any]] = [
    from_collection,
    from_sequence,
    generated,
    from_files,
    from_new_files,
    from_socket,
    from_database,
    one_after_the_other,
    union_of_sources,
    at_once,
    slow_program,
    aligned_sources,
    patterns,
    tables,
]


def main() -> None:
    """Run every case."""
    settings, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
    found = {}
    for case in CASES:
        try:
            found[case.__name__] = case(Place(settings, folder / case.__name__))
        except Exception:
            found[case.__name__] = traceback.format_exc()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
