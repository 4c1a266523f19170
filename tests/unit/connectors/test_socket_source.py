"""Lines from a socket: all of them while the driver lives, a loss that is told after, and no end that hangs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.common.strangers import MOST_STRANGERS
from penstock.connectors.source import Counted, PartitionRange
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.socket import SocketTextSource
from penstock.engine.in_process.job import StalledJob
from penstock.errors import ConfigurationError, JobFailedError, SourceError
from penstock.testing import CollectSink
from tests.spark.waiting import wait_until


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


@contextmanager
def served(source: SocketTextSource, lines: int) -> Iterator[tuple[str, PartitionRange]]:
    """An enumerator that holds lines; its partition, and the range of them."""
    enumerator = source.create_enumerator("socket")
    try:
        [partition] = enumerator.discover(None, 0)
        wait_until(lambda: enumerator.ends({partition: 0}) == {partition: lines}, "the lines are there")
        yield partition, PartitionRange(partition, 0, lines)
    finally:
        enumerator.close()


def driver_port(partition: str) -> tuple[str, int]:
    host, _, port = partition.partition("/")[0].rpartition(":")
    return host, int(port)


def test_the_name_of_a_partition_lets_nobody_in() -> None:
    """Metrics and checkpoints tell it; lines are for who has the source."""
    with speaker(lambda connection, _: connection.sendall(b"a\nb\n")) as port:
        source, other = (SocketTextSource("127.0.0.1", port) for _ in range(2))
        with served(source, 2) as (partition, wanted):
            assert source.token not in partition and source.token not in repr(source)
            [(_, item)] = source.create_reader("socket", 0).read([wanted])
            assert item == (["a", "b"], None)
            [(_, item)] = other.create_reader("socket", 0).read([wanted])
            assert item == Counted("lost_records", 2)
            secret = partition.partition("/")[2]
            for said in (b"", b'"' + secret.encode() + b'"\n', b'{"token": 1}\n', b"[\n"):
                with socket.create_connection(driver_port(partition), 30) as stranger, suppress(ConnectionError):
                    nonce = stranger.recv(4096)
                    stranger.sendall(said + b'{"start": 0, "stop": 2}\n')
                    assert stranger.recv(4096) == b"" and len(nonce) > 16


def test_a_line_without_end_to_the_port_of_the_driver_is_not_taken_in() -> None:
    with speaker(lambda connection, _: connection.sendall(b"a\n")) as port:
        source = SocketTextSource("127.0.0.1", port)
        with (
            served(source, 1) as (partition, _),
            socket.create_connection(driver_port(partition), 30) as stranger,
            pytest.raises(ConnectionError),
        ):
            for _ in range(2000):  # 128 MB, of which buffers of the kernel hold a few
                stranger.sendall(bytes(1 << 16))


def test_many_who_connect_and_say_nothing_have_few_threads_and_keep_no_task_out() -> None:
    with speaker(lambda connection, _: connection.sendall(b"a\nb\n")) as port, ExitStack() as stack:
        source = SocketTextSource("127.0.0.1", port)
        partition, wanted = stack.enter_context(served(source, 2))
        before = threading.active_count()
        for _ in range(300):
            stack.enter_context(socket.create_connection(driver_port(partition), 30))
        wait_until(lambda: threading.active_count() <= before + MOST_STRANGERS, "the oldest have been hung up on")
        assert list(source.create_reader("socket", 0).read([wanted])) == [(partition, (["a", "b"], None))]
