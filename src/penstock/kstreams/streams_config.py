"""The configuration of an application: Kafka Streams' keys, and which of them mean something here."""

from __future__ import annotations

import difflib
import importlib
import time
import warnings
from collections.abc import Mapping
from typing import Any

from penstock.common.no_effect import level_of_program
from penstock.errors import ConfigurationError, StreamsError
from penstock.vocabulary.kstreams.processors import TimestampExtractor
from penstock.vocabulary.kstreams.records import Record
from penstock.vocabulary.kstreams.serdes import Serde, Serdes

_JAVA_SERDES = {
    f"org.apache.kafka.common.serialization.Serdes${name}Serde": name
    for name in ("String", "Long", "Integer", "Short", "Double", "Float", "Boolean", "ByteArray", "Bytes", "UUID")
}


class StreamsConfig:
    """Keys of the configuration, by the names of Kafka Streams."""

    APPLICATION_ID_CONFIG = "application.id"
    BOOTSTRAP_SERVERS_CONFIG = "bootstrap.servers"
    DEFAULT_KEY_SERDE_CLASS_CONFIG = "default.key.serde"
    DEFAULT_VALUE_SERDE_CLASS_CONFIG = "default.value.serde"
    PROCESSING_GUARANTEE_CONFIG = "processing.guarantee"
    STATE_DIR_CONFIG = "state.dir"
    NUM_STREAM_THREADS_CONFIG = "num.stream.threads"
    COMMIT_INTERVAL_MS_CONFIG = "commit.interval.ms"
    AUTO_OFFSET_RESET_CONFIG = "auto.offset.reset"
    STATESTORE_CACHE_MAX_BYTES_CONFIG = "statestore.cache.max.bytes"
    EXACTLY_ONCE_V2 = "exactly_once_v2"
    AT_LEAST_ONCE = "at_least_once"
    ENGINE_CONFIG = "penstock.engine"
    BOUNDED_CONFIG = "kstreams.bounded"
    DEFAULT_TIMESTAMP_EXTRACTOR_CLASS_CONFIG = "default.timestamp.extractor"

    @staticmethod
    def default_serdes(configs: Mapping[str, Any]) -> tuple[Serde | None, Serde | None]:
        """The serdes of topics that have none of their own."""
        return (
            _serde(configs, StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG),
            _serde(configs, StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG),
        )

    @staticmethod
    def default_timestamp_extractor(configs: Mapping[str, Any]) -> TimestampExtractor | None:
        """The extractor of sources that have none of their own; None for the timestamps of the records."""
        found = configs.get(StreamsConfig.DEFAULT_TIMESTAMP_EXTRACTOR_CLASS_CONFIG)
        if found is None or (isinstance(found, str) and found.rpartition(".")[2] in _JAVA_EXTRACTORS):
            return None if found is None else _JAVA_EXTRACTORS[found.rpartition(".")[2]]
        if isinstance(found, type) or not callable(found):
            known = ", ".join(_JAVA_EXTRACTORS)
            raise ConfigurationError(
                f"default.timestamp.extractor must be a function of (record, partition time) or one of {known}, got "
                f"{found!r}."
            )
        extractor: TimestampExtractor = found
        return extractor


def _wall_clock(record: Record, partition_time: int) -> int:
    return time.time_ns() // 1_000_000


def _or_fail(record: Record, partition_time: int) -> int:
    if record.timestamp < 0:
        raise StreamsError(
            f"Record {record.key!r} has the invalid timestamp {record.timestamp}; set default.timestamp.extractor to "
            "LogAndSkipOnInvalidTimestamp, UsePartitionTimeOnInvalidTimestamp or a function of your own."
        )
    return record.timestamp


def _or_partition_time(record: Record, partition_time: int) -> int:
    return record.timestamp if record.timestamp >= 0 else partition_time


_JAVA_EXTRACTORS: dict[str, TimestampExtractor | None] = {
    "FailOnInvalidTimestamp": _or_fail,
    "LogAndSkipOnInvalidTimestamp": None,
    "UsePartitionTimeOnInvalidTimestamp": _or_partition_time,
    "WallclockTimestampExtractor": _wall_clock,
}
"""Kafka's extractors; a record with an invalid timestamp is skipped and counted where there is none."""


def _serde(configs: Mapping[str, Any], key: str) -> Serde | None:
    found = configs.get(key)
    if found is None or isinstance(found, Serde):
        return found
    if callable(found):
        made = found()
        if isinstance(made, Serde):
            return made
    if isinstance(found, str):
        return _serde_by_name(found, key)
    raise ConfigurationError(f"{key} must be a Serde such as Serdes.String(), got {found!r}.")


def _serde_by_name(name: str, key: str) -> Serde:
    """A serde by its Java class, by its name in `Serdes`, or by the path of a Python function or object."""
    short = _JAVA_SERDES.get(name, name)
    if hasattr(Serdes, short):
        known: Serde = getattr(Serdes, short)()
        return known
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute) if module else None
    except (ImportError, AttributeError):
        found = None
    made = found() if callable(found) and not isinstance(found, Serde) else found
    if isinstance(made, Serde):
        return made
    raise ConfigurationError(f"{key} is {name!r}, which is no serde; use a Serde such as Serdes.String().")


