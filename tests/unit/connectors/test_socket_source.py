"""Lines from a socket: all of them while the driver lives, a loss that is told after, and no end that hangs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.connectors.source import Counted, PartitionRange
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.socket import SocketTextSource
from penstock.engine.in_process.job import StalledJob
from penstock.errors import ConfigurationError, JobFailedError, SourceError
from penstock.testing import CollectSink


@contextmanager
def speaker(speak: Callable[[socket.socket, int], None]) -> Iterator[int]:
    """Somebody who says something to everyone who connects, and hangs up."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        number = 0
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                speak(connection, number)
            number += 1

    threading.Thread(target=serve, daemon=True).start()
    with server:
        yield server.getsockname()[1]


def live() -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    configuration.set_string("penstock.batch.max-records", "100")
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)


LINES = [f"line {number}" for number in range(5000)]


def test_every_line_comes_in_order_and_the_end_of_the_connection_is_the_end_of_the_job() -> None:
    with speaker(lambda connection, _: connection.sendall("\n".join(LINES).encode())) as port:
        found = live().socket_text_stream("127.0.0.1", port).execute_and_collect()
        assert list(found) == LINES


def test_other_delimiters_and_windows_line_ends() -> None:
    with speaker(lambda connection, _: connection.sendall(b"a\r\nb;c\n;\n")) as port:
        assert list(live().socket_text_stream("127.0.0.1", port).execute_and_collect()) == ["a", "b;c", ";"]
        parts = live().socket_text_stream("127.0.0.1", port, ";").execute_and_collect()
        assert list(parts) == ["a\r\nb", "c\n", "\n"]


@pytest.mark.parametrize("seed", range(4))
def test_cuts_and_crashes_of_tasks_lose_nothing_while_the_driver_lives(seed: int) -> None:
    with speaker(
        lambda connection, _: connection.sendall("".join(f"{line}\n" for line in LINES[:60]).encode())
    ) as port:
        env = StreamExecutionEnvironment.in_process(seed, crash_rate=0.02).set_parallelism(2)
        sink = CollectSink()
        env.socket_text_stream("127.0.0.1", port).add_sink(sink)
        client: Any = env.execute_async()
        is_running = True
        while is_running:
            with suppress(StalledJob):  # the lines are on their way
                is_running = client.run_batch()
        assert sink.results == LINES[:60]


def test_a_connection_that_breaks_is_made_again_where_asked() -> None:
    def speak(connection: socket.socket, number: int) -> None:
        connection.sendall(f"hello {number}\n".encode())

    with speaker(speak) as port:
        found = live().socket_text_stream("127.0.0.1", port, max_retry=-1).execute_and_collect(limit=2)
        assert found == ["hello 0", "hello 1"]


def test_lines_that_died_with_the_driver_are_counted() -> None:
    reader = SocketTextSource("127.0.0.1", 9).create_reader("socket", 0)
    (item,) = reader.read([PartitionRange("127.0.0.1:1/gone", 5, 12)])
    assert item == ("127.0.0.1:1/gone", Counted("lost_records", 7))


def test_nobody_gets_lines_without_the_token() -> None:
    with speaker(lambda connection, _: connection.recv(1)) as port:
        source = SocketTextSource("127.0.0.1", port)
        enumerator = source.create_enumerator("socket")
        (name,) = enumerator.discover(None, 0)
        address = name.partition("/")[0]
        (item,) = source.create_reader("socket", 0).read([PartitionRange(f"{address}/wrong", 0, 1)])
        assert item[1] == Counted("lost_records", 1)
        enumerator.close()


def test_mistakes_are_told() -> None:
    with pytest.raises(ConfigurationError, match="port must be a number"):
        SocketTextSource("localhost", 0)
    with pytest.raises((JobFailedError, SourceError), match=r"cannot connect to 127.0.0.1:1"):
        list(live().socket_text_stream("127.0.0.1", 1).execute_and_collect())
