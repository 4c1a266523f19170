"""The configuration of an application: Kafka Streams' keys, and which of them mean something here."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import Any

from penstock.errors import ConfigurationError
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

    @staticmethod
    def default_serdes(configs: Mapping[str, Any]) -> tuple[Serde | None, Serde | None]:
        """The serdes of topics that have none of their own."""
        return (
            _serde(configs, StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG),
            _serde(configs, StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG),
        )


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


def checked_config(configs: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as a dict with texts as keys, refusing values that mean nothing."""
    found = {str(key): value for key, value in dict(configs).items()}
    for key, allowed in _CHECKED.items():
        if key in found and found[key] not in allowed:
            raise ConfigurationError(f"{key} must be one of {', '.join(allowed)}, got {found[key]!r}.")
    if found.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG) == "exactly_once":
        warnings.warn("processing.guarantee=exactly_once is an old name of exactly_once_v2.", stacklevel=3)
        found[StreamsConfig.PROCESSING_GUARANTEE_CONFIG] = StreamsConfig.EXACTLY_ONCE_V2
    return found