_CHECKED = {StreamsConfig.PROCESSING_GUARANTEE_CONFIG: ("exactly_once_v2", "at_least_once", "exactly_once")}
_WITH_EFFECT = frozenset(
    value for name, value in vars(StreamsConfig).items() if name.endswith("_CONFIG") and isinstance(value, str)
) - {StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG}
_OF_OTHERS = (
    *("consumer.", "producer.", "admin.", "main.consumer.", "restore.consumer.", "global.consumer.", "security."),
    *("sasl.", "ssl.", "client.", "penstock.", "execution.", "pipeline.", "parallelism.", "state.backend"),
    *("restart-strategy", "spark.", "metrics."),
)
"""Beginnings of settings of Kafka's clients and of jobs, which are passed on."""

_NO_TOPICS = "state is in the checkpoint directory, and topics between parts are exchanges of the job"
_SPARK_PLACES = "Spark places tasks and starts them again"
_ALL_UPDATES = "every update is emitted, as with a cache of 0 bytes"
_BY_TIME = "a batch takes the records of several topics by time"
_WITHOUT_EFFECT = {
    "acceptable.recovery.lag": _SPARK_PLACES,
    "application.server": "stores are read with KafkaStreams.store() from any process that reaches the directory",
    "buffered.records.per.partition": "set penstock.batch.max-records instead",
    "built.in.metrics.version": "metrics are those of the job",
    "cache.max.bytes.buffering": _ALL_UPDATES,
    "commit.interval.ms": "a commit is the end of a batch; set execution.checkpointing.interval instead",
    "default.client.supplier": "there is one kind of client",
    "default.dsl.store": "set state.backend.type instead",
    "dsl.store.suppliers.class": "set state.backend.type instead",
    "ensure.explicit.internal.resource.naming": _NO_TOPICS,
    "group.protocol": "no consumer group is joined",
    "log.summary.interval.ms": "progress is shown by the job",
    "max.task.idle.ms": _BY_TIME,
    "max.warmup.replicas": _SPARK_PLACES,
    "num.standby.replicas": "a lost task rebuilds its state from the checkpoint directory",
    "poll.ms": "set penstock.batch.max-records instead",
    "probing.rebalance.interval.ms": _SPARK_PLACES,
    "repartition.purge.interval.ms": _NO_TOPICS,
    "replication.factor": _NO_TOPICS,
    "rocksdb.config.setter": "state has its own settings, see `penstock settings state`",
    "state.cleanup.delay.ms": "old versions are removed after each batch",
    "statestore.cache.max.bytes": _ALL_UPDATES,
    "task.assignor.class": _SPARK_PLACES,
    "task.timeout.ms": "a failure restarts the job by its restart strategy",
    "topology.optimization": "what it saves, topics and changelogs, is not there",
    "upgrade.from": "state is migrated by the schemas it was written with",
    "windowstore.changelog.additional.retention.ms": _NO_TOPICS,
    **dict.fromkeys(
        ("rack.aware.assignment.tags", "rack.aware.assignment.strategy", "processor.wrapper.class"), _SPARK_PLACES
    ),
}
"""Settings of Kafka Streams that have nothing to act on here, and why."""

_HANDLERS = {
    "default.deserialization.exception.handler": "LogAndFailExceptionHandler",
    "deserialization.exception.handler": "LogAndFailExceptionHandler",
    "default.production.exception.handler": "DefaultProductionExceptionHandler",
    "production.exception.handler": "DefaultProductionExceptionHandler",
    "processing.exception.handler": "LogAndFailProcessingExceptionHandler",
}
"""Handlers of exceptions, with the one that does what happens here: the application fails, or restarts."""


def checked_config(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with texts as keys; refuse values that mean nothing, warn of keys without effect."""
    found = {str(key): value for key, value in dict(configs).items()}
    for key, allowed in _CHECKED.items():
        if key in found and found[key] not in allowed:
            raise ConfigurationError(f"{key} must be one of {', '.join(allowed)}, got {found[key]!r}.")
    for key, value in found.items():
        _refuse_handler(key, value)
        complaint = _complaint(key, value)
        if complaint is not None:
            warnings.warn(complaint, stacklevel=level_of_program())
    if found.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG) == "exactly_once":
        warnings.warn(
            "processing.guarantee=exactly_once is an old name of exactly_once_v2.", stacklevel=level_of_program()
        )
        found[StreamsConfig.PROCESSING_GUARANTEE_CONFIG] = StreamsConfig.EXACTLY_ONCE_V2
    return found


def _refuse_handler(key: str, value: Any) -> None:
    name = value if isinstance(value, str) else getattr(value, "__name__", type(value).__name__)
    if key in _HANDLERS and name.rpartition(".")[2] != _HANDLERS[key]:
        raise ConfigurationError(
            f"{key} can only be {_HANDLERS[key]}, got {name}: Penstock has no other handlers yet. Catch the exception "
            "in the function, or filter the records before it."
        )
    if key == "errors.dead.letter.queue.topic.name":
        raise ConfigurationError(
            f"{key} is not supported yet: catch the exception in the function, and send the record."
        )


def _complaint(key: str, value: Any) -> str | None:
    if key in _WITHOUT_EFFECT:
        is_so_anyway = _WITHOUT_EFFECT[key] is _ALL_UPDATES and str(value) == "0"
        return None if is_so_anyway else f"Configuration key {key!r} has no effect: {_WITHOUT_EFFECT[key]}."
    if key in _WITH_EFFECT or key in _HANDLERS or key.startswith(_OF_OTHERS):
        return None
    close = difflib.get_close_matches(key, [*_WITH_EFFECT, *_WITHOUT_EFFECT, *_HANDLERS], n=1, cutoff=0.8)
    hint = (
        f"did you mean {close[0]!r}?"
        if close
        else "a setting of Kafka's clients needs consumer. or producer. before it."
    )
    return f"Configuration key {key!r} has no effect: Penstock does not know it; {hint}"
