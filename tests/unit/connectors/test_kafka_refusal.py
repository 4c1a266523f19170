"""A broker that refuses user and password is told as such at once, by sources, sinks and Kafka Streams; no noise."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from penstock.common import WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.errors import JobFailedError, PenstockError
from penstock.kstreams import Consumed, KafkaStreams, Serdes, StreamsBuilder

pytest.importorskip("confluent_kafka")

REFUSAL = b"Authentication failed: Invalid username or password"
API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
APIS = [(3, 0, 4), (SASL_HANDSHAKE, 0, 1), (API_VERSIONS, 0, 2), (SASL_AUTHENTICATE, 0, 1)]


class RefusingBroker(socketserver.BaseRequestHandler):
    """As much of Kafka as says no: versions, the handshake, and error 58 for any password."""

    def handle(self) -> None:
        while head := self._read(4):
            request = self._read(*struct.unpack(">i", head))
            api, version, correlation = struct.unpack(">hhi", request[:8])
            answer = struct.pack(">i", correlation) + self._answer(api, version)
            self.request.sendall(struct.pack(">i", len(answer)) + answer)

    def _answer(self, api: int, version: int) -> bytes:
        if api == API_VERSIONS:
            known = struct.pack(">hi", 35 if version > 2 else 0, len(APIS))
            known += b"".join(struct.pack(">hhh", *each) for each in APIS)
            return known + (struct.pack(">i", 0) if 0 < version <= 2 else b"")
        if api == SASL_HANDSHAKE:
            return struct.pack(">hih", 0, 1, 5) + b"PLAIN"
        end = struct.pack(">q", 0) if version else b""
        return struct.pack(">hh", 58, len(REFUSAL)) + REFUSAL + struct.pack(">i", 0) + end

    def _read(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            try:
                part = self.request.recv(count - len(found))
            except ConnectionError:
                part = b""
            if not part:
                return b""
            found += part
        return found


class Server(socketserver.ThreadingTCPServer):
    """A thread for each client."""

    daemon_threads = True


@pytest.fixture
def servers() -> Iterator[str]:
    with Server(("127.0.0.1", 0), RefusingBroker) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


PASSWORD = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";',
}


def read(servers: str) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    builder = KafkaSource.builder().set_bootstrap_servers(servers).set_topics("a").set_properties(PASSWORD)
    # Far more patience than a test has: only a refusal can end the wait before.
    builder.set_property("default.api.timeout.ms", "600000").set_bounded(KafkaOffsetsInitializer.latest())
    source = builder.set_value_only_deserializer(SimpleStringSchema()).build()
    environment.from_source(source, WatermarkStrategy.no_watermarks(), "orders").print()
    environment.execute()


def write(servers: str) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    serializer = KafkaRecordSerializationSchema.builder().set_topic("a")
    builder = KafkaSink.builder().set_bootstrap_servers(servers)
    for name, value in PASSWORD.items():
        builder.set_property(name, value)
    sink = builder.set_record_serializer(serializer.set_value_serialization_schema(SimpleStringSchema()).build())
    environment.from_collection(["x"]).sink_to(sink.build())
    environment.execute()


def stream(servers: str) -> None:
    builder = StreamsBuilder()
    text = Serdes.String()
    builder.stream("a", Consumed.with_(text, text)).foreach(print)
    config = {"application.id": "app", "bootstrap.servers": servers, "penstock.engine": "in-process", **PASSWORD}
    KafkaStreams(builder.build(), config).start()


@pytest.mark.parametrize("program", [read, write, stream], ids=lambda program: program.__name__)
def test_a_refused_password_is_told_at_once(
    servers: str, program: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((JobFailedError, PenstockError)) as failure:
        program(servers)
    assert f"Kafka at {servers} refuses the connection" in str(failure.value)
    assert REFUSAL.decode() in str(failure.value)
    assert "%3|" not in capfd.readouterr().err, "no lines of the client"
