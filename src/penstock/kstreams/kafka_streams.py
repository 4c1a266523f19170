"""Applications: a topology that runs, on Spark or in this process, from Kafka to Kafka."""

from __future__ import annotations

import enum
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.job_client import JobClient
from penstock.common.job_status import JobStatus
from penstock.connectors.sink import DeliveryGuarantee
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSink, KafkaSource
from penstock.errors import ConfigurationError, StreamsError
from penstock.kstreams.kafka_topics import topic_partitions
from penstock.kstreams.queries import StorePlace, StoreQueryParameters, queried_store
from penstock.kstreams.streams_config import StreamsConfig, checked_config
from penstock.kstreams.topology import Topology
from penstock.kstreams.translation import Application, DepartureSchema, Reading, Translation
from penstock.queryable import Replica
from penstock.vocabulary.kstreams.topology_nodes import ProcessorNode

_OURS = ("penstock.", "execution.", "pipeline.", "parallelism.", "state.backend", "restart-strategy", "spark.")

_WATCH_SECONDS = 0.2
StateListener = Callable[["KafkaStreams.State", "KafkaStreams.State"], None]


class KafkaStreams:
    """An application: `start()` runs a topology, `close()` stops it; a later start goes on where it was.

    State is in the checkpoint directory `state.dir`/`application.id`, not in changelog topics.
    """

    class State(enum.Enum):
        """What an application is doing."""

        CREATED = "created"
        REBALANCING = "rebalancing"
        RUNNING = "running"
        PENDING_SHUTDOWN = "pending_shutdown"
        NOT_RUNNING = "not_running"
        ERROR = "error"

        def is_running_or_rebalancing(self) -> bool:
            """Whether records are processed, or will be soon."""
            return self in (KafkaStreams.State.RUNNING, KafkaStreams.State.REBALANCING)

        def has_completed_shutdown(self) -> bool:
            """Whether the application is over."""
            return self in (KafkaStreams.State.NOT_RUNNING, KafkaStreams.State.ERROR)

    def __init__(self, topology: Topology, config: Mapping[str, Any]) -> None:
        """Check topology and configuration; nothing is started yet."""
        self._configs = checked_config(config)
        self._application_id = _required(self._configs, StreamsConfig.APPLICATION_ID_CONFIG)
        self._servers = _required(self._configs, StreamsConfig.BOOTSTRAP_SERVERS_CONFIG)
        topology.with_default_serdes(*StreamsConfig.default_serdes(self._configs))
        topology.with_default_timestamp_extractor(StreamsConfig.default_timestamp_extractor(self._configs))
        _check_serdes(topology)
        self._topology = topology
        self._state = self.State.CREATED
        self._lock = threading.RLock()
        self._listener: StateListener | None = None
        self._on_failure: Callable[[BaseException], Any] | None = None
        self._client: JobClient | None = None
        self._watcher: threading.Thread | None = None
        self._places: dict[str, StorePlace] | None = None
        self._replica: Replica | None = None

    # ---- life ----

    def start(self) -> None:
        """Start the application; the state is RUNNING once records are processed."""
        with self._lock:
            if self._state is not self.State.CREATED:
                raise StreamsError(f"The application is {self._state.name}; make a new KafkaStreams to start it again.")
            self._become(self.State.REBALANCING)
        try:
            environment = self._new_environment()
            self._build(environment)
            self._client = environment.execute_async(self._application_id)
        except BaseException:
            self._become(self.State.ERROR)
            raise
        self._watcher = threading.Thread(target=self._watch, args=(self._client,), daemon=True)
        self._watcher.start()

    def close(self, timeout: float | None = None) -> bool:
        """Stop the application after the batch that is under way; tells whether it stopped within the seconds given."""
        with self._lock:
            client, watcher = self._client, self._watcher
            if client is None or watcher is None:
                if not self._state.has_completed_shutdown():
                    self._become(self.State.NOT_RUNNING)
                return True
            if not self._state.has_completed_shutdown():
                self._become(self.State.PENDING_SHUTDOWN)
        if client.get_job_status().result() in (JobStatus.RUNNING, JobStatus.CREATED, JobStatus.RESTARTING):
            client.cancel()
        watcher.join(timeout)
        with self._lock:
            replica, self._replica = self._replica, None
        if replica is not None:
            replica.close()
        return not watcher.is_alive()

    def __enter__(self) -> Self:
        """Use an application in a `with` block, which closes it."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def clean_up(self) -> None:
        """Remove the state of the application: the next start begins anew. Not while it runs."""
        if self._state not in (self.State.CREATED, self.State.NOT_RUNNING, self.State.ERROR):
            raise StreamsError("clean_up() removes the state of the application, so close it first.")
        shutil.rmtree(self.checkpoint_directory(), ignore_errors=True)

    def state(self) -> State:
        """What the application is doing."""
        return self._state

    def set_state_listener(self, listener: StateListener) -> None:
        """Call `listener(new_state, old_state)` at each change; set it before the start."""
        if self._state is not self.State.CREATED:
            raise StreamsError("Set the state listener before the application is started.")
        self._listener = listener

    def set_uncaught_exception_handler(self, handler: Callable[[BaseException], Any]) -> None:
        """Call `handler(error)` when the application fails for good; set it before the start."""
        if self._state is not self.State.CREATED:
            raise StreamsError("Set the exception handler before the application is started.")
        self._on_failure = handler

    def checkpoint_directory(self) -> str:
        """Where the state is."""
        default = os.path.join(tempfile.gettempdir(), "kafka-streams")
        folder = str(self._configs.get(StreamsConfig.STATE_DIR_CONFIG, default))
        return os.path.join(folder, self._application_id)

    def wait(self, timeout: float | None = None) -> State:
        """Wait until the application is over, for so many seconds at most; a failure is raised."""
        if self._watcher is not None:
            self._watcher.join(timeout)
        if self._state is self.State.ERROR and self._client is not None:
            self._client.get_job_execution_result().result()
        return self._state

    def store(self, parameters: StoreQueryParameters) -> Any:
        """A store to read, as of the newest sealed version: what a batch changes is seen when the batch is final.

        A store that was asked for once follows the application, also through restarts.
        """
        if self._places is None:
            raise StreamsError("Stores can be asked for once the application was started.")
        with self._lock:
            if self._replica is None:
                self._replica = Replica(self.checkpoint_directory(), allows_pickles=True)
        return queried_store(self._replica, self._places, parameters)

    def metrics(self) -> Any:
        """The metrics of the running job."""
        assert self._client is not None, "metrics() needs a started application"
        return self._client.metrics()

    # ---- building ----

    def _new_environment(self) -> StreamExecutionEnvironment:
        configuration = Configuration()
        for key, value in self._configs.items():
            if key.startswith(_OURS):
                configuration.set_string(key, str(value))
        configuration.set_string("execution.checkpointing.dir", self.checkpoint_directory())
        environment = StreamExecutionEnvironment.get_execution_environment(configuration)
        threads = self._configs.get(StreamsConfig.NUM_STREAM_THREADS_CONFIG)
        return environment if threads is None else environment.set_parallelism(int(threads))

    def _build(self, environment: StreamExecutionEnvironment) -> None:
        partitions = topic_partitions(self._topology, self._servers, self._client_properties("consumer."))
        application = Application(self._application_id, self._configs, partitions)
        translation = Translation(self._topology, application, environment)
        streams = []
        for reading in translation.readings():
            name = f"{reading.source.name}-{reading.part}"
            stream = environment.from_source(self._source(reading), WatermarkStrategy.no_watermarks(), name)
            streams.append((reading, stream.uid(name)))
        results = translation.build(streams)
        self._places = translation.store_places()
        if results is not None:
            sink = results.sink_to(self._sink()).name("KafkaStreams sink").uid("kstreams-sink")
            sink.set_parallelism(translation.sink_parallelism())

    def _source(self, reading: Reading) -> KafkaSource[Any]:
        source = reading.source
        builder = KafkaSource.builder().set_properties(self._client_properties("consumer."))
        builder.set_bootstrap_servers(self._servers).set_group_id(self._application_id)
        if source.pattern is not None:
            builder.set_topic_pattern(source.pattern.pattern)
        else:
            builder.set_topics(*source.topics)
        reset = source.offset_reset or self._configs.get(StreamsConfig.AUTO_OFFSET_RESET_CONFIG, "earliest")
        begin = KafkaOffsetsInitializer.latest() if reset == "latest" else KafkaOffsetsInitializer.earliest()
        builder.set_starting_offsets(begin)
        if self._configs.get(StreamsConfig.BOUNDED_CONFIG) in (True, "true"):
            builder.set_bounded(KafkaOffsetsInitializer.latest())
        return builder.set_deserializer(reading.schema).build()

    def _sink(self) -> KafkaSink:
        guarantee = self._configs.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE)
        is_exact = guarantee == StreamsConfig.EXACTLY_ONCE_V2
        properties = {**self._client_properties("producer."), "bootstrap.servers": self._servers}
        promise = DeliveryGuarantee.EXACTLY_ONCE if is_exact else DeliveryGuarantee.AT_LEAST_ONCE
        return KafkaSink(properties, DepartureSchema(), promise, self._application_id if is_exact else None)

    def _client_properties(self, prefix: str) -> dict[str, str]:
        """Properties of Kafka's clients: those with the prefix, and security settings without one."""
        common = ("security.", "sasl.", "ssl.", "client.")
        found = {key: str(value) for key, value in self._configs.items() if key.startswith(common)}
        for key, value in self._configs.items():
            if key.startswith(prefix):
                found[key.removeprefix(prefix)] = str(value)
        return found

    # ---- what it is doing ----

    def _become(self, state: State) -> None:
        with self._lock:
            old, self._state = self._state, state
            listener = self._listener
        if listener is not None and old is not state:
            listener(state, old)

    def _watch(self, client: JobClient) -> None:
        """Follow the job, and say what it is doing."""
        ended = client.get_job_execution_result()
        while not ended.done():
            with suppress(TimeoutError):
                ended.exception(_WATCH_SECONDS)
            self._follow(client.get_job_status().result())
        error = ended.exception()
        status = client.get_job_status().result()
        if status is JobStatus.FAILED and error is not None:
            if self._on_failure is not None:
                self._on_failure(error)
            self._become(self.State.ERROR)
        else:
            self._become(self.State.NOT_RUNNING)

    def _follow(self, status: JobStatus) -> None:
        if status is JobStatus.RUNNING and self._state is self.State.REBALANCING:
            self._become(self.State.RUNNING)
        elif status is JobStatus.RESTARTING and self._state is self.State.RUNNING:
            self._become(self.State.REBALANCING)


def _required(configs: Mapping[str, Any], key: str) -> str:
    value = configs.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"KafkaStreams needs {key!r} in its configuration, got {value!r}.")
    return value


def _check_serdes(topology: Topology) -> None:
    """Topics hold bytes, so each that is read or written needs serdes; stores and exchanges need none."""
    for node in topology.nodes.values():
        if isinstance(node, ProcessorNode) or node.is_internal:
            continue
        for what, serde in (("key", node.key_serde), ("value", node.value_serde)):
            if serde is None:
                raise StreamsError(
                    f"{node.name} has no serde for its {what}s: give one with Consumed.with_(...) or "
                    f"Produced.with_(...), or set default.{what}.serde."
                )
