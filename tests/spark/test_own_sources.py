"""Sources that Penstock reads itself, on Spark: Avro files, several sources in a row, databases, sockets."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import threading
from pathlib import Path

import fastavro
import pytest

from penstock.common import Duration, Row
from penstock.connectors.generated.sequence import NumberSequence
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSource
from tests.spark.collecting import collect_all
from tests.spark.conftest import NewEnvironment

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}


def filled(path: Path, count: int) -> str:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE numbers (n INTEGER)")
        connection.executemany("INSERT INTO numbers VALUES (?)", [(number,) for number in range(count)])
    return f"jdbc:sqlite:{path}"


@pytest.mark.timeout(600)
def test_bounded_ones_bring_everything_once(new_environment: NewEnvironment, tmp_path: Path) -> None:
    with (tmp_path / "a.avro").open("wb") as stream:
        fastavro.writer(stream, SCHEMA, [{"n": number} for number in range(500)], sync_interval=200)
    (tmp_path / "latin").write_bytes("grün\n".encode("latin-1"))
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(filled(tmp_path / "db", 100)).build()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a").write_text("".join(f"{number}\n" for number in range(50)))
    hybrid = HybridSource.builder(FileSource.text(tmp_path / "old")).add_source(NumberSequence(50, 99)).build()
    latin = FileSource.for_record_stream_format(StreamFormat.text_line_format("ISO-8859-1"), str(tmp_path / "latin"))
    environment = new_environment(2, **{"penstock.batch.max-records": 40})
    found = collect_all(
        {
            "avro": environment.from_source(FileSource.avro(tmp_path / "a.avro"), None, "avro"),
            "hybrid": environment.from_source(hybrid, None, "hybrid").map(int),
            "charset": environment.from_source(latin.build(), None, "latin"),
            "query": environment.from_source(JdbcSource.query("numbers", options), None, "query"),
            "column": environment.from_source(
                JdbcSource.by_column("numbers", "n", options, partitions=3, rows_per_batch=20), None, "column"
            ),
        }
    )
    assert sorted(row.n for row in found["avro"]) == list(range(500))
    assert sorted(found["hybrid"]) == list(range(100))
    assert found["charset"] == ["grün"]
    for name in ("query", "column"):
        assert sorted(row.n for row in found[name]) == list(range(100)), name


@pytest.mark.timeout(600)
def test_a_growing_table_and_a_socket(new_environment: NewEnvironment, tmp_path: Path) -> None:
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(filled(tmp_path / "db", 10)).build()
    source = JdbcSource.growing("numbers", "n", options, poll_interval=Duration.of_millis(50))
    with new_environment(1).from_source(source, None, "numbers").execute_and_collect() as rows:
        assert [next(rows) for _ in range(10)] == [Row(n=number) for number in range(10)]
        with contextlib.closing(sqlite3.connect(tmp_path / "db")) as connection, connection:
            connection.execute("INSERT INTO numbers VALUES (77)")
        assert next(rows) == Row(n=77)

    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall("".join(f"{number}\n" for number in range(300)).encode())

        threading.Thread(target=speak, daemon=True).start()
        lines = new_environment(2).socket_text_stream("127.0.0.1", server.getsockname()[1])
        assert list(lines.execute_and_collect()) == [str(number) for number in range(300)]
