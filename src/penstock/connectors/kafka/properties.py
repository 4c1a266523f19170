"""Translates the properties of Kafka's Java clients to librdkafka.

Most names are the same in both. Other names are translated, properties that only a JVM can use are ignored with a
warning, and properties that affect where records go or who may read them are refused.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from penstock.errors import ConfigurationError

_log = logging.getLogger(__name__)

# By Java's name. librdkafka knows Java's names of some settings as aliases; those need no row.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
_WITHOUT_MEANING = frozenset(
    {
        "auto.include.jmx.reporter",
        "default.api.timeout.ms",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.ignore.keys",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "value.deserializer",
        "value.serializer",
    }
)
_REFUSED = {
    "interceptor.classes": "interceptors are Java classes; do in the job what they did",
    "partition.assignment.strategy": "Penstock assigns partitions to subtasks itself",
    "partitioner.class": "it names a Java class; use set_partitioner() of KafkaRecordSerializationSchema.builder()",
    "sasl.client.callback.handler.class": "it names a Java class",
    "sasl.login.callback.handler.class": "it names a Java class",
    "ssl.engine.factory.class": "it names a Java class",
}
_STORES = frozenset(
    {
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
_JAAS_MODULES = ("PlainLoginModule", "ScramLoginModule")
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""")


def client_properties(java_style: dict[str, str], who: str) -> dict[str, str]:
    """The settings for a client of librdkafka; `who` names the source or sink in errors and warnings.

    Names that nobody knows pass: librdkafka refuses them when the client is made, see `refused_property`.
    """
    given = {name: _text(name, value, who) for name, value in java_style.items()}
    found: dict[str, str] = {}
    for name, value in given.items():
        if name in _REFUSED:
            raise ConfigurationError(f"{who}: the Kafka property {name!r} cannot be used: {_REFUSED[name]}")
        if name in _WITHOUT_MEANING:
            _log.warning("%s: the Kafka property %r has no effect here and is ignored", who, name)
        elif name == "buffer.memory":
            found["queue.buffering.max.kbytes"] = str(max(1, _whole_number(name, value, who) // 1024))
        elif name == "ssl.endpoint.identification.algorithm":
            found[name] = value or "none"
        elif name == "sasl.jaas.config":
            found |= _credentials(value, who)
        elif name not in _STORES:
            found[_RENAMED.get(name, name)] = value
    return found | _trusted(given, who) | _own_certificate(given, who)


def refused_property(error: Exception, who: str) -> ConfigurationError:
    """Return the error for settings that librdkafka refuses."""
    details: Any = error.args[0] if error.args else error
    reason = details.str() if hasattr(details, "str") else str(details)
    return ConfigurationError(f"{who}: Kafka's client refuses its settings: {reason}")


def _text(name: str, value: Any, who: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        raise ConfigurationError(f"{who}: the Kafka property {name!r} must be a string, got {type(value).__name__}")
    return str(value)


def _whole_number(name: str, value: str, who: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigurationError(f"{who}: the Kafka property {name!r} is a whole number, got {value!r}") from None


def _credentials(jaas: str, who: str) -> dict[str, str]:
    """User and password of a JAAS line for PLAIN or SCRAM; other mechanisms have settings of their own."""
    options = {name: re.sub(r"\\(.)", r"\1", double or single) for name, double, single in _JAAS_OPTION.findall(jaas)}
    if not any(module in jaas for module in _JAAS_MODULES) or not {"username", "password"} <= options.keys():
        raise ConfigurationError(
            f"{who}: of the Kafka property 'sasl.jaas.config' only username and password of PlainLoginModule and "
            "ScramLoginModule are understood; for other mechanisms set librdkafka's own properties (sasl.kerberos.*, "
            "sasl.oauthbearer.*) instead"
        )
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _trusted(given: dict[str, str], who: str) -> dict[str, str]:
    location = given.get("ssl.truststore.location")
    if location is None:
        return {}
    if given.get("ssl.truststore.type", "JKS").upper() != "PEM":
        raise ConfigurationError(
            f"{who}: the trust store {location!r} must be a PEM file with 'ssl.truststore.type' set to 'PEM': "
            "librdkafka reads no Java key stores (keytool -list -rfc writes one as PEM)"
        )
    return {"ssl.ca.location": location}


def _own_certificate(given: dict[str, str], who: str) -> dict[str, str]:
    location = given.get("ssl.keystore.location")
    if location is None:
        return {}
    kind = given.get("ssl.keystore.type", "JKS").upper()
    if kind == "PEM":
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    if kind == "PKCS12":
        return {"ssl.keystore.location": location, "ssl.keystore.password": given.get("ssl.keystore.password", "")}
    raise ConfigurationError(
        f"{who}: the key store {location!r} must be a PEM or PKCS12 file with 'ssl.keystore.type' saying so: "
        "librdkafka reads no Java key stores (keytool -importkeystore -deststoretype PKCS12 turns one into PKCS12)"
    )
